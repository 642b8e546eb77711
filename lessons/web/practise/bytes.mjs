// Bytes that arrive in pieces.

/// Collects at most `most` bytes. add(bytes) takes a piece; bytes() and text() return all of them.
export function collected(most = Infinity) {
  const parts = [];
  let size = 0;
  const bytes = () => {
    const all = new Uint8Array(size);
    let at = 0;
    for (const part of parts) all.set(part, at), at += part.length;
    return all;
  };
  return {
    add(piece) {
      const part = piece.slice(0, most - size);
      if (part.length) parts.push(part);
      size += part.length;
    },
    bytes,
    text: () => new TextDecoder().decode(bytes()), // whole, since a piece may end inside a character
  };
}
