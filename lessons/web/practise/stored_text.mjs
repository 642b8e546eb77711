// A text in an editor that is stored in this browser: an answer, or changed code of a chapter. No text is lost: one that is
// replaced becomes an earlier text, and a newer one from another tab asks the reader.
import { keepEarlier } from "./answers.mjs";
import { button, download, element } from "./elements.mjs";
import { Earlier } from "./help.mjs";

const PAUSE = 300;  // milliseconds without typing, after which the text is stored

export class StoredText {
  /// `id` is that of the record in `answers`, and `about` its fields that say what the text belongs to. `kind` is the word
  /// for the text in messages, and `file` its name as a download. The caller makes `this.editor` with `this.stored`.
  constructor({ answers, record, id, about, kind, file }) {
    Object.assign(this, { answers, record, id, about, kind, file });
    this.seen = record.revision;
    this.stored = record.text ?? about.given;
    this.queue = Promise.resolve();
    this.earlier = new Earlier({ onPutBack: (text) => this.exchange(text, "The earlier text is back. The text that it replaced is now an earlier text.") });
    this.trouble = element("div", { className: "trouble" });
    this.trouble.setAttribute("role", "status");
    this.verdict = element("div", { className: "verdict-place" });
    this.verdict.setAttribute("aria-live", "polite");
  }

  /// Shows what the record says beside the text.
  shown(record) { this.earlier.show(record.earlier); }

  /// Puts the keyboard where the text is written.
  focus() { this.editor.focus(); }

  listen() {
    addEventListener("pagehide", () => this.leave());
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden") this.save(); });
    this.answers.onChange((id, elsewhere) => {
      if (id === this.id && (elsewhere || !this.writing)) this.compare();
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
      this.shown(record);
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
      const { record, conflict } = await this.answers.keepText(this.id, text, this.seen, this.about);
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
    if (mine !== this.stored) this.answers.leaveDraft(this.id, mine, this.conflict ? -1 : this.seen, this.about);
  }

  /// Looks whether a newer text was stored that is not the editor's.
  async compare() {
    const record = await this.answers.get(this.id);
    this.record = record;
    this.shown(record);
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
    const record = await this.own(() => this.answers.change(this.id, (found) => { if (unsaved) keepEarlier(found, mine); }));
    if (record.lost) return;
    this.conflict = false;
    this.editor.replace(record.text, { silent: true });
    [this.seen, this.stored] = [record.revision, record.text];
    this.tellTrouble();
    this.focus();
  }

  async keepMine() {
    const mine = this.editor.text;
    this.conflict = false;
    this.settle(await this.own(() => this.answers.replaceText(this.id, mine, this.about)), mine);
    this.focus();
  }

  tellTrouble() {
    const parts = [];
    if (this.conflict)
      parts.push(element("p", {}, `A newer text of this ${this.kind} was stored, in another tab or by an import. The text that you do not choose becomes an earlier text. `,
        button("Show the newer text", "quiet", () => this.takeNewer()), " ", button("Keep this text", "quiet", () => this.keepMine())));
    if (this.answers.trouble)
      parts.push(element("p", {}, this.answers.trouble, " ", button(`Download this ${this.kind}`, "quiet", () => download(this.file, this.editor.text, "text/x-c++src"))));
    if (parts.length !== this.trouble.childElementCount || this.answers.trouble !== this.told) this.trouble.replaceChildren(...parts);
    this.told = this.answers.trouble;
  }

  say(text, className = "") {
    delete this.verdict.dataset.kind;
    this.verdict.replaceChildren(element("p", { className, textContent: text }));
  }

  /// Replaces the text and keeps the old one.
  async exchange(text, sentence) {
    await this.save();
    const old = this.editor.text;
    const stored = await this.own(() => this.answers.change(this.id, (record) => {
      Object.assign(record, this.about, { text });
      if (old !== text) keepEarlier(record, old);
    }));
    if (stored.lost) return this.say("Your text was not replaced, because the browser could not store it among the earlier texts.");
    this.editor.replace(text, { silent: true });
    this.settle(stored, text);
    this.conflict = false;
    this.tellTrouble();
    this.say(sentence);
    this.focus();
  }
}
