// Two small buttons: export all answers as a zip, and import such a zip or single files.
import { button, download, element } from "./elements.mjs";

/// Returns find(id) for imports: the exercise of the book with this id, from practise/exercises/NN.json, or null.
export function finder(base) {
  const lessons = new Map();
  return async (id) => {
    const number = id.split(".")[0].padStart(2, "0");
    if (!lessons.has(number))
      lessons.set(number, fetch(new URL(`exercises/${number}.json`, base)).then((found) => (found.ok ? found.json() : [])).catch(() => []));
    return (await lessons.get(number)).find((exercise) => exercise.id === id) ?? null;
  };
}

async function take(files, answers, base) {
  const { imported } = await import("./transfer.mjs");
  const chosen = await Promise.all([...files].map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })));
  const { count, unknown } = await imported(answers, chosen, finder(base));
  const left = unknown.length ? ` These belong to no exercise of this book: ${unknown.slice(0, 5).join(", ")}.` : "";
  return `${count} ${count === 1 ? "answer was" : "answers were"} imported. Texts that they replaced are kept as earlier texts.${left} ${answers.trouble}`.trim();
}

/// Fills `place`. Calls after() when answers were imported.
export async function transferButtons(place, { answers, base, after }) {
  const says = element("span", { className: "state" });
  says.setAttribute("role", "status");
  const chooser = element("input", { type: "file", multiple: true, accept: ".zip,.cpp", hidden: true });
  chooser.setAttribute("aria-label", "Files to import");
  const give = button("Export your answers", "quiet export", async () => {
    const { exported } = await import("./transfer.mjs");
    download("tapestry_answers.zip", await exported(answers), "application/zip");
    says.textContent = "Unzip the file in the project's folder to go on with lessons/practise.";
  });
  const get = button("Import answers", "quiet import", () => chooser.click());
  chooser.addEventListener("change", async () => {
    try {
      says.textContent = await take(chooser.files, answers, base);
      await after();
    } catch (error) {
      says.textContent = error.message;
    }
    chooser.value = "";
  });
  const show = async () => { give.hidden = !(await answers.all()).some(({ text, tries, hints }) => text !== null || tries || hints); };
  answers.onChange(show);
  place.replaceChildren(give, " ", get, " ", chooser, says);
  place.hidden = false;
  await show();
}
