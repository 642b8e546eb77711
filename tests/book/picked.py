"""What a page computes or picks (the gallery, a painted mask, a map of a series), beside what the lessons' C++ gave."""
import json
import math
from collections import Counter

from website import gallery, plays, runs, series

from book.tester import NARROW, Tester

# Sets a mechanism's sliders and head as a reader does, and says what its map then has.
TURN = """([name, numbers, head]) => {
  const place = [...document.querySelectorAll(".mechanism")].find((one) => one.dataset.name === name);
  [...place.querySelectorAll("input[type=range]")].forEach((input, k) => {
    input.value = numbers[k];
    input.dispatchEvent(new Event("input"));
  });
  const heads = place.querySelectorAll("input[type=radio]");
  if (heads.length) heads[head].click();
  const cells = [...place.querySelectorAll("path")].map((path) => (path.getAttribute("d").match(/M/g) || []).length);
  return { weights: JSON.parse(place.dataset.weights), cells };
}"""

# Picks one map after another, and says what each then shows.
PICK = """(place, [combinations, grows]) => combinations.map((picked) => {
  const groups = [...place.querySelectorAll("fieldset")], slider = place.querySelector("input[type=range]");
  picked.forEach((which, c) => {
    if (grows[c]) {
      slider.value = which;
      slider.dispatchEvent(new Event("input"));
    } else {
      groups.shift().querySelectorAll("input")[which].click();
    }
  });
  return [...place.querySelectorAll("figure:not([hidden]) td[data-v]")].map((cell) => Number(cell.dataset.v));
})"""


