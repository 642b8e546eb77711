// The place where a block of the chapter's code is changed: the editor, its buttons, and the first error of the compiler. The
// part "Run it here" of the page shows the run.
import { CheckView } from "./check_view.mjs";
import { listed } from "./changed_lesson.mjs";
import { Editor } from "./editor.mjs";
import { button, element } from "./elements.mjs";
import { keysOf } from "./keys.mjs";
import { StoredText } from "./stored_text.mjs";
import { verdictElements } from "./verdict.mjs";

export class ChangeBench extends StoredText {
  /// Fills `place`. `block` is one of the blocks of `lesson`, a ChangedLesson; texts() returns a promise of all changed texts
  /// by id; checker() one of the page's Checker; build(checker, source, more) compiles; start(run) begins the run.
  constructor(place, { block, lesson, record, answers, texts, checker, build, start }) {
    const given = lesson.original(block);
    super({ answers, record, id: block.id, about: { given }, kind: "change", file: "lesson.cpp" });
    Object.assign(this, { block, lesson, texts, checker, build, start, given });
    this.view = new CheckView({ onCheck: () => this.run(), onStop: () => this.running?.abort(), name: "Run", does: "run with a change" });
    const host = element("div", { className: "editor" }), keys = keysOf(host, "runs the lesson with your change");
    const original = button("Original", "quiet reset", () => this.exchange(given, "The chapter's code is back. Your old text is kept under “Earlier texts”."));
    place.replaceChildren(host, keys,
      element("p", { className: "doing" }, this.view.check, this.view.stop, original), this.view.going, this.view.announced, this.trouble, this.verdict,
      this.earlier.place);
    this.editor = new Editor(host, { text: this.stored, label: `Your change of ${block.name}, C++`, describedBy: keys.textContent, task: false,
      onChange: () => this.typed(), onCheck: () => this.run() });
    this.shown(record);
    this.listen();
    this.tellTrouble();
    this.editor.focus();
    checker().then((found) => found.size()).then((bytes) => { if (!this.running) this.view.first(bytes); }).catch(() => {});
  }

  async run() {
    if (this.running) return;
    const run = this.running = new AbortController(), text = this.editor.text;
    this.save();
    this.editor.mark(0);
    this.say("Compiling the lesson with your change.", "hidden");
    this.view.begin();
    const stopped = new Promise((resolve) => run.signal.addEventListener("abort", () => resolve("stopped")));
    try {
      const outcome = await Promise.race([stopped, this.compiled(text, run.signal)]);
      if (outcome === "stopped") this.tell("stopped", `Stopped after ${this.view.seconds().toFixed(1)} s.`);
      else if (outcome.module) this.begin(outcome);
      else this.refuse(outcome, text);
    } catch (error) {
      this.tell("unavailable", `The lesson could not be compiled: ${String(error?.message ?? error).replace(/\.+$/, "")}. Your change is not lost.`);
    } finally {
      this.running = null;
      this.view.end();
    }
  }

  tell(kind, sentence) {
    this.say(sentence);
    this.verdict.dataset.kind = kind;
  }

  async compiled(text, signal) {
    const checker = await this.checker(), texts = await this.texts();
    const whole = this.lesson.with(texts.set(this.id, text));
    const made = await this.build(checker, whole.source, { signal, onProgress: (phase) => { if (!signal.aborted) this.view.progress(phase); } });
    return { ...made, whole, checker };
  }

  begin({ module, whole, checker }) {
    const names = listed(whole.changed.map(({ name }) => name));
    const what = names ? `your change of ${names}` : "the chapter's code, which you have not changed";
    this.tell("runs", `Compiled in ${this.view.seconds().toFixed(1)} s. This run uses ${what}. `);
    this.verdict.lastChild.append(element("a", { href: "#here", textContent: "Its output" }), " follows the chapter.");
    this.view.end();  // before the focus moves to the run's Stop
    this.start({ module, what, block: this.block, explain: (trap) => checker.explain(trap) });
  }

  /// Shows the first error, with its line in this block, or says where else it is.
  refuse({ line, sentence, whole }, text) {
    const at = whole.place(line), here = at.block?.id === this.id;
    const where = at.block ? `Line ${at.line} of your change of ${at.block.name}: ` : line > 0 ? `Line ${at.line} of lesson.cpp, which you have not changed: ` : "";
    const verdict = { kind: "compile_error", line: here ? at.line : 0, sentence: here ? sentence : where + sentence };
    this.verdict.dataset.kind = verdict.kind;
    this.verdict.replaceChildren(...verdictElements(verdict, { exercise: {}, text, jump: (number) => this.editor.goTo(number) }));
    if (here && this.editor.text === text) this.editor.mark(at.line, sentence);
  }
}
