// The place where one exercise is answered: the editor, its buttons, the verdict, and the storage of the text.
import { keepEarlier, today } from "./answers.mjs";
import { CheckView } from "./check_view.mjs";
import { Editor } from "./editor.mjs";
import { button, download, element } from "./elements.mjs";
import { Earlier, Hints, Solution } from "./help.mjs";
import { verdictElements } from "./verdict.mjs";

const PAUSE = 300;  // milliseconds without typing, after which the text is stored
const KEYS = `${/Mac|iP/.test(navigator.platform) ? "Cmd" : "Ctrl"}-Enter checks your answer. Tab indents. To leave the editor, press Escape, then Tab.`;

export class Workbench {
  /// Fills `place`. `record` is the stored one; checker() returns a promise of the page's Checker; after(kind, record)
  /// returns elements that follow a right answer.
  constructor(place, { exercise, record, answers, checker, after }) {
    Object.assign(this, { exercise, answers, checker, after, record });
    this.about = { path: exercise.path, piece: exercise.piece, given: exercise.given };
    this.seen = record.revision;
    this.stored = record.text ?? exercise.given;
    this.queue = Promise.resolve();
    this.view = new CheckView({ onCheck: () => this.check(), onStop: () => this.running?.abort() });
    this.hints = new Hints({ exercise, onShow: (count) => this.showHint(count) });
    this.solution = new Solution({ exercise, isFree: () => Boolean(this.record.solved || this.record.solution_shown), onShow: () => this.solutionShown() });
    this.earlier = new Earlier({ onPutBack: (text) => this.exchange(text, "The earlier text is back. The text that it replaced is now an earlier text.") });
    this.trouble = element("div", { className: "trouble" });
    this.trouble.setAttribute("role", "status");
    this.verdict = element("div", { className: "verdict-place" });
    this.verdict.setAttribute("aria-live", "polite");
    const host = element("div", { className: "editor" });
    const doing = element("p", { className: "doing" }, this.view.check, this.view.stop, this.hints.button, this.solution.button,
      button("Reset", "quiet reset", () => this.reset()));
    place.replaceChildren(host, element("p", { className: "keys", textContent: KEYS }), doing, this.view.going, this.trouble, this.verdict,
      this.hints.list, this.solution.place, this.earlier.place);
    this.editor = new Editor(host, { text: this.stored, label: `Your answer to exercise ${exercise.id}, C++`, describedBy: KEYS,
      onChange: () => this.typed(), onCheck: () => this.check() });
    this.editor.toHole(true);
    this.hints.show(record.hints);
    this.earlier.show(record.earlier);
    this.listen();
    this.tellTrouble();
    checker().then((found) => found.size()).then((bytes) => { if (!this.running) this.view.first(bytes); }).catch(() => {});
  }

  // ---- storage

