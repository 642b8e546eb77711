// "Change it" at the code of a lesson's page: the reader edits a block and runs the lesson with it. The editor, the lesson's
// text and the compiler are loaded when the reader asks.
import { Answers, keepEarlier } from "./answers.mjs";
import { ChangedLesson } from "./changed_lesson.mjs";
import { button, element } from "./elements.mjs";
import { checkerAt, once } from "./once.mjs";

const base = new URL(".", import.meta.url);
const here = document.getElementById("here");
const number = here?.dataset.change;
const places = [...document.querySelectorAll(".changeable")];
const blocks = places.map((place) => ({ place, id: `${number} ${place.dataset.name}`, name: place.dataset.name, line: Number(place.dataset.line),
  count: Number(place.dataset.lines) }));
const benches = new Map();  // id: the opened editor

const getLesson = once(() => fetch(new URL(`change/${number}.json`, base)).then(async (found) => {
  if (!found.ok) throw new Error(`change/${number}.json is missing`);
  const facts = await found.json();
  return { facts, text: new ChangedLesson(facts.source, blocks) };
}));
const getChecker = checkerAt(base);

/// Returns the record of a block. If the chapter's code is no longer that which the reader changed, the change becomes an
/// earlier text.
async function recordOf(answers, block, given) {
  const record = await answers.get(block.id);
  if (record.text === null || record.given === given) return record;
  return answers.change(block.id, (found) => {
    const old = found.text;
    Object.assign(found, { given, text: given });
    keepEarlier(found, old);
  });
}

/// Returns all changed texts by id: those in open editors, and the stored ones.
async function texts(answers, text) {
  const found = new Map();
  for (const block of blocks) {
    const record = benches.has(block.id) ? null : await answers.get(block.id);
    if (!record) found.set(block.id, benches.get(block.id).editor.text);
    else if (record.text !== null && record.given === text.original(block)) found.set(block.id, record.text);
  }
  return found;
}

function start({ module, what, block, explain }) {
  here.dispatchEvent(new CustomEvent("changed", { detail: { module, script: new URL(`change/${number}.js`, base).href, what, back: block.place.id, explain } }));
}

async function open(answers, block, change, state) {
  change.setAttribute("aria-disabled", "true");
  state.textContent = "Loading the editor …";
  try {
    const [{ ChangeBench }, { facts, text }] = await Promise.all([import("./change_bench.mjs"), getLesson()]);
    const record = await recordOf(answers, block, text.original(block));
    const place = element("div", { className: "workbench" });
    block.place.querySelector(".to-change").hidden = true;
    block.place.classList.add("opened");
    block.place.append(place);
    const build = (page, source, more) => page.build({ change: number, lesson: facts, source }, more);
    benches.set(block.id, new ChangeBench(place, { block, lesson: text, record, answers, texts: () => texts(answers, text), checker: getChecker, build, start }));
  } catch (error) {
    change.removeAttribute("aria-disabled");
    state.textContent = `The editor could not be loaded: ${error.message}. Try again, or change lesson.cpp and use lessons/run ${number}.`;
  }
}

async function begin() {
  const answers = await Answers.open("tapestry-changes");
  const kept = new Set((await answers.all()).filter(({ text, given }) => text !== null && text !== given).map(({ id }) => id));
  blocks.forEach((block, i) => {
    block.place.id ||= `change-${i + 1}`;
    const state = element("span", { className: "state" });
    state.setAttribute("role", "status");
    const change = button(kept.has(block.id) ? "Continue your change" : "Change it", "quiet change", () => { if (!change.hasAttribute("aria-disabled")) open(answers, block, change, state); });
    change.setAttribute("aria-label", `${change.textContent}: ${block.name}`);
    block.place.append(element("p", { className: "to-change" }, change, " ", state));
  });
}

export const ready = number ? begin() : Promise.resolve();
