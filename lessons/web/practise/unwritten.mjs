// The holes of an answer that are not written yet.
import { button, element } from "./elements.mjs";
import { holesOf } from "./editor.mjs";

/// Returns {line, about} of each hole that still calls not_written_yet(): the number of its first line, and the words after
/// "your code:". Returns none if no hole is written.
export function unwrittenIn(text) {
  const lines = text.split("\n");
  const isOpen = (line) => /\bnot_written_yet\s*\(/.test(line.replace(/\/\/.*/, ""));
  const holes = holesOf(lines), open = holes.filter(({ from, to }) => lines.slice(from, to - 1).some(isOpen));
  if (open.length === holes.length) return [];
  return open.map(({ from }) => ({ line: from + 1, about: lines[from - 1].replace(/^\s*\/\/ ↓( your code)?:?\s*/, "") }));
}

/// Returns elements that name the holes, each with a button that calls jump(line).
export function unwrittenElements(holes, jump) {
  return holes.map(({ line, about }) => element("p", { className: "unwritten at-line" },
    button(`Line ${line}`, "quiet", () => jump(line)), ` is not written yet${about ? `: ${about}` : "."}`));
}
