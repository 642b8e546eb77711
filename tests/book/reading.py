"""What one reads is there to be read: no formula, no printed number and no line of code is cut off."""
from book.tester import NARROW, WIDE, Tester

CUT_OFF = """selector => [...document.querySelectorAll(selector)].filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => `${box.textContent.trim().slice(0, 60)} (${box.scrollWidth - box.clientWidth} pixels)`)"""


class Reading(Tester):
    def reading(self):
        for width in (WIDE, NARROW):
            context = self.context(width)
            page = self.watched(context)
            for path in sorted((self.out / "lessons").glob("*.html")):
                self.go(page, f"lessons/{path.name}")
                self.formulas(page, path.stem, width)
            context.close()

    def formulas(self, page, name, width):
        """Whole; on a phone a table that is read by its columns may still scroll."""
        found = page.evaluate(CUT_OFF, ".row .wide, .head .wide, .prose pre" if width == WIDE else ".wide.formula, .wide:has(.steps, .ways)")
        self.trial.check(f"{name} at {width}: no formula is cut off", not found, found)
