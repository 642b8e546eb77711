// Downloads the files of the toolchain once, compressed with zstd, and keeps them in the browser's cache, uncompressed, so
// that later visits start sooner.
import {Decompress} from 'fzstd';

const CACHE = 'tapestry-practise-'; // then the version of the toolchain

/// Returns a transformation from compressed bytes to those of the file.
function decompression() {
  let inner;
  return new TransformStream({
    start(controller) { inner = new Decompress((bytes) => controller.enqueue(bytes)); },
    transform(bytes) { inner.push(bytes); },
    flush() { inner.push(new Uint8Array(0), true); },
  });
}

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

  /// Returns the stream of the file's content. Calls onBytes(count) for each piece of the compressed file that arrives. The
  /// stream ends with an error if the file is incomplete.
  async stream(name, onBytes = () => {}) {
    const cache = await this.cache(), url = this.url(name), {bytes} = this.manifest.files[name];
    const kept = cache && await cache.match(url);
    if (kept) return kept.body;
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} could not be loaded (HTTP ${response.status})`);
    let left = bytes;
    const counted = new TransformStream({
      transform(piece, controller) {
        left -= piece.length;
        onBytes(piece.length);
        controller.enqueue(piece);
      },
      flush() {
        if (left !== 0) throw new Error(`${url} is incomplete; try again`);
      },
    });
    const content = response.body.pipeThrough(counted).pipeThrough(decompression());
    if (!cache) return content;
    const [wanted, copy] = content.tee();
    cache.put(url, new Response(copy)).catch(() => {}); // without space, the next visit loads it again
    return wanted;
  }

  async bytes(name, onBytes) {
    return new Uint8Array(await new Response(await this.stream(name, onBytes)).arrayBuffer());
  }
}
