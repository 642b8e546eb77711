"""What one reads is there to be read: no formula and no printed number is cut off."""
import re
import unicodedata

from website import runs

from book.tester import NARROW, WIDE, Tester

CUT_OFF = """selector => [...document.querySelectorAll(selector)].filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => `${box.textContent.trim().slice(0, 60)} (${box.scrollWidth - box.clientWidth} pixels)`)"""

OPEN = """() => {
  for (const button of document.querySelectorAll(".question .open button")) button.click();
  for (const fold of document.querySelectorAll("details")) fold.open = true; }"""
# Lines of a lesson's run as the page shows them: a row's cells, or a line that stands as it was printed.
SHOWN = """() => [...document.querySelectorAll(".run table.pairs tr, .run pre.printed")].flatMap((box) => box.tagName === "PRE"
  ? box.textContent.split("\\n") : [[...box.cells].map((cell) => cell.textContent).join(" ")])"""


class Reading(Tester):
    def reading(self):
        for width in (WIDE, NARROW):
            context = self.context(width)
            page = self.watched(context)
            for path in sorted((self.out / "lessons").glob("*.html")):
                self.go(page, f"lessons/{path.name}")
                page.evaluate(OPEN)
                self.formulas(page, path.stem, width)
                self.printed(page, path.stem, width)
            context.close()

    def formulas(self, page, name, width):
        """Whole; on a phone a table that is read by its columns may still scroll."""
        found = page.evaluate(CUT_OFF, ".row .wide, .head .wide, .prose pre" if width == WIDE else ".wide.formula, .wide:has(.steps, .ways)")
        self.trial.check(f"{name} at {width}: no formula is cut off", not found, found)

    def printed(self, page, name, width):
        """Each line of the run is there, its figure beside it, and none but those of tables is cut off."""
        cut = page.evaluate(CUT_OFF, ".run pre.said, .run table.pairs")
        out = page.evaluate("() => [...document.querySelectorAll('.run table.pairs')].filter((t) => t.getBoundingClientRect().right > innerWidth).length")
        self.trial.check(f"{name} at {width}: what it printed is not cut off", not cut and not out, cut)
        pieces = [piece for _, found in runs.Run(self.root / "lessons/website/runs" / name).sections for piece in found]
        lines = [bare(line) for piece in pieces if piece.kind == "text" for line in piece.text.split("\n")]
        self.trial.same(f"{name} at {width}: each line that it printed",
                        [bare(line) for line in page.evaluate(SHOWN) if bare(line)], [line for line in lines if line])


def bare(line):
    """A line without what setting it changes: blanks, marks, and signs that stand below or above."""
    return re.sub(r"[\s_^`*{}]", "", unicodedata.normalize("NFKC", line))
