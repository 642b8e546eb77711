// A verdict as elements, in the order and the words of the terminal (lessons/grader/verdict.cpp).

import { button, element } from "./elements.mjs";

const told = (tag, className, textContent) => element(tag, { className, textContent });

const cross = (title) => {
  const p = element("p", { className: "fault" });
  p.append(told("span", "sign bad", "✗"), ` ${title}`);
  return p;
};

function lines(text, most) {
  const all = text.replace(/\n+$/, "").split("\n");
  return all.length > most ? [...all.slice(0, most), `… and ${all.length - most} more lines`].join("\n") : all.join("\n");
}

function block(className, content, label) {
  const pre = element("pre", { className, textContent: content, tabIndex: 0 });
  pre.setAttribute("role", "group");
  pre.setAttribute("aria-label", label);
  return pre;
}

/// The values in two aligned lines; further lines of a value are indented by the same width.
function compared(expected, got) {
  const pre = block("compared", "", "Expected and actual value");
  const row = (name, value, className) => {
    pre.append(name.padEnd(10), told("span", className, value.replace(/\n+$/, "").replaceAll("\n", "\n          ")));
  };
  row("expected", expected, "");
  pre.append("\n");
  row("got", got, "bad");
  return pre;
}

function fault({ kind, title, example, what, expected, got }, reason) {
  const parts = [cross(title)];
  if (example) parts.push(told("p", "with", `with ${example}`));
  if (kind === "value" || kind === "shape") {
    parts.push(told("p", "with", kind === "shape" ? `the shape of ${what}` : what), compared(expected, got));
  } else if (kind === "exception") {
    parts.push(told("p", "with", "Your code throws:"), block("compared thrown", lines(what, 20), "Error of your code"));
  } else if (kind === "sentence" && what) {
    parts.push(told("p", "with", what));
  }
  if (reason) {
    const arrow = element("p", { className: "reason" });
    arrow.append(told("span", "sign", "→"), ` ${reason}`);
    parts.push(arrow);
  }
  return parts;
}

/// A compile error or crash: its line with a button that jumps there, then the sentence.
function atLine(title, verdict, text, jump) {
  const parts = [cross(title)];
  if (verdict.line > 0) {
    const place = element("p", { className: "at-line" });
    place.append(button(`Line ${verdict.line}`, "quiet", () => jump(verdict.line)), " ", told("code", "", (text.split("\n")[verdict.line - 1] ?? "").trim()));
    parts.push(place);
  }
  if (verdict.sentence) parts.push(...verdict.sentence.split(/\n+/).filter(Boolean).map((sentence) => told("p", "with", sentence)));
  return parts;
}

const short = (number) => String(Number(number.toPrecision(4)));

/// Returns the elements of a verdict. `exercise` and `text` are those that were checked; jump(line) moves the cursor.
export function verdictElements(verdict, { exercise, text, best = null, jump }) {
  const parts = [];
  if (verdict.printed) parts.push(told("p", "with", "Your code printed:"), block("compared printed-by", lines(verdict.printed, 100), "Output of your code"));
  if (verdict.right?.length) {
    const list = element("ul", { className: "rights" });
    for (const sentence of verdict.right) {
      const item = element("li");
      item.append(told("span", "sign good", "✓"), ` ${sentence}`);
      list.append(item);
    }
    parts.push(list);
  }
  switch (verdict.kind) {
    case "right":
      parts.push(told("p", "solved good", `Exercise ${exercise.id} is solved.`));
      if (typeof verdict.score === "number") {
        parts.push(told("p", "", `Your result: ${short(verdict.score)} ${verdict.unit ?? ""}`.trim()));
        if (best !== null && best < verdict.score) parts.push(told("p", "", `Your best so far: ${short(best)} ${verdict.unit ?? ""}`.trim()));
      }
      break;
    case "wrong":
      parts.push(...(verdict.fault ? fault(verdict.fault, verdict.reason) : [cross(verdict.sentence || "The answer is wrong.")]));
      break;
    case "not_written":
      parts.push(told("p", "", exercise.kind === "predict" ? "Not written yet: each field needs a value."
        : "Not written yet: write your code between the lines with ↓ and ↑."));
      break;
    case "compile_error":
      parts.push(...atLine("It does not compile.", verdict, text, jump));
      break;
    case "crash":
      parts.push(...atLine("It crashes.", verdict, text, jump));
      break;
    case "timeout":
      parts.push(cross(verdict.sentence));
      break;
    case "stopped":
      parts.push(told("p", "", "Stopped."));
      break;
    default:
      parts.push(told("p", "", verdict.sentence || "The check is not available in this browser."));
  }
  return parts;
}