  listen() {
    addEventListener("pagehide", () => this.leave());
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") this.save(); });
    this.answers.onChange((id, elsewhere) => {
      if (id === this.exercise.id && (elsewhere || !this.writing)) this.compare();
    });
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), PAUSE);
  }

  /// Runs a change of the record after the ones before it, and shows what it gives.
  own(change) {
    this.queue = this.queue.catch(() => {}).then(async () => {
      this.writing = true;
      const record = await change();
      this.writing = false;
      this.record = record;
      this.earlier.show(record.earlier);
      this.tellTrouble();
      return record;
    });
    return this.queue;
  }

  async save() {
    clearTimeout(this.timer);
    if (this.conflict || this.editor.text === this.stored) return;
    await this.own(async () => {
      const text = this.editor.text;
      const { record, conflict } = await this.answers.keepText(this.exercise.id, text, this.seen, this.about);
      if (conflict) this.announce();
      else this.settle(record, text);
      return record;
    });
  }

  /// The text is stored, if it could be.
  settle(record, text) {
    if (!record.lost && record.text === text) [this.seen, this.stored] = [record.revision, text];
  }

  /// The page closes. A text that waits for the reader's decision about a newer one becomes an earlier text.
  leave() {
    const mine = this.editor.text;
    if (mine !== this.stored) this.answers.leaveDraft(this.exercise.id, mine, this.conflict ? -1 : this.seen, this.about);
  }

  /// Looks whether a newer text was stored that is not the editor's.
  async compare() {
    const record = await this.answers.get(this.exercise.id);
    this.record = record;
    this.earlier.show(record.earlier);
    this.hints.show(record.hints);
    if (record.revision <= this.seen || record.text === null) return;
    if (record.text !== this.editor.text) return this.announce();
    [this.seen, this.stored, this.conflict] = [record.revision, record.text, false];
    this.tellTrouble();
  }

  announce() {
    if (this.conflict) return;
    this.conflict = true;
    this.tellTrouble();
  }

  async takeNewer() {
    const mine = this.editor.text, unsaved = mine !== this.stored;
    const record = await this.own(() => this.answers.change(this.exercise.id, (found) => { if (unsaved) keepEarlier(found, mine); }));
    if (record.lost) return;
    this.conflict = false;
    this.editor.replace(record.text, { silent: true });
    [this.seen, this.stored] = [record.revision, record.text];
    this.tellTrouble();
    this.editor.focus();
  }

  async keepMine() {
    const mine = this.editor.text;
    this.conflict = false;
    this.settle(await this.own(() => this.answers.replaceText(this.exercise.id, mine, this.about)), mine);
    this.editor.focus();
  }

  tellTrouble() {
    const parts = [];
    if (this.conflict)
      parts.push(element("p", {}, "A newer text of this answer was stored, in another tab or by an import. The text that you do not choose becomes an earlier text. ",
        button("Show the newer text", "quiet", () => this.takeNewer()), " ", button("Keep this text", "quiet", () => this.keepMine())));
    if (this.answers.trouble)
      parts.push(element("p", {}, this.answers.trouble, " ", button("Download this answer", "quiet", () =>
        download(this.exercise.path.split("/").pop(), this.editor.text, "text/x-c++src"))));
    if (parts.length !== this.trouble.childElementCount || this.answers.trouble !== this.told) this.trouble.replaceChildren(...parts);
    this.told = this.answers.trouble;
  }

  // ---- buttons

  say(text, className = "") {
    delete this.verdict.dataset.kind;
    this.verdict.replaceChildren(element("p", { className, textContent: text }));
  }

  /// Replaces the text and keeps the old one.
  async exchange(text, sentence) {
    await this.save();
    const old = this.editor.text;
    const stored = await this.own(() => this.answers.change(this.exercise.id, (record) => {
      Object.assign(record, this.about, { text });
      if (old !== text) keepEarlier(record, old);
    }));
    if (stored.lost) return this.say("Your text was not replaced, because the browser could not store it among the earlier texts.");
    this.editor.replace(text, { silent: true });
    this.settle(stored, text);
    this.conflict = false;
    this.tellTrouble();
    this.say(sentence);
    this.editor.focus();
  }

  reset() {
    return this.exchange(this.exercise.given, "The starting text is back. Your old text is kept under “Earlier texts”.");
  }

  async showHint(count) {
    this.hints.show(count);
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

  async show(verdict, text, seconds) {
    const parts = verdictElements(verdict, { exercise: this.exercise, text, best: this.record.best, jump: (line) => this.editor.goTo(line) });
    if (verdict.kind === "stopped") parts[0].textContent = `Stopped after ${seconds.toFixed(1)} s.`;
    if (verdict.kind === "right") parts.push(...await this.after(this.record));
    if (this.editor.text === text && verdict.line > 0) this.editor.mark(verdict.line, verdict.sentence);
    this.verdict.dataset.kind = verdict.kind;
    this.verdict.replaceChildren(...parts);
  }
}
