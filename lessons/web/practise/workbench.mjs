// The place where one exercise is answered: the editor, its buttons and the verdict.
import { today } from "./answers.mjs";
import { CheckView } from "./check_view.mjs";
import { Editor } from "./editor.mjs";
import { button, element } from "./elements.mjs";
import { Hints, Solution } from "./help.mjs";
import { keysOf } from "./keys.mjs";
import { Predictions } from "./predictions.mjs";
import { StoredText } from "./stored_text.mjs";
import { unwrittenElements, unwrittenIn } from "./unwritten.mjs";
import { verdictElements } from "./verdict.mjs";

export class Workbench extends StoredText {
  /// Fills `place`. `record` is the stored one; checker() returns a promise of the page's Checker; after(kind, record)
  /// returns elements that follow a right answer.
  constructor(place, { exercise, record, answers, checker, after }) {
    super({ answers, record, id: exercise.id, about: { path: exercise.path, piece: exercise.piece, given: exercise.given }, kind: "answer",
      file: exercise.path.split("/").pop() });
    Object.assign(this, { exercise, checker, after });
    this.view = new CheckView({ onCheck: () => this.check(), onStop: () => this.running?.abort() });
    this.hints = new Hints({ exercise, onShow: (count) => this.showHint(count) });
    this.solution = new Solution({ exercise, isFree: () => Boolean(this.record.solved || this.record.solution_shown), onShow: () => this.solutionShown() });
    const host = element("div", { className: "editor" }), keys = keysOf(host, "checks your answer");
    const doing = element("p", { className: "doing" }, this.view.check, this.view.stop, this.hints.button, this.solution.button,
      button("Reset", "quiet reset", () => this.reset()));
    place.replaceChildren(...this.whereWritten(host, keys), doing, this.view.going, this.view.announced, this.trouble, this.verdict, this.hints.list,
      this.solution.place, this.earlier.place);
    this.editor = new Editor(host, { text: this.stored, label: `Your answer to exercise ${exercise.id}, C++`, describedBy: keys.textContent,
      onChange: () => this.typed(), onText: (text) => this.predictions?.show(text), onCheck: () => this.check() });
    this.predictions?.show(this.stored);
    this.editor.toHole(!this.predictions);
    this.predictions?.focus();
    this.hints.show(record.hints);
    this.earlier.show(record.earlier);
    this.listen();
    this.tellTrouble();
    checker().then((found) => found.size()).then((bytes) => { if (!this.running) this.view.first(bytes); }).catch(() => {});
  }

  /// Returns where the answer is written: the editor, and for predictions a form with the editor folded below.
  whereWritten(host, keys) {
    if (this.exercise.kind !== "predict") return [host, keys];
    this.predictions = new Predictions({ id: this.exercise.id, onCheck: () => this.check(),
      onWrite: (from, to, line) => this.editor.replaceLines(from, to, line) });
    this.code = element("details", { className: "code-of-answer" }, element("summary", { textContent: "The code of your answer" }), host, keys);
    return [this.predictions.place, this.code];
  }

  focus() {
    if (this.predictions && !this.code.open) this.predictions.focus();
    else super.focus();
  }

  /// Puts the cursor on a line of the code.
  jump(line) {
    if (this.code) this.code.open = true;
    this.editor.goTo(line);
  }

  shown(record) {
    super.shown(record);
    this.hints.show(record.hints);
  }

  // ---- buttons

  reset() {
    return this.exchange(this.exercise.given, "The starting text is back. Your old text is kept under “Earlier texts”.");
  }

  async showHint(count) {
    this.hints.show(count);
    this.hints.list.lastElementChild?.scrollIntoView({ block: "nearest" });
    await this.own(() => this.answers.change(this.exercise.id, (record) => { record.hints = Math.max(record.hints, count); }));
  }

  async solutionShown() {
    if (this.record.solved || this.record.solution_shown) return;
    await this.own(() => this.answers.change(this.exercise.id, (record) => { record.solution_shown = true; }));
  }

  // ---- a check

  async check() {
    if (this.running) return;
    const run = this.running = new AbortController(), text = this.editor.text;
    this.save();
    this.answers.setCurrent(this.exercise.id);
    this.editor.mark(0);
    this.say("Checking your answer.", "hidden");
    this.verdict.append(...this.unwritten(text));
    this.view.begin();
    try {
      const verdict = await this.ask(run.signal, text), seconds = this.view.seconds();
      if (!["stopped", "unavailable"].includes(verdict.kind))
        await this.own(() => this.answers.change(this.exercise.id, (record) => this.count(record, verdict, text)));
      await this.show(verdict, text, seconds);
    } finally {
      this.running = null;
      this.view.end();
    }
  }

  async ask(signal, text) {
    const stopped = new Promise((resolve) => signal.addEventListener("abort", () => resolve({ kind: "stopped" })));
    const asked = (async () => {
      try {
        const [checker, pieces] = [await this.checker(), await this.answers.pieces()];
        delete pieces[this.exercise.piece];
        return await checker.check({ exercise: this.exercise, text, pieces }, { signal, onProgress: (phase) => { if (!signal.aborted) this.view.progress(phase); } });
      } catch (error) {
        return { kind: "unavailable", sentence: `The check could not run: ${String(error?.message ?? error).replace(/\.+$/, "")}. Your answer is not lost.` };
      }
    })();
    return Promise.race([asked, stopped]);
  }

  count(record, verdict, text) {
    Object.assign(record, this.about);
    ++record.tries;
    if (verdict.kind !== "right") return;
    record.solved ||= today();
    record.passed = text;
    if (typeof verdict.score === "number" && (record.best === null || verdict.score < record.best)) record.best = verdict.score;
  }

  /// Returns elements that name the holes, or the fields, that are not written yet, if others are.
  unwritten(text) {
    if (!this.predictions) return unwrittenElements(unwrittenIn(text), (line) => this.jump(line));
    const { values } = this.predictions, open = values.filter(({ value }) => value === "");
    return open.length === values.length ? [] : open.map(({ name }) => element("p", { textContent: `No value yet: ${name}` }));
  }

  async show(verdict, text, seconds) {
    const parts = verdictElements(verdict, { exercise: this.exercise, text, best: this.record.best, jump: (line) => this.jump(line) });
    if (verdict.kind === "stopped") parts[0].textContent = `Stopped after ${seconds.toFixed(1)} s.`;
    if (["not_written", "wrong", "crash", "timeout"].includes(verdict.kind)) parts.unshift(...this.unwritten(text));
    if (verdict.kind === "right") parts.push(...await this.after(this.record));
    if (this.editor.text === text && verdict.line > 0) this.editor.mark(verdict.line, verdict.sentence);
    this.verdict.dataset.kind = verdict.kind;
    this.verdict.replaceChildren(...parts);
    // A reader who has gone on to another part of the page is left there.
    if (this.verdict.parentElement.contains(document.activeElement)) this.verdict.scrollIntoView({ block: "nearest" });
  }
}
