// The exercises of a lesson's page. The editor, the exercises' data and the compiler are loaded when the reader asks.
import { Answers } from "./answers.mjs";
import { button, element } from "./elements.mjs";
import { checkerAt, once } from "./once.mjs";
import { transferButtons } from "./transfer_buttons.mjs";

const base = new URL(".", import.meta.url);
const all = document.querySelector(".exercises[data-lesson]");

const getExercises = once(() => fetch(new URL(`exercises/${all.dataset.lesson}.json`, base)).then((found) => {
  if (!found.ok) throw new Error(`exercises/${all.dataset.lesson}.json is missing`);
  return found.json();
}));
const getChecker = checkerAt(base);

/// Returns what follows a right answer: the engine's piece, the lesson's count, and the next exercise.
async function after(answers, list, exercise) {
  const solved = new Set((await answers.all()).filter((record) => record.solved).map(({ id }) => id));
  const done = list.filter(({ id }) => solved.has(id)).length;
  const at = list.findIndex(({ id }) => id === exercise.id);
  const next = [...list.slice(at + 1), ...list.slice(0, at)].find(({ id }) => !solved.has(id));
  const parts = exercise.piece ? [element("p", { textContent: `It is now part of your engine: practise/engine/${exercise.piece}` })] : [];
  const says = element("p", { className: "next" }, `${done} of ${list.length} exercises of this lesson are solved. `);
  const following = document.querySelector(".along a[rel=next]");
  if (next) says.append("Next: ", element("a", { href: `#exercise-${next.id}`, textContent: `${next.id} ${next.title}` }));
  else if (following) says.append("Next lesson: ", element("a", { href: following.href, textContent: following.lastChild.textContent.trim() }));
  return [...parts, says];
}

async function open(answers, section, write, state) {
  write.setAttribute("aria-disabled", "true");
  state.textContent = "Loading the editor …";
  try {
    const [{ Workbench }, list, record] = await Promise.all([import("./workbench.mjs"), getExercises(), answers.get(section.dataset.exercise)]);
    const exercise = list.find(({ id }) => id === section.dataset.exercise);
    if (!exercise) throw new Error(`exercise ${section.dataset.exercise} is missing`);
    const place = element("div", { className: "workbench" });
    section.classList.add("opened");
    section.querySelector(".try").before(place);
    section.querySelector(".try").hidden = true;
    new Workbench(place, { exercise, record, answers, checker: getChecker, after: () => after(answers, list, exercise) });
  } catch (error) {
    write.removeAttribute("aria-disabled");
    state.textContent = `The editor could not be loaded: ${error.message}. Try again, or use lessons/practise ${section.dataset.exercise}.`;
  }
}

async function show(answers) {
  const records = new Map((await answers.all()).map((record) => [record.id, record]));
  for (const section of all.querySelectorAll(".exercise[data-exercise]")) {
    const record = records.get(section.dataset.exercise), mark = section.querySelector(".solved-mark"), write = section.querySelector(".write");
    mark.textContent = record?.solved ? `, solved on ${record.solved}` : "";
    if (write) write.textContent = record?.text != null ? "Continue your answer" : "Write your answer here";
  }
}

async function start() {
  const answers = await Answers.open();
  for (const section of all.querySelectorAll(".exercise[data-exercise]")) {
    const place = section.querySelector(".try");
    if (!place || section.dataset.works) continue;
    const state = element("span", { className: "state" });
    state.setAttribute("role", "status");
    const write = button("Write your answer here", "go write", () => { if (!write.hasAttribute("aria-disabled")) open(answers, section, write, state); });
    place.replaceChildren(write, " ", state);
  }
  answers.onChange(() => show(answers));
  await show(answers);
  await transferButtons(all.querySelector(".transfer"), { answers, base, after: () => show(answers) });
}

export const ready = all ? start() : Promise.resolve();
