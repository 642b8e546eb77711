// The learner's answers and progress in this browser, in IndexedDB. Nothing is sent anywhere.
//
// A record: {id: "6.1", path, piece, given, text, revision, earlier: [{text, date}], tries, hints, solved: date or "",
// solution_shown, best: number or null, passed: the last text that was right}. Without a text, text is null.

const NAME = "tapestry-practise";
const REFUSED = "This browser stores nothing for this page, so your answer is lost when you close it. Download it first.";
const FULL = "The browser's storage is full, so your last changes are not stored. Download your answer, or free some space.";

const empty = (id) => ({ id, path: "", piece: "", given: "", text: null, revision: 0, earlier: [], tries: 0, hints: 0, solved: "",
  solution_shown: false, best: null, passed: "" });

const settled = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/// Returns a date as the grader writes it: 2026-11-29, or with the time 2026-11-29_08.05.00.
export function today(withTime = false, date = new Date()) {
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return withTime ? `${day}_${two(date.getHours())}.${two(date.getMinutes())}.${two(date.getSeconds())}` : day;
}

/// Orders "6.2" before "6.10" and "10.1".
export function byId(a, b) {
  const [x, y] = [a.id ?? a, b.id ?? b].map((id) => id.split(".").map(Number));
  return x[0] - y[0] || x[1] - y[1];
}

/// Adds a text to the earlier ones, unless it is there, or is the starting text.
export function keepEarlier(record, text, date = today(true)) {
  if (text === null || text === "" || text === record.given || record.earlier.some((one) => one.text === text)) return;
  record.earlier.push({ text, date });
}

export class Answers {
  /// Opens the store of this name. Where the browser refuses, answers are kept in memory, and `trouble` says so.
  static async open(name = NAME) {
    const answers = new Answers(name);
    try {
      const request = indexedDB.open(name, 1);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("answers", { keyPath: "id" });
        request.result.createObjectStore("facts");
      };
      answers.database = await settled(request);
      answers.database.onversionchange = () => answers.database.close();
    } catch {
      answers.trouble = REFUSED;
    }
    await answers.takeDrafts();
    return answers;
  }

  constructor(name) {
    this.drafts = `${name} draft `;  // and the id of a record: keys of localStorage
    this.database = null;
    this.memory = new Map();  // of a browser that stores nothing
    this.facts = new Map();
    this.trouble = "";        // a sentence about the storage for the learner, or ""
    this.listeners = new Set();
    this.channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(name) : null;
    if (this.channel) this.channel.onmessage = ({ data }) => this.tell(data.id, true);
  }

  tell(id, elsewhere) { for (const listener of this.listeners) listener(id, elsewhere); }

  /// Calls listener(id, elsewhere) after each change; `elsewhere` is true if another tab made it.
  onChange(listener) { this.listeners.add(listener); }

  async get(id) {
    const found = this.database ? await settled(this.database.transaction("answers").objectStore("answers").get(id)) : this.memory.get(id);
    return { ...empty(id), ...structuredClone(found ?? {}) };
  }

  /// Returns all records, in the order of the course.
  async all() {
    const found = this.database ? await settled(this.database.transaction("answers").objectStore("answers").getAll()) : [...this.memory.values()];
    return found.map((record) => ({ ...empty(record.id), ...structuredClone(record) })).sort(byId);
  }

  /// Changes one record within a transaction, so that no change of another tab is lost. `edit` gets the record; if it
  /// returns false, nothing is stored. Returns the record, with `lost: true` if it could not be stored.
  async change(id, edit) {
    let record = empty(id), stored = true;
    const apply = (found) => {
      record = { ...empty(id), ...structuredClone(found ?? {}) };
      const was = record.text;
      stored = edit(record) !== false;
      if (stored && record.text !== was) ++record.revision;
    };
    if (!this.database) {
      apply(this.memory.get(id));
      if (stored) this.memory.set(id, record);
    } else {
      try {
        const transaction = this.database.transaction("answers", "readwrite"), store = transaction.objectStore("answers");
        const done = new Promise((resolve, reject) => {
          transaction.oncomplete = resolve;
          transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("aborted"));
        });
        const read = store.get(id);
        read.onsuccess = () => {
          apply(read.result);
          if (stored) store.put(record);
        };
        await done;
        if (stored) this.trouble = "";
      } catch (error) {
        this.trouble = error?.name === "QuotaExceededError" ? FULL : REFUSED;
        return { ...record, lost: true };
      }
    }
    if (stored) {
      this.channel?.postMessage({ id });
      this.tell(id, false);
    }
    return record;
  }

  /// Stores a text that was made from revision `seen`. Returns {record, conflict}: on a conflict another tab has stored
  /// another text since, and nothing was written.
  async keepText(id, text, seen, about = {}) {
    let conflict = false;
    const record = await this.change(id, (found) => {
      conflict = found.revision !== seen && found.text !== null && found.text !== text;
      if (conflict || (found.text === text && found.path === about.path)) return false;
      Object.assign(found, about, { text });
      return true;
    });
    return { record, conflict };
  }

  /// Replaces the text by another one and keeps the old one among the earlier texts.
  replaceText(id, text, about = {}) {
    return this.change(id, (record) => {
      Object.assign(record, about);
      if (record.text !== text) keepEarlier(record, record.text);
      record.text = text;
    });
  }

  /// Stores a text at once, when the page closes: IndexedDB does not finish a change then. Answers.open() takes it from there.
  leaveDraft(id, text, seen, about) {
    try {
      localStorage.setItem(this.drafts + id, JSON.stringify({ text, seen, about }));
    } catch { /* a browser that stores nothing has said so */ }
  }

  /// Moves drafts into the store. A draft that was not made from the stored text becomes an earlier text.
  async takeDrafts() {
    try {
      for (const key of Object.keys(localStorage).filter((name) => name.startsWith(this.drafts))) {
        const { text, seen, about } = JSON.parse(localStorage.getItem(key));
        const record = await this.change(key.slice(this.drafts.length), (found) => {
          if (found.text === text) return false;
          if (found.revision === seen) Object.assign(found, about, { text });
          else keepEarlier(found, text);
          return true;
        });
        if (!record.lost) localStorage.removeItem(key);
      }
    } catch { /* no drafts */ }
  }

  /// Returns {"tape.hpp": text} of the engine's pieces that the learner has solved.
  async pieces() {
    const solved = (await this.all()).filter((record) => record.piece && record.passed);
    return Object.fromEntries(solved.map((record) => [record.piece, record.passed]));
  }

  async current() {
    if (!this.database) return this.facts.get("current") ?? "";
    return await settled(this.database.transaction("facts").objectStore("facts").get("current")) ?? "";
  }

  /// Stores the exercise that is worked on now.
  async setCurrent(id) {
    this.facts.set("current", id);
    try {
      if (this.database) await settled(this.database.transaction("facts", "readwrite").objectStore("facts").put(id, "current"));
    } catch { /* the next change of an answer reports it */ }
  }
}

/// Merges progress as the grader does: solved stays solved, higher counts and the lower score win.
export function mergeProgress(record, other) {
  record.tries = Math.max(record.tries, other.tries ?? 0);
  record.hints = Math.max(record.hints, other.hints ?? 0);
  record.solved = record.solved || other.solved || "";
  record.solution_shown ||= other.solution_shown === true;
  if (typeof other.best === "number" && (record.best === null || other.best < record.best)) record.best = other.best;
}
