// Downloads the files of the toolchain once, compressed, and keeps them in the browser's cache.

const CACHE = 'tapestry-practise-'; // then the version of the toolchain

/// The files that manifest.json lists, as {name: {bytes, stored}}: bytes of the compressed file, and its name.
export class Downloads {
  constructor(base, manifest) {
    this.base = base;
    this.manifest = manifest;
  }

  /// Opens the cache of this version and deletes those of others. Returns null where the browser forbids it.
  async cache() {
    try {
      const name = CACHE + this.manifest.version;
      for (const other of await caches.keys())
        if (other.startsWith(CACHE) && other !== name) await caches.delete(other);
      return await caches.open(name);
    } catch {
      return null;
    }
  }

  url(name) {
    return new URL(this.manifest.files[name].stored, this.base).href;
  }

  /// Returns the bytes that are still to be downloaded for these files.
  async missing(names) {
    const cache = await this.cache();
    let bytes = 0;
    for (const name of names)
      if (!cache || !await cache.match(this.url(name))) bytes += this.manifest.files[name].bytes;
    return bytes;
  }

  /// Returns the compressed file as a response. Calls onBytes(count) for each piece that arrives.
  async compressed(name, onBytes) {
    const cache = await this.cache(), url = this.url(name);
    const kept = cache && await cache.match(url);
    if (kept) return kept;
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} could not be loaded (HTTP ${response.status})`);
    const counted = response.body.pipeThrough(new TransformStream({
      transform(piece, controller) {
        onBytes(piece.length);
        controller.enqueue(piece);
      },
    }));
    const bytes = await new Response(counted).arrayBuffer();
    if (bytes.byteLength !== this.manifest.files[name].bytes) throw new Error(`${url} is incomplete; try again`);
    if (cache) await cache.put(url, new Response(bytes)).catch(() => {}); // without space, the next visit loads it again
    return new Response(bytes);
  }

  /// Returns the stream of the file's content.
  async stream(name, onBytes = () => {}) {
    return (await this.compressed(name, onBytes)).body.pipeThrough(new DecompressionStream('gzip'));
  }

  async bytes(name, onBytes) {
    return new Uint8Array(await new Response(await this.stream(name, onBytes)).arrayBuffer());
  }
}
