"""Pictures made of what lesson 03 wrote for them: what they show, beside the same formulas in Python."""
import json
import math
import re

from press import runs

from book.tester import Tester


class Recorded(Tester):
    def kept(self, slug, name):
        return runs.Run(self.root / "lessons/press/runs" / slug).data(name)

    def opened(self, context, slug):
        """(page, the picture's frame): what a question covers is uncovered first."""
        page = self.open(context, f"lessons/{slug}.html")
        place = page.locator(f"#play-{slug[:2]}")
        self.trial.check(f"{slug}: its question covers the picture", not place.is_visible())
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        self.trial.check(f"{slug}: the picture is shown", place.is_visible())
        return page, place

    # ---- 03

    def border(self):
        """The line that is drawn passes where the recorded log-odds change their sign, for each optimiser and step."""
        data = self.kept("03_training", "border_over_training")
        trained = data["optimisers"]
        self.trial.same("03: three optimisers", [one["name"] for one in trained], ["SGD", "momentum", "Adam"])
        table = dict(re.findall(r"^  (\w+) +([\d.]+) % +\d", runs.Run(self.root / "lessons/press/runs/03_training").text, re.M))
        sure = [next(i for i, right in enumerate(one["right"]) if right > 99) for one in trained]
        self.trial.check("03: Adam is first, then momentum", sure == sorted(sure, reverse=True) and len(set(sure)) == 3, sure)
        context = self.context()
        page, place = self.opened(context, "03_training")
        slider = place.get_by_label("Step", exact=True)
        for which, one in enumerate(trained):
            place.locator("input[type=radio]").nth(which).check()
            for at, step in enumerate(one["steps"]):
                slider.fill(str(at))
                ends = re.findall(r"[ML]([\d.]+) ([\d.]+)", place.locator("path.line").get_attribute("d"))
                came = [(float(x), float(y)) for x, y in ends]
                expected = crossings(one["log_odds"][at], data["side"])
                off = max(min(math.dist(end, other) for other in expected) for end in came)
                self.trial.check(f"03: {one['name']}, step {step}: the border", len(came) == len(expected) and off < 0.08,
                                 f"{len(came)} ends, {len(expected)} crossings, {off} apart")
                share = share_right(data, one["log_odds"][at])
                self.trial.check(f"03: {one['name']}, step {step}: the training points lie as the held-out ones do",
                                 abs(share - one["right"][at]) < 5, f"{share} % are right, {one['right'][at]} %")
                says = place.locator(".border-says").inner_text()
                told = re.match(rf"{one['name']}, step {step}: ([\d.]+) % of the held-out points are on the right side", says)
                self.trial.check(f"03: {one['name']}, step {step}: is told", told and abs(float(told[1]) - one["right"][at]) < 0.051, says)
            self.trial.same(f"03: {one['name']} ends as the run did", f"{one['right'][-1]:.1f}", table[one["name"]])
        slider.focus()
        page.keyboard.press("Home")
        self.trial.same("03: Home goes to the first step", slider.get_attribute("aria-valuetext"), f"step {trained[0]['steps'][0]}")
        context.close()


def crossings(values, side):
    """Where the sign changes along the edges of all cells, in the picture's units: an inner edge is two cells'."""
    at = lambda c, r: (400 * c / (side - 1), 400 - 400 * r / (side - 1))
    found = []
    for r in range(side):
        for c in range(side):
            for ec, er, inner in ((c + 1, r, 0 < r < side - 1), (c, r + 1, 0 < c < side - 1)):
                if max(ec, er) == side:
                    continue
                a, b = values[r * side + c], values[er * side + ec]
                if (a < 0) != (b < 0):
                    found += [at(c + a / (a - b) * (ec - c), r + a / (a - b) * (er - r))] * (2 if inner else 1)
    return found


def share_right(data, values):
    """Per cent of the points on their side of the border, between places of the grid by bilinear interpolation."""
    side, right, count = data["side"], 0, 0
    for label, xy in enumerate(data["points"]):
        for x, y in zip(xy[::2], xy[1::2]):
            c, r = ((v / 100 - data["least"]) / (data["most"] - data["least"]) * (side - 1) for v in (x, y))
            i, j, u, v = int(r), int(c), r % 1, c % 1
            at = [values[(i + a) * side + j + b] for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
            z = (1 - u) * ((1 - v) * at[0] + v * at[1]) + u * ((1 - v) * at[2] + v * at[3])
            right += (z > 0) == bool(label)
            count += 1
    return 100 * right / count
