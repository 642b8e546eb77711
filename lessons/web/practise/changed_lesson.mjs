// A lesson.cpp with changed blocks: the whole text, and the places of its lines.

/// Orders a count of names: "attend()", "attend() and two_words()", "a(), b() and c()".
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export class ChangedLesson {
  /// `source` is the text of lesson.cpp. `blocks` are [{id, name, line, count}]: the first line, from 1, and the number of
  /// lines.
  constructor(source, blocks) {
    this.lines = source.split("\n");
    this.blocks = [...blocks].sort((a, b) => a.line - b.line);
  }

  original(block) { return this.lines.slice(block.line - 1, block.line - 1 + block.count).join("\n"); }

  /// Returns {source, changed, place}: the lesson with the texts of a Map by id, the blocks that differ from the chapter's,
  /// and place(line) → {block or null, line}, which finds a line of that source in a changed block, or in lesson.cpp.
  with(texts) {
    const rows = [], places = [], changed = [];
    let next = 0;
    const keep = (end) => { for (; next < end; ++next) rows.push(this.lines[next]), places.push({ block: null, line: next + 1 }); };
    for (const block of this.blocks) {
      const text = texts.get(block.id);
      if (text === undefined || text === this.original(block)) continue;
      changed.push(block);
      keep(block.line - 1);
      text.split("\n").forEach((row, i) => { rows.push(row), places.push({ block, line: i + 1 }); });
      next = block.line - 1 + block.count;
    }
    keep(this.lines.length);
    return { source: rows.join("\n"), changed, place: (line) => places[line - 1] ?? { block: null, line: 0 } };
  }
}
