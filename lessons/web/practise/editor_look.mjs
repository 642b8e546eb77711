// Colours and sizes of the editor, from the book's CSS variables, which reach into the shadow tree; and the same colours
// for code that is only shown.
import { cppLanguage } from "@codemirror/lang-cpp";
import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view";
import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";

/// The classes of the book's own code: keyword, preprocessor, string or number, comment.
export const bookHighlighter = tagHighlighter([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword, tags.modifier, tags.typeName, tags.self], class: "k" },
  { tag: [tags.processingInstruction, tags.meta], class: "p" },
  { tag: [tags.string, tags.character, tags.number, tags.bool, tags.null], class: "s" },
  { tag: tags.comment, class: "c" },
]);

export const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--ground)", borderRadius: "6px", fontSize: "var(--editor-size, .76rem)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--code)", lineHeight: "1.58", maxHeight: "var(--editor-height, 32rem)", overflow: "auto" },
  ".cm-content": { caretColor: "var(--accent)", padding: ".6rem 0", fontVariantLigatures: "none" },
  ".cm-line": { padding: "0 .8rem 0 .6rem" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { background: "color-mix(in srgb, var(--keyword) 28%, transparent)" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--soft)", border: "none", borderRadius: "6px 0 0 6px" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 .5rem 0 .7rem", minWidth: "1.6rem" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--axis) 14%, transparent)" },
  ".cm-hole-line": { backgroundColor: "var(--paper)" },
  ".cm-hole-number": { boxShadow: "inset 3px 0 var(--accent)", color: "var(--ink)" },
  "&.cm-focused .cm-hole-line.cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--axis) 14%, var(--paper))" },
  ".cm-error-line, &.cm-focused .cm-error-line.cm-activeLine, .cm-error-line.cm-hole-line":
    { backgroundColor: "color-mix(in srgb, var(--bad) 16%, var(--paper))" },
  ".cm-error-number": { color: "var(--bad)", fontWeight: "700" },
  ".cm-error-number::before": { content: '"✗ "' },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "transparent", outline: "1px solid var(--axis)", borderRadius: "2px" },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent", color: "var(--bad)" },
  ".cm-foldPlaceholder": { backgroundColor: "transparent", border: "none", color: "var(--soft)", fontStyle: "italic", marginLeft: ".5rem" },
  ".k, .p": { color: "var(--keyword)" },
  ".s": { color: "var(--string)" },
  ".c": { color: "var(--soft)" },
  "@media (prefers-reduced-motion: reduce)": { ".cm-cursorLayer": { animation: "none !important" } },
});

const DEEPEST = 10;  // columns; deeper lines are wrapped to here, for narrow screens

/// Indents the second part of a wrapped line by two columns more than the line.
export const wrapped = ViewPlugin.fromClass(class {
  constructor(view) { this.decorations = this.make(view); }
  update(update) { if (update.docChanged || update.viewportChanged) this.decorations = this.make(update.view); }
  make(view) {
    const found = new RangeSetBuilder();
    for (const { from, to } of view.visibleRanges) {
      for (let at = from; at <= to;) {
        const line = view.state.doc.lineAt(at), hang = Math.min(line.text.search(/\S|$/), DEEPEST) + 2;
        found.add(line.from, line.from, Decoration.line({ attributes: { style: `text-indent: -${hang}ch; padding-left: calc(${hang}ch + .6rem)` } }));
        at = line.to + 1;
      }
    }
    return found.finish();
  }
}, { decorations: (plugin) => plugin.decorations });

/// Returns the lines of a C++ text as elements for a <pre class="code">.
export function coloured(text) {
  const code = document.createElement("code");
  let line = null;
  const begin = () => {
    line = document.createElement("span");
    line.className = "l";
    code.append(line);
  };
  begin();
  highlightCode(text, cppLanguage.parser.parse(text), bookHighlighter, (piece, name) => {
    if (!name) return line.append(piece);
    const span = document.createElement("span");
    span.className = name;
    span.textContent = piece;
    return line.append(span);
  }, begin);
  for (const one of code.children) if (!one.textContent) one.textContent = "\n";
  return code;
}
