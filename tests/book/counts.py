"""Pictures that show what lessons 10, 12 and 19 counted, and 17's hands, beside the recorded runs."""
import json
import math
import re

from website import runs

from book.tester import Tester


class Counts(Tester):
    def recorded(self, slug):
        return runs.Run(self.root / "lessons/website/runs" / slug)

    def shown(self, context, slug):
        """(the page, its play): what questions cover is open."""
        page = self.open(context, f"lessons/{slug}.html")
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        return page, page.locator(f"#play-{slug[:2]}")

    @staticmethod
    def numbers(place, name="counted"):
        return json.loads(place.get_attribute(f"data-{name}"))

    @staticmethod
    def widths(place, table=0):
        """Shares of their tracks that the bars of a table have, in percent."""
        return place.locator(".bars").nth(table).locator(".track").evaluate_all(
            "all => all.map(track => 100 * track.firstChild.getBoundingClientRect().width / track.clientWidth)")

    def lengths(self):
        """The bars at 8, 16 and 24 letters are what the table of the run says; keys move the length."""
        run, context = self.recorded("10_bottleneck"), self.context()
        table = [[float(v) for v in row] for row in
                 re.findall(r"^ +\d+ +\d+ +[\d.]+ +([\d.]+) % +([\d.]+) +([\d.]+)$", run.text, re.M)]
        self.trial.same("10: four codes", len(table), 4)
        page, place = self.shown(context, "10_bottleneck")
        slider = place.locator("input[type=range]")
        for i, length in enumerate((8, 16, 24)):
            slider.fill(str(length))
            whole, letters = self.numbers(place)
            self.trial.check(f"10: {length} letters", all(abs(a - row[i]) < 0.2 for a, row in zip(whole, table)), whole)
            self.trial.check(f"10: the bars at {length}", all(abs(a - row[i]) < 1.5 for a, row in zip(self.widths(place), table)), self.widths(place))
            if length == 16:
                told = [float(v) for v in re.findall(r"letters right when \w+, length 16 +([\d.]+) %", run.text)]
                self.trial.check("10: letters right at 16, forced and free", max(abs(a - b) for a, b in zip(letters, told)) < 0.2, letters)
        slider.fill("4")
        slider.press("ArrowRight")
        self.trial.check("10: a key makes it longer, and it says what comes back", place.locator(".bars-says").inner_text().startswith("5 letters: with every code"),
                         place.locator(".bars-says").inner_text())
        context.close()

    def score_maps(self):
        """A score's own map is shown, and no other; symbols right are those of the table."""
        run, context = self.recorded("12_luong"), self.context()
        part = run.text[run.text.index("5. The table"):]
        table = dict((name, [float(v) for v in row.split()]) for name, row in
                     re.findall(r"^  (\S.*?)  .*?\d +([\d.]+ +[\d.]+ +[\d.]+) +[\d.]+ +[\d.]+ +[\d.]+$", part, re.M))
        page, place = self.shown(context, "12_luong")
        names = place.locator(".choice label").all_inner_texts()
        self.trial.same("12: every score of the table", [name.strip() for name in names], list(table))
        slider = place.locator("input[type=range]")
        for i, name in enumerate(table):
            place.locator(".choice input").nth(i).check()
            file = name.replace(" ", "_")
            visible = place.locator("figure.map:visible").evaluate_all("all => all.map(f => f.id)")
            self.trial.same(f"12: {name} shows its map", visible, [f"figure-{file}"])
            values = place.locator(f"#figure-{file} td[data-v]").evaluate_all("all => all.map(c => Number(c.dataset.v))")
            self.trial.same(f"12: {name}'s recorded values", values, [v for row in run.picture(file)["values"] for v in row])
            for pairs, told in zip((4, 8, 16), table[name]):
                slider.fill(str(pairs))
                self.trial.check(f"12: {name}, {pairs} pairs", abs(self.numbers(place)[i] - told) < 0.2 and abs(self.widths(place)[i] - told) < 1.5,
                                 f"{self.numbers(place)[i]}, the run has {told}")
        self.trial.same("12: its bar is lit", place.locator(".bars .lit th").all_inner_texts(), [list(table)[-1]])
        context.close()

    def rotary_clocks(self):
        """Sines are the recorded ones; products are those of the formula, above 0, and depend on the distance alone."""
        sines, context = self.recorded("17_positions").picture("sinusoids")["values"], self.context()
        page, place = self.shown(context, "17_positions")
        here, other = place.get_by_label("Place", exact=True), place.get_by_label("Compared with", exact=True)
        cosine = lambda apart: sum(math.cos(apart * 10000 ** (-i / 16)) for i in range(16))
        for p in range(32):
            here.fill(str(p))
            far = max(abs(a - b) for a, b in zip(self.numbers(place, "sines"), sines[p]))
            self.trial.check(f"17: place {p} has the recorded sines", far < 0.01, far)
            products = self.numbers(place, "products")
            self.trial.check(f"17: place {p}'s products", len(products) == 32 and min(products) > 0 and
                             all(abs(v - cosine(p - q)) < 1e-9 for q, v in enumerate(products)), products)
        here.fill("4")
        other.fill("9")
        other.press("ArrowRight")
        self.trial.same("17: a key moves what it is compared with", place.locator(".bars-says").inner_text(),
                        f"PE[4] · PE[10] = {cosine(6):.2f}, where 16 is the maximum. All places that are 6 apart have this product.")
        chart = place.locator(".products svg")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 20.5 / 32, box["y"] + 20)
        self.trial.same("17: so does pointing", other.input_value(), "20")
        ends = place.locator(".clocks .hand").evaluate_all("all => all.map(l => l.getAttribute('y1') - l.getAttribute('y2'))")
        self.trial.check("17: a hand ends at its sine", all(abs(end / 28 - sine) < 0.01 for end, sine in zip(ends, sines[4])), ends)
        context.close()

    def block_recipes(self):
        """Each recipe, with two blocks and with eight, has the map's shares and the table's loss; gradients are the run's."""
        run, context = self.recorded("19_block"), self.context()
        drawn = run.picture("parts")
        page, place = self.shown(context, "19_block")
        groups = place.locator("fieldset")
        self.trial.same("19: all recipes", [t.strip() for t in groups.nth(1).locator("label").all_inner_texts()], drawn["rows"])
        for r, name in enumerate(drawn["rows"]):
            groups.nth(1).locator("input").nth(r).check()
            for deep, columns in enumerate((slice(0, 3), slice(4, 7))):
                groups.nth(0).locator("input").nth(deep).check()
                loss, *shares = self.numbers(place)
                kept = [100 * v for v in drawn["values"][r][columns]]
                self.trial.check(f"19: {name}, {('two', 'eight')[deep]} blocks", max(abs(a - b) for a, b in zip(shares, kept)) < 0.6 and
                                 max(abs(a - b) for a, b in zip(self.widths(place), shares)) < 1.5, f"{shares}, the map has {kept}")
                self.trial.check(f"19: {name}'s loss", re.search(rf"^  {re.escape(name)} +{loss:.3f} +{shares[0]:.1f} ", run.text, re.M), loss)
        groups.nth(1).get_by_label("whole, no residual").check()
        self.trial.same("19: its line is lit", place.locator(".fading text.lit").all_text_contents(), ["no residual"])
        self.trial.check("19: and the sentence states its gradients", "a gradient of 0.13, the last block 1.1e−17" in place.locator(".bars-says").inner_text(),
                         place.locator(".bars-says").inner_text())
        heights = place.locator(".fading path.lit").get_attribute("d")
        powers = [6 - (float(y) - 10) * 24 / 200 for y in re.findall(r" (-?[\d.]+)", heights)]
        kept = [float(v) for v in re.search(r"no residual: gradient +(.+)", run.text).group(1).split()]
        self.trial.check("19: the line stands at the gradients' powers of ten", max(abs(p - math.log10(v)) for p, v in zip(powers, kept)) < 1e-6, powers)
        context.close()