class Picked(Tester):
    def gallery(self):
        """The page's numbers are those of the C++, for each mechanism, with the usual numbers and with others."""
        recorded = runs.Run(self.root / "lessons/website/runs" / gallery.LESSON).data("gallery")
        context = self.context()
        page = self.open(context, gallery.HREF)
        names = page.evaluate("[...document.querySelectorAll('.mechanism')].map(place => place.dataset.name)")
        self.trial.same("the gallery has every mechanism", names, [entry["name"] for entry in recorded["entries"]])
        compared = Counter()
        for button, random in ((1, True), (0, False)):
            page.locator(".before-scores input").nth(button).click()
            always = page.evaluate("Object.entries(GalleryFormulas).filter(([, f]) => f.random).map(([name]) => name)")
            for entry in recorded["entries"]:
                for kept in entry["maps"]:
                    if kept["random"] != random or entry["name"] in always and not random:
                        continue
                    came = page.evaluate(TURN, [entry["name"], kept["numbers"], kept["head"]])
                    pairs = [(a, b) for row, other in zip(kept["weights"], came["weights"]) for a, b in zip(row, other)]
                    far = max(abs(a - b) for a, b in pairs)
                    what = f"{entry['name']}, {kept['numbers']}, head {kept['head']}, {'random' if random else 'no'} scores"
                    self.trial.check(f"{what}: the weights of the C++", len(pairs) == 400 and far <= 3, f"{far} ten-thousandths apart")
                    compared[entry["name"]] += 1
                    if entry["learned"]:
                        continue  # a weight may be recorded as 0 and yet be one that the row sees
                    # In "selective", too, but there a query sees all keys up to its own.
                    seen = [i + 1 if entry["name"] == "selective" else sum(v != 0 for v in row) for i, row in enumerate(kept["weights"])]
                    shades = Counter(self.shade(value * n, entry["name"] == "differential") for n, row in zip(seen, kept["weights"]) for value in row)
                    off = sum(abs(shades[i] - count) for i, count in enumerate(came["cells"]))
                    self.trial.check(f"{what}: its colours", sum(came["cells"]) == 400 and off <= 12, f"{off} cells")
        expected = {e["name"]: 1 + (e["name"] not in always) + bool(e["knobs"]) for e in recorded["entries"]}
        self.trial.same("what has no number to turn", [e["name"] for e in recorded["entries"] if not e["knobs"]], ["causal"])
        self.trial.same("each mechanism was compared", dict(compared), expected)
        self.by_hand(page, "sliding-window")
        self.in_words(page, always)
        context.close()
        self.by_finger()

    def in_words(self, page, always):
        """What a map uses in place of scores of 0; a number in what it does; signs; and the choice stays in reach."""
        place = lambda anchor: page.locator(f".mechanism:has(#{anchor})")
        differs = "[...document.querySelectorAll('.mechanism')].filter(p => !p.querySelector('.differs').hidden).map(p => p.dataset.name)"
        self.trial.same("where scores are not 0 the map says so", sorted(page.evaluate(differs)), sorted(always + ["rotary"]))
        for anchor, knob, value, expected in (("sliding-window", "window", 20, "the last twenty"), ("dilated", "step", 2, "every second"),
                                              ("block-diagonal", "block", 7, "blocks of seven"), ("global-window", "global", 1, "one")):
            place(anchor).get_by_label(knob, exact=True).fill(str(value))
            told = place(anchor).locator(".does").inner_text()
            self.trial.check(f"{anchor}: {knob} {value} is told in words", expected in told, told)
        page.locator("#sink").scroll_into_view_if_needed()
        radio = page.locator(".before-scores input").nth(1)
        box = radio.bounding_box()
        self.trial.check("the choice of scores stays in reach", 0 <= box["y"] < 100, box)
        radio.click()
        self.trial.same("with random scores no map differs", page.evaluate(differs), [])
        kinds = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('.mechanism')].map((p) => {
          const weights = JSON.parse(p.dataset.weights).flat();
          return [p.dataset.name, [weights.some((w) => w < 0), p.querySelector('path').getAttribute('class'), p.querySelector('.scale').textContent]]; }))""")
        wrong = {name: kind for name, kind in kinds.items() if kind[1:] != (["s0", "−3−113 × uniform"] if kind[0] else ["h0", "013 × uniform"])}
        self.trial.check("weights below 0 have the colours with a sign", not wrong and kinds["differential"][0], wrong)

    def by_finger(self):
        """A tap reads a row; a swipe that scrolls does not."""
        context = self.context(NARROW, has_touch=True)
        page = self.open(context, gallery.HREF)
        bar, last = page.locator(".before-scores").bounding_box(), page.locator(".before-scores label").last.bounding_box()
        self.trial.check("the choice stands in one line", bar["height"] < 50 and last["x"] + last["width"] < NARROW - 8, last)
        rows = page.locator(".mechanism:has(#causal) .weights")
        rows.scroll_into_view_if_needed()
        page.evaluate("scrollBy(0, 200)")
        before, top = rows.get_attribute("aria-valuenow"), page.evaluate("scrollY")
        self.swipe(page, rows.bounding_box() | {"height": 60}, 0, -200)
        self.trial.check("a swipe over a map scrolls, and leaves the row", rows.get_attribute("aria-valuenow") == before and
                         page.evaluate("scrollY") > top + 50, rows.get_attribute("aria-valuenow"))
        rows.scroll_into_view_if_needed()
        box = rows.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] * (26 + 15.5 * 15) / 328)
        self.trial.same("a tap reads a row", rows.get_attribute("aria-valuenow"), "15")
        context.close()

    @staticmethod
    def shade(shares, signed):
        share = shares * 1e-4 / 3
        return int(min(max((share + 1) / 2 if signed else share, 0), 1) * 20 + 0.5)

    def by_hand(self, page, anchor):
        """By keys alone: a slider, and the rows of a map; pointing finds a row, too."""
        place = page.locator(f".mechanism:has(#{anchor})")
        knob, rows = place.get_by_label("window", exact=True), place.get_by_role("slider").first
        knob.fill("6")
        knob.focus()
        page.keyboard.press("ArrowRight")
        rows.focus()
        page.keyboard.press("End")
        self.trial.check("a key widens the window, End goes to the last row",
                         place.locator(".weights-says").inner_text() == "Query 19 attends to 7 of 20 keys: weight 0.14 on 13, 0.14 on 14, 0.14 on 15, …",
                         place.locator(".weights-says").inner_text())
        page.keyboard.press("ArrowUp")
        self.trial.check("a row is told in words", rows.get_attribute("aria-valuetext").startswith("Query 18 attends to 7"),
                         rows.get_attribute("aria-valuetext"))
        rows.scroll_into_view_if_needed()
        box = rows.locator("svg").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * (26 + 2.5 * 15) / 328)
        self.trial.same("pointing reads a row", rows.get_attribute("aria-valuenow"), "2")

    def paint(self):
        """Lesson 07's masks: the lesson's own to begin with, then cells by keys and by the mouse; weights by the formula."""
        masks = dict(plays.masks(runs.Run(self.root / "lessons/website/runs/07_masks").picture("masks")))
        self.trial.same("five masks were drawn", list(masks), ["length 4", "causal", "both, by &", "window of 3", "prefix of 3"])
        self.trial.same("the window is one", masks["window of 3"], [[int(i - 3 < j <= i) for j in range(6)] for i in range(6)])
        context = self.context()
        page = self.open(context, "lessons/07_masks.html")
        place = page.locator("#play-07")

        def holds(what, mask):
            powers = [[m * math.exp(s) for m, s in zip(row, (1, 0, 3, 1, 0, 3))] for row in mask]
            expected = [p / (sum(row) or 1) for row in powers for p in row]
            came = [v for row in json.loads(place.get_attribute("data-weights")) for v in row]
            pressed = place.locator(".paint button").evaluate_all("all => all.map(b => Number(b.ariaPressed === 'true'))")
            self.trial.check(what, pressed == [m for row in mask for m in row] and max(abs(a - b) for a, b in zip(came, expected)) < 1e-9, came)

        for name, mask in masks.items():
            place.get_by_role("button", name=name, exact=True).click()
            holds(f"07: {name}", mask)
        mask = [row[:] for row in masks["prefix of 3"]]
        cell = lambda i, j: place.get_by_label(f"query {i + 1} may attend to key {j + 1}", exact=True)
        cell(0, 0).focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        mask[0][2] = 0
        holds("07: keys hide the third key", mask)
        self.trial.same("07: and the weights are those by hand", place.locator(".paint-says").inner_text(),
                        "Query 1 attends to keys 1, 2 with scores 1, 0: weights 0.731, 0.269.")
        place.locator(".paint").scroll_into_view_if_needed()
        for j in range(6):
            box = cell(5, j).bounding_box()
            page.mouse.move(box["x"] + 9, box["y"] + 9)
            if j == 0:
                page.mouse.down()
        page.mouse.up()
        mask[5] = [0] * 6
        holds("07: the mouse draws over a row", mask)
        self.trial.check("07: a row without a key is told", "all its weights are 0" in place.locator(".paint-says").inner_text())
        cell(3, 5).click()
        mask[3][5] = 1
        holds("07: a click lets a pair attend", mask)
        context.close()

    def series(self):
        """Every map of a series can be picked, and is the recorded one; a row that is lit says the new map's values."""
        context = self.context()
        for path in sorted((self.root / "lessons/website/runs").glob("*/data/*.json")):
            data = json.loads(path.read_text())
            if "maps" not in data:
                continue
            slug, choices = path.parent.parent.name, data["choices"]
            page = self.open(context, f"lessons/{slug}.html")
            page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
            place = page.locator(f"#series-{path.stem}")
            came = lambda: place.evaluate("s => [...s.querySelectorAll('figure:not([hidden]) td[data-v]')].map(c => Number(c.dataset.v))")
            combinations = [[]]
            for choice in choices:
                combinations = [c + [i] for c in combinations for i in range(len(choice["of"]))]
            slug += f", {path.stem}"
            self.trial.same(f"{slug}: a map for each combination", len(data["maps"]), len(combinations))
            self.trial.check(f"{slug}: it is said what to see", len(place.locator(".see").all()) == 1)
            first = [len(c["of"]) - 1 if c["grows"] else 0 for c in choices]
            self.trial.check(f"{slug}: begins at the end of training", came() == [v / 100 for v in data["maps"][combinations.index(first)]])
            shown = place.evaluate(PICK, [combinations, [choice["grows"] for choice in choices]])
            for picked, kept, values in zip(combinations, data["maps"], shown):
                self.trial.check(f"{slug}: {picked} shows the recorded map", values == [v / 100 for v in kept])
            grows = next(i for i, c in enumerate(choices) if c["grows"])
            shades = place.evaluate("s => [...s.querySelectorAll('figure:not([hidden]) td[data-v]')].map(c => c.className)")
            expected = [f"h{int(min(v / 100 / data['most'], 1) * 20 + 0.5)}" for v in data["maps"][-1]]
            off = sum(a != b for a, b in zip(shades, expected))
            self.trial.check(f"{slug}: its colours", len(shades) == len(expected) and off == 0, f"{off} of {len(expected)}")
            slider = place.locator("input[type=range]")
            self.trial.same(f"{slug}: the slider says the step", slider.get_attribute("aria-valuetext"),
                            f"{choices[grows]['name']} {choices[grows]['of'][-1]}")
            of, axes = series.axes(data)
            visible = place.locator("figure:visible")
            self.trial.same(f"{slug}: one table is shown", visible.count(), 1)
            for option, (rows, columns) in enumerate(axes if of is not None else []):
                place.locator("fieldset").nth(0).locator("input").nth(option).click()
                self.trial.same(f"{slug}: the names are those of option {option}", visible.locator("th").all_inner_texts(), columns + rows)
            heads = visible.locator("tbody th")
            heads.last.focus()
            slider.focus()
            slider.press("Home")
            shown = data["maps"][combinations.index([0 if i == grows else c for i, c in enumerate(combinations[-1])])]
            self.trial.check(f"{slug}: Home goes to the first step, and the row says it",
                             came() == [v / 100 for v in shown] and
                             f"{max(shown[-len(axes[-1][1]):]) / 100:.2f}" in visible.locator(".says").inner_text(),
                             visible.locator(".says").inner_text())
        context.close()
