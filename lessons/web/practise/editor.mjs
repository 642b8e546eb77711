// The editor of an answer: C++ with the learner's hole marked, and a marker on the line of an error. The editor is in a
// shadow tree, because only there does CodeMirror use constructable style sheets, which the book's policy allows.
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { bracketMatching, codeFolding, foldEffect, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting, unfoldEffect } from "@codemirror/language";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, gutterLineClass, GutterMarker, highlightActiveLine, keymap, lineNumbers, ViewPlugin } from "@codemirror/view";

import { bookHighlighter, look, wrapped } from "./editor_look.mjs";

const setError = StateEffect.define({ map: (error, change) => (error ? { ...error, at: change.mapPos(error.at) } : null) });

class NumberClass extends GutterMarker {
  constructor(name) { super(); this.elementClass = name; }
}
const wrongNumber = new NumberClass("cm-error-number"), holeNumber = new NumberClass("cm-hole-number");

/// Position of the error's line, which moves with the text, or null. Editing the line itself removes the error.
const error = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setError)) return effect.value;
    if (!value || !transaction.docChanged) return value;
    const line = transaction.startState.doc.lineAt(value.at);
    return transaction.changes.touchesRange(line.from, line.to) ? null : { ...value, at: transaction.changes.mapPos(value.at, 1) };
  },
  provide: (field) => [
    EditorView.decorations.from(field, (value) => (value ? lineMarks([value.at], "cm-error-line", value.sentence) : Decoration.none)),
    gutterLineClass.from(field, (value) => (value ? RangeSet.of([wrongNumber.range(value.at)]) : RangeSet.empty)),
  ],
});

function lineMarks(positions, name, title = "") {
  const mark = Decoration.line({ class: name, attributes: title ? { title } : {} });
  return Decoration.set(positions.map((at) => mark.range(at)));
}

/// Returns [{from, to}] of each hole: the numbers of the lines that begin with "// ↓" and "// ↑".
export function holesOf(lines) {
  const found = [];
  let from = 0;
  lines.forEach((line, i) => {
    if (/^\s*\/\/ ↓/.test(line)) from = i + 1;
    if (/^\s*\/\/ ↑/.test(line) && from) {
      found.push({ from, to: i + 1 });
      from = 0;
    }
  });
  return found;
}

const holeLines = (doc) => holesOf(doc.toString().split("\n"))
  .flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => doc.line(from + i).from));

const holes = StateField.define({
  create: (state) => holeLines(state.doc),
  update: (value, transaction) => (transaction.docChanged ? holeLines(transaction.state.doc) : value),
  provide: (field) => [
    EditorView.decorations.from(field, (value) => lineMarks(value, "cm-hole-line")),
    gutterLineClass.from(field, (value) => RangeSet.of(value.map((at) => holeNumber.range(at)))),
  ],
});

/// After Escape, Tab leaves the editor; another key, or leaving it, makes Tab indent again.
const escapeThenTab = EditorView.domEventHandlers({
  keydown(event, view) {
    if (event.key === "Escape") view.setTabFocusMode(true);
    else if (!["Tab", "Shift"].includes(event.key)) view.setTabFocusMode(false);
    return false;
  },
  focus: (_, view) => { view.setTabFocusMode(false); },
});

/// Makes the shadow tree's host show a focus outline for the editor inside.
const focusMark = ViewPlugin.define((view) => ({
  update: ({ focusChanged }) => { if (focusChanged) view.dom.getRootNode().host?.classList.toggle("focused", view.hasFocus); },
}));

export class Editor {
  /// Shows `text` in the element `host`. Calls onChange(text) after each change of the reader, onText(text) after every change,
  /// and onCheck() at Ctrl-Enter. `task` tells that the text begins with a comment that repeats the task of the page.
  constructor(host, { text, label, describedBy, onChange, onText = () => {}, onCheck, task = true }) {
    this.task = task;
    const root = host.attachShadow({ mode: "open" });
    const note = document.createElement("span");  // ids do not reach across the edge of a shadow tree
    note.id = "note";
    note.hidden = true;
    note.textContent = describedBy;
    const check = ["Ctrl-Enter", "Cmd-Enter"].map((key) => ({ key, run: () => { onCheck(); return true; } }));
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([...check, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
          lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(),
          codeFolding({ placeholderText: "… the task" }), indentUnit.of("  "), EditorState.tabSize.of(2), cpp(), EditorView.lineWrapping, wrapped,
          syntaxHighlighting(bookHighlighter), look, holes, error, escapeThenTab, focusMark,
          EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, "aria-describedby": "note", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            onText(this.text);
            if (!this.silent) onChange(this.text);
          }),
        ],
      }),
    });
    root.append(note);
    this.foldTask();
  }

  get text() { return this.view.state.doc.toString(); }

  /// Replaces the text; Ctrl-Z brings the old one back. `silent` leaves out the call of onChange.
  replace(text, { silent = false } = {}) {
    this.silent = silent;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, effects: setError.of(null) });
    this.silent = false;
    this.foldTask();
    this.toHole(false);
  }

  /// Replaces the lines from `from` to `to`, from 1, as if the reader had typed it.
  replaceLines(from, to, insert) {
    const { doc } = this.view.state;
    this.view.dispatch({ changes: { from: doc.line(from).from, to: doc.line(to).to, insert } });
  }

  /// Folds the comment at the head of the text, which repeats the task of the page.
  foldTask() {
    if (!this.task) return;
    const { doc } = this.view.state;
    let last = 0;
    while (last < doc.lines && doc.line(last + 1).text.startsWith("//")) ++last;
    if (last > 1) this.view.dispatch({ effects: foldEffect.of({ from: doc.line(1).to, to: doc.line(last).to }) });
  }

  /// Puts the cursor on the first line of the hole and scrolls the editor, not the page, to it.
  toHole(focus) {
    const { doc } = this.view.state;
    const [hole] = holesOf(doc.toString().split("\n"));
    if (hole) this.goTo(Math.min(hole.from + 1, doc.lines), focus);
    else if (focus) this.view.focus();
  }

  goTo(number, focus = true) {
    const line = this.view.state.doc.line(number);
    const indent = line.text.length - line.text.trimStart().length;
    const scroller = this.view.scrollDOM;
    this.view.dispatch({ selection: { anchor: line.from + indent }, effects: unfoldEffect.of({ from: line.from, to: line.to }) });
    if (focus) this.view.focus();
    this.view.requestMeasure({
      read: (view) => view.lineBlockAt(line.from).top,
      write: (top) => { scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 3); },
    });
  }

  /// Marks a line, from 1, and gives it the sentence as its title; 0 removes the mark.
  mark(number, sentence = "") {
    const { doc } = this.view.state;
    const at = number > 0 && number <= doc.lines ? { at: doc.line(number).from, sentence } : null;
    this.view.dispatch({ effects: setError.of(at) });
  }

  focus() { this.view.focus(); }
}
