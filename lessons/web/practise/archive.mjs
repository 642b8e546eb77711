// Members of an archive (ar), which is a list of headers of 60 bytes, each followed by a file.

/// Returns [{name, bytes}] of an archive's object files. Names may occur more than once.
export function members(archive) {
  const text = (from, to) => new TextDecoder('latin1').decode(archive.subarray(from, to));
  const found = [];
  let names = '';
  for (let at = 8; at + 60 <= archive.length;) {
    const name = text(at, at + 16).trimEnd(), size = Number(text(at + 48, at + 58));
    const bytes = archive.subarray(at + 60, at + 60 + size);
    if (name === '//') names = new TextDecoder('latin1').decode(bytes);
    else if (name !== '/' && name !== '/SYM64/')
      found.push({name: name[0] === '/' ? names.slice(Number(name.slice(1))).split('/\n')[0] : name.replace(/\/$/, ''), bytes});
    at += 60 + size + (size % 2);
  }
  return found;
}
