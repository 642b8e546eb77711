"""What is asked of every page."""
import json
import re

from website import pdf

from book.tester import NARROW, SCHEMES, WIDE, Tester


# The boxes whose edges do not say what is beyond them; they are asked when the page has come to rest.
EDGES = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const boxes = [...document.querySelectorAll(".wide, .scroll, .printed")].filter((box) => box.clientWidth);
  const wrong = (box) => {
    const more = box.scrollLeft + box.clientWidth < box.scrollWidth - 1, { maskImage, backgroundImage } = getComputedStyle(box);
    return backgroundImage !== "none" || (maskImage !== "none") !== more;
  };
  done(boxes.filter(wrong).map((box) => `${box.className}: ${box.clientWidth} of ${box.scrollWidth}`));
})))"""

# Pictures that scroll sideways and do not say so, or say so and do not scroll.
HINTS = """() => [...document.querySelectorAll("figure > .scroll")].filter((box) => box.clientWidth)
  .filter((box) => (getComputedStyle(box.parentElement, "::before").content !== "none") !== (box.scrollWidth > box.clientWidth + 1))
  .map((box) => box.parentElement.id || box.parentElement.className)"""

# Sliders that a finger misses, and numbers that do not stand beside theirs.
SLIDERS = """() => [...document.querySelectorAll("input[type=range]")].filter((input) => input.getClientRects().length).map((input) => {
  const says = input.closest(".control") && input.closest(".control").querySelector("output");
  const box = input.getBoundingClientRect(), out = says && says.getBoundingClientRect();
  return { name: input.parentElement.textContent.trim(), height: box.height,
    beside: !out || out.left >= box.right && out.top < box.bottom && out.bottom > box.top && out.right <= innerWidth };
})"""


class Pages(Tester):
    def pages(self):
        """All but those of the source and of the reference, which are alike: of these some, or all with --all."""
        found = [path.relative_to(self.out).as_posix() for path in sorted(self.out.rglob("*.html"))]
        shown = [href for href in found if not href.startswith(("source/", "reference/"))]
        for folder in ("source/", "reference/"):
            alike = [href for href in found if href.startswith(folder)]
            shown += alike if self.everything else alike[:: max(1, len(alike) // 3)]
        return shown

    def every_page(self):
        """Each page once; what it is at another width and in the other scheme is looked at in the same page."""
        context = self.context(NARROW)
        page = self.watched(context)
        kept = self.root / "lessons/website/runs"
        for i, href in enumerate(self.pages()):
            self.go(page, href)
            for scheme in SCHEMES if self.everything else [SCHEMES[i % 2]]:
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": NARROW, "height": 900})
                self.fits(page, href, NARROW)
                self.accessible(page, href, scheme)
                page.set_viewport_size({"width": WIDE, "height": 900})
                self.fits(page, href, WIDE)
            run = kept / href.removeprefix("lessons/").removesuffix(".html")
            if href.startswith("lessons/") and run.exists():
                self.questions_of(page, run)
                for path in sorted(run.glob("*.json")):
                    self.heatmap(page, path)
            self.trial.check(f"{href}: no error, no request elsewhere", not self.faults, self.faults[:3])
        context.close()

    def sliders(self):
        """On a phone each is high enough for a finger, with its number beside it."""
        context, seen = self.context(NARROW), 0
        page = self.watched(context)
        for href in self.pages():
            if not re.search(r'class="play"|class="series"|gallery-data|id="threads"', (self.out / href).read_text()):
                continue
            self.go(page, href)
            page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
            found = page.evaluate(SLIDERS)
            seen += len(found)
            low = [slider for slider in found if slider["height"] < 24]
            self.trial.check(f"{href}: a finger finds the sliders", not low, low)
            alone = [slider["name"] for slider in found if not slider["beside"]]
            self.trial.check(f"{href}: their numbers stand beside them", not alone, alone)
        self.trial.check("there are many sliders", seen > 50, seen)
        context.close()

    def fits(self, page, href, width):
        room = page.evaluate("document.documentElement.scrollWidth")
        self.trial.check(f"{href} at {width}: nothing is wider than the page", room <= width, f"{room} pixels")
        wrong = page.evaluate(EDGES)
        self.trial.check(f"{href} at {width}: boxes fade where there is more, and nowhere else", not wrong, wrong[:3])
        wrong = page.evaluate(HINTS)
        self.trial.check(f"{href} at {width}: a picture that scrolls says so", not wrong, wrong[:3])

    def accessible(self, page, href, scheme):
        """Programs look alike: their colours are looked at on a few pages, or everywhere with --all."""
        few = self.everything or re.search(r"0[1-3]_|source/|guide/|reference/", href)
        found = self.axe.run(page, context=None if few else {"exclude": [["pre.code"]]},
                             options={"resultTypes": ["violations"]}).response["violations"]
        bad = [f"{v['id']}: {v['nodes'][0]['html'][:120]} ({len(v['nodes'])} places)" for v in found
               if v["impact"] in ("serious", "critical")]
        self.trial.check(f"{href}, {scheme}: accessible", not bad, bad)

    def questions_of(self, page, run):
        """They are those of the run, with its answers, and cover what follows."""
        text = (run / "output.txt").read_text()
        asked = re.findall(r"^  \? (.+)\n    a  ", text, re.M)
        told = re.findall(r"^  \? [^:\n]+?: ([a-e]), ", text, re.M)
        right = page.evaluate("[...document.querySelectorAll('.question')].map(q => q.dataset.right)")
        self.trial.same(f"{run.name}: as many questions as were asked", len(right), len(asked))
        choices = page.evaluate("document.querySelectorAll('.question [data-letter]').length")
        self.trial.same(f"{run.name}: as many choices", choices, len(re.findall(r"^    [a-e]  ", text, re.M)))
        self.trial.same(f"{run.name}: the answers of the run", sorted(map(str, right)), sorted(told))
        covered = "document.querySelectorAll('.after.covered').length"
        notes = "document.querySelectorAll('.hides').length"
        before, told = page.evaluate(covered), page.evaluate(notes)
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        after = page.evaluate(covered)
        self.trial.same(f"{run.name}: a sentence says why it is covered, until then", (told, page.evaluate(notes)), (before, after))
        self.trial.check(f"{run.name}: what follows a question is covered until then", (before > 0) == bool(asked) and after == 0,
                         f"{before} before, {after} after")

    def heatmap(self, page, path):
        """Its values are the recorded ones; where it has words a row says its largest."""
        data, what = json.loads(path.read_text()), f"{path.parent.name}/{path.stem}"
        if not page.evaluate("name => document.getElementById(name) !== null", f"figure-{path.stem}"):
            self.trial.check(f"{what}: the picture is on the page", False)
            return
        values = page.evaluate("name => [...document.getElementById(name).querySelectorAll('td[data-v]')].map(c => Number(c.dataset.v))",
                               f"figure-{path.stem}")
        self.trial.check(f"{what}: the recorded values", values == [v for row in data["values"] for v in row if v is not None])
        says = page.evaluate("""name => {
          const figure = document.getElementById(name), heads = figure.querySelectorAll("tbody th");
          figure.hidden = false;  // another of them is picked: a play's own test picks each
          if (!figure.querySelector(".sentence")) return null;
          heads[heads.length - 1].focus();
          return figure.querySelector(".says").textContent; }""", f"figure-{path.stem}")
        if says is not None:
            most = max((v for v in data["values"][-1] if v is not None), key=abs)
            first = re.search(r" (−?[\d.]+)(?:,|$)", says[len(data["rows"][-1].strip()) + 1:])
            self.trial.check(f"{what}: a row says its largest value",
                             first and abs(float(first.group(1).replace("−", "-")) - most) < 0.00501, f"{says} ({most})")

    def printed(self):
        """The PDF has a chapter for each lesson, with its place in the outline."""
        browser = self.browser
        pdf.print_with(browser, self.out)
        data = (self.out / "tapestry.pdf").read_bytes()
        sheets = len(re.findall(rb"/Type ?/Page\b", data))
        self.trial.check("the PDF has the whole course", sheets > 150, f"{sheets} pages")
        outline = [bytes.fromhex(m.decode()).decode("utf-16", "ignore") for m in re.findall(rb"/Title <(FEFF[0-9A-F]+)>", data)]
        outline += [m.decode("latin-1") for m in re.findall(rb"/Title \(([^)]*)\)", data)]
        for path in sorted((self.out / "lessons").glob("*.html")):
            number, name = path.stem.split("_", 1)
            title = name.replace("_", " ")
            self.trial.check(f"the PDF's outline has lesson {number}", any(title in entry for entry in outline), len(outline))
