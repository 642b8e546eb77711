// Help for an exercise: its hints one by one, its solution, and the learner's earlier texts.
import { coloured } from "./editor_look.mjs";
import { holesOf } from "./editor.mjs";
import { button, element } from "./elements.mjs";

export class Hints {
  constructor({ exercise, onShow }) {
    this.all = exercise.hints;
    this.shown = 0;
    this.button = button("", "quiet hint", () => { if (this.shown < this.all.length) onShow(this.shown + 1); });
    this.list = element("div", { className: "hints" });
    this.list.setAttribute("aria-live", "polite");
    this.name();
  }

  /// Shows the first `count` hints.
  show(count) {
    for (; this.shown < Math.min(count, this.all.length); ++this.shown) {
      const title = element("b", { textContent: `Hint ${this.shown + 1} of ${this.all.length}: ` });
      this.list.append(element("p", {}, title, this.all[this.shown].trim()));
    }
    this.name();
  }

  name() {
    const more = this.shown < this.all.length;
    this.button.textContent = more ? `Hint ${this.shown + 1} of ${this.all.length}` : "No more hints";
    this.button.toggleAttribute("aria-disabled", !more);
    if (!more) this.button.setAttribute("aria-disabled", "true");
    this.button.hidden = this.all.length === 0;
  }
}

/// Returns the lines inside the holes of a solved text, without their common indentation.
function inside(solution) {
  const lines = solution.split("\n");
  const found = holesOf(lines).flatMap(({ from, to }, i) => [...(i ? [""] : []), ...lines.slice(from, to - 1)]);
  const indent = Math.min(...found.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  return found.length ? found.map((line) => line.slice(indent)).join("\n") : solution;
}

export class Solution {
  constructor({ exercise, isFree, onShow }) {
    this.exercise = exercise;
    this.onShow = onShow;
    this.button = button("Solution", "quiet solution", () => (this.place.childElementCount ? this.close() : isFree() ? this.show() : this.ask()));
    this.place = element("div", { className: "solved-text" });
  }

  ask() {
    const keep = button("Keep trying", "quiet", () => this.close());
    this.place.replaceChildren(element("p", { className: "asks" }, "You have not solved this exercise yet. Show its solution? ",
      button("Show it", "quiet", () => this.show()), " ", keep));
    keep.focus();
  }

  show() {
    const pre = element("pre", { className: "code", tabIndex: 0 }, coloured(inside(this.exercise.solution)));
    pre.setAttribute("role", "group");
    pre.setAttribute("aria-label", `Solution of exercise ${this.exercise.id}`);
    this.place.replaceChildren(element("p", { className: "with", textContent: "A solution:" }), pre);
    this.button.textContent = "Hide the solution";
    pre.focus();
    this.onShow();
  }

  close() {
    this.place.replaceChildren();
    this.button.textContent = "Solution";
    this.button.focus();
  }
}

export class Earlier {
  constructor({ onPutBack }) {
    this.onPutBack = onPutBack;
    this.count = element("span", { className: "count" });
    this.list = element("ul");
    this.place = element("details", { className: "fold earlier", hidden: true }, element("summary", {}, "Earlier texts ", this.count), this.list);
  }

  show(texts) {
    this.place.hidden = texts.length === 0;
    this.count.textContent = String(texts.length);
    const newestFirst = [...texts].reverse();
    this.list.replaceChildren(...newestFirst.map(({ text, date }) => {
      const pre = element("pre", { className: "code", tabIndex: 0 }, coloured(inside(text)));
      pre.setAttribute("role", "group");
      pre.setAttribute("aria-label", `Text of ${date}`);
      const when = date.replace("_", ", ").replaceAll(/(\d\d)\.(\d\d)\.\d\d.*$/g, "$1:$2");
      return element("li", {}, `${when} `, button("Put it back", "quiet", () => this.onPutBack(text)), pre);
    }));
  }
}
