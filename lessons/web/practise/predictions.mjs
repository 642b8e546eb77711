// A predict exercise as a form with a field for each value. The fields show and change the returns in the holes of the code,
// so the form and the code are one answer.
import { holesOf } from "./editor.mjs";
import { element } from "./elements.mjs";

const EMPTY = "not_written_yet()";
const HELP = "Each field takes a number or a C++ formula, for example 3 / 4.0 or std::exp(-1.0). With whole numbers, C++ drops the remainder: 3 / 4 is 0. Enter checks your predictions.";

/// Returns the value that a field's text means: "return 1 / 4.0;" is 1 / 4.0, since a field is the value alone.
const valueIn = (text) => text.trim().replace(/^return\b\s*/, "").replace(/[\s;]+$/, "");

/// Returns an element for each hole of the text: its function's name in words, its description, its lines, from 1, and what
/// it returns: "" if that is not written yet, and null if the hole has other code.
export function valuesOf(text) {
  const lines = text.split("\n");
  return holesOf(lines).map(({ from, to }) => {
    const head = lines.slice(0, from - 1).reverse().find((line) => /^\S.*\(.*\)\s*\{$/.test(line)) ?? "";
    const body = lines.slice(from, to - 1), found = body.length === 1 && /^(\s*)return (.*);\s*$/.exec(body[0]);
    return {
      name: (/(\w+)\(/.exec(head)?.[1] ?? "").replaceAll("_", " "), about: lines[from - 1].replace(/^\s*\/\/ ↓ your code:?\s*/, ""),
      from: from + 1, to: to - 1, indent: found ? found[1] : "", value: !found ? null : found[2] === EMPTY ? "" : found[2],
    };
  });
}

export class Predictions {
  /// Calls onWrite(from, to, line) when a field changes, to replace these lines of the code; onCheck() at Enter.
  constructor({ id, onWrite, onCheck }) {
    Object.assign(this, { id, onWrite, onCheck });
    this.fields = [];
    this.list = element("div", { className: "values" });
    this.place = element("div", { className: "predictions" }, this.list, element("p", { className: "keys", textContent: HELP }));
  }

  /// Shows the values of a text.
  show(text) {
    this.values = valuesOf(text);
    if (this.fields.length !== this.values.length) {
      this.fields = this.values.map((_, i) => this.field(i));
      this.list.replaceChildren(...this.fields.map(({ row }) => row));
    }
    this.values.forEach(({ name, about, value }, i) => {
      const { input, asks, more } = this.fields[i];
      asks.textContent = name;
      more.textContent = about;
      input.disabled = value === null;
      input.placeholder = value === null ? "written in the code" : "";
      if (value === null || valueIn(input.value) !== value) input.value = value ?? "";
    });
  }

  field(i) {
    const id = `prediction-${this.id}-${i}`;
    const asks = element("label", { className: "asks", htmlFor: id }), more = element("span", { className: "about", id: `${id}-about` });
    const input = element("input", { type: "text", id, autocomplete: "off", spellcheck: false, autocapitalize: "off" });
    input.setAttribute("aria-describedby", more.id);
    input.addEventListener("input", () => {
      const { from, to, indent } = this.values[i];
      this.onWrite(from, to, `${indent}return ${valueIn(input.value) || EMPTY};`);
    });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) this.onCheck(); });
    return { input, asks, more, row: element("div", { className: "prediction" }, asks, more, input) };
  }

  focus() { this.fields.find(({ input }) => !input.disabled)?.input.focus(); }
}
