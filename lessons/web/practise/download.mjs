// Downloads the files of the toolchain once, compressed with zstd, and keeps them in the browser's cache, uncompressed, so
// that later visits start sooner.
import {Decompress} from 'fzstd';

const CACHE = 'tapestry-practise-'; // then the version of the toolchain

/// The end of a sentence about something that could not be downloaded.
export const AGAIN = 'look at your connection to the network, and check again';

/// Returns a promise of the response. Rejects with a sentence that names the file if there is none, or if it is an error.
export async function get(url, name) {
  const response = await fetch(url).catch(() => { throw new Error(`${name} could not be downloaded; ${AGAIN}`); });
  if (!response.ok) throw new Error(`${url} could not be loaded (HTTP ${response.status})`);
  return response;
}

/// Returns a transformation from compressed bytes to those of the file.
function decompression() {
  let inner;
  return new TransformStream({
    start(controller) { inner = new Decompress((bytes) => controller.enqueue(bytes)); },
    transform(bytes) { inner.push(bytes); },
    flush() { inner.push(new Uint8Array(0), true); },
  });
}

/// Returns a stream of the same pieces, and calls onBytes(count) for each. If they are not `bytes` bytes in all, or if the
/// connection is lost, the stream ends with the error that failed() returns.
function received(body, bytes, onBytes, failed) {
  const reader = body.getReader();
  let left = bytes;
  return new ReadableStream({
    async pull(controller) {
      const {done, value} = await reader.read().catch(() => ({done: true}));
      if (!done) {
        left -= value.length;
        onBytes(value.length);
        controller.enqueue(value);
      } else if (left === 0) {
        controller.close();
      } else {
        controller.error(failed());
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/// The files that manifest.json lists, as {name: {bytes, stored}}: bytes of the compressed file, and its name.
export class Downloads {
  constructor(base, manifest) {
    this.base = base;
    this.manifest = manifest;
    this.trouble = '';  // a sentence about the last file that did not come
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
    const failed = (error) => {
      this.trouble = error.message;
      return error;
    };
    const response = await get(url, name).catch((error) => { throw failed(error); });
    const counted = received(response.body, bytes, onBytes, () => failed(new Error(`${name} was not downloaded to its end; ${AGAIN}`)));
    const content = counted.pipeThrough(decompression());
    if (!cache) return content;
    const [wanted, copy] = content.tee();
    cache.put(url, new Response(copy)).catch(() => {}); // without space, the next visit loads it again
    return wanted;
  }

  async bytes(name, onBytes) {
    return new Uint8Array(await new Response(await this.stream(name, onBytes)).arrayBuffer());
  }
}
