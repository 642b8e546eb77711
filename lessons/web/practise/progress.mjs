// The front page: how many exercises of each lesson are solved in this browser, and export and import of all answers.
import { Answers } from "./answers.mjs";
import { element } from "./elements.mjs";
import { transferButtons } from "./transfer_buttons.mjs";

const base = new URL(".", import.meta.url);

async function show(answers) {
  const solved = {};
  const records = await answers.all();
  for (const { id, solved: date } of records) if (date) solved[id.split(".")[0]] = (solved[id.split(".")[0]] ?? 0) + 1;
  for (const lesson of document.querySelectorAll("li[data-exercises]")) {
    const own = String(Number(lesson.dataset.number)), total = Number(lesson.dataset.exercises);
    const begun = records.some(({ id, text, tries }) => id.split(".")[0] === own && (text !== null || tries));
    const place = lesson.querySelector(".done") ?? lesson.appendChild(element("span", { className: "done" }));
    place.textContent = begun || solved[own] ? `${solved[own] ?? 0} of ${total} solved` : "";
    place.classList.toggle("good", solved[own] === total);
    if (!place.textContent) place.remove();
  }
}

async function start() {
  const answers = await Answers.open();
  answers.onChange(() => show(answers));
  await show(answers);
  await transferButtons(document.querySelector(".transfer"), { answers, base, after: () => show(answers) });
}

export const ready = start();
