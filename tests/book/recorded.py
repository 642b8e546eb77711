"""Pictures made of what lessons 02, 03, 13 and 25 wrote for them: what they show, beside the same formulas in Python."""
import json
import math
import re
from decimal import Decimal, getcontext

from website import runs

from book.tester import Tester

getcontext().prec = 60


class Recorded(Tester):
    def kept(self, slug, name):
        return runs.Run(self.root / "lessons/website/runs" / slug).data(name)

    def opened(self, context, slug):
        """(page, the picture's frame): what a question covers is uncovered first."""
        page = self.open(context, f"lessons/{slug}.html")
        place = page.locator(f"#play-{slug[:2]}")
        self.trial.check(f"{slug}: its question covers the picture", not place.is_visible())
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        self.trial.check(f"{slug}: the picture is shown", place.is_visible())
        return page, place

    # ---- 02

    def vcurve(self):
        """Each recorded error is truncation and rounding, and truncation is that of the real numbers."""
        curves = self.kept("02_gradcheck", "error_parts")["curves"]
        context = self.context()
        page, place = self.opened(context, "02_gradcheck")
        shown = lambda: json.loads(place.get_attribute("data-shown"))
        slider = place.get_by_label("ε", exact=True)
        for which, curve in enumerate(curves):
            place.locator("input[type=radio]").nth(which).check()
            rows = curve["rows"]
            for at, row in enumerate(rows):
                off = row[2] / float(truncation(Decimal(10) ** Decimal(-13 + at / 4), "central" in curve["name"])) - 1
                self.trial.check(f"02: {curve['name']}, ε = {row[0]}: truncation", abs(off) < 1e-3, off)
                self.trial.check(f"02: {curve['name']}, ε = {row[0]}: the parts make the error",
                                 abs(row[2] + row[3] - row[1]) <= 2e-3 * max(map(abs, row[1:])), row)
            best = min((abs(row[1]), at) for at, row in enumerate(rows) if row[1])[1]
            sides = [abs(row[2]) > abs(row[3]) for row in rows]
            self.trial.check(f"02: {curve['name']}: rounding left of the lowest point, truncation right of it",
                             not any(sides[:best - 3]) and all(sides[best + 3:]), sides)
            for at in (0, 17, len(rows) - 1):
                slider.fill(str(at))
                self.trial.same(f"02: {curve['name']}, row {at} is shown", shown(), rows[at])
                self.trial.check("02: and what it mostly is", f"mostly {'truncation' if sides[at] else 'rounding'}." in
                                 place.locator(".vcurve-says").inner_text(), place.locator(".vcurve-says").inner_text())
        slider.focus()
        page.keyboard.press("ArrowLeft")
        self.trial.same("02: a key goes to the next ε", shown(), curves[2]["rows"][-2])
        svg = place.locator("svg")
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 64 / 560, box["y"] + box["height"] / 2)
        self.trial.same("02: a click goes to the ε there", shown()[0], 1e-13)
        context.close()

    # ---- 03

    def border(self):
        """The line that is drawn passes where the recorded log-odds change their sign, for each optimiser and step."""
        data = self.kept("03_training", "border_over_training")
        trained = data["optimisers"]
        self.trial.same("03: three optimisers", [one["name"] for one in trained], ["SGD", "momentum", "Adam"])
        table = dict(re.findall(r"^  (\w+) +([\d.]+) % +\d", runs.Run(self.root / "lessons/website/runs/03_training").text, re.M))
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

    # ---- 13

    def window(self):
        """As in the run the weights are the run's; elsewhere those of the lesson's weights_near()."""
        texts = [self.kept("13_local", name) for name in ("window_local_m", "window_local_p")]
        context = self.context()
        page, place = self.opened(context, "13_local")
        came = lambda: json.loads(place.get_attribute("data-weights"))
        apart = lambda expected: max(abs(a - b) for a, b in zip(came(), expected)) if len(came()) == len(expected) else 9
        by = lambda name: place.get_by_label(name, exact=True)
        for which, text in enumerate(texts):
            place.locator("input[type=radio]").nth(which).check()
            for t, weights in enumerate(text["weights"]):
                by("Answer t").fill(str(t))
                self.trial.check(f"13: {text['name']}, answer {t}: the run's weights", apart(weights) < 2e-4, came())
            for p, reach in ((2, 1), (3.5, 2), (0, 3), (5.2, 5), (4.95, 4)):
                by("p_t").fill(str(p))
                by("D").fill(str(reach))
                self.trial.check(f"13: {text['name']}, p = {p}, D = {reach}",
                                 apart(weights_near(text["scores"][-1], p, reach, text["fades"])) < 1e-9, came())
            place.get_by_role("button", name="Reset to the run").click()
            self.trial.check("13: and back to the run", apart(text["weights"][-1]) < 2e-4, came())
        self.trial.check("13: local-p's weights add up to less than 1", all(sum(row) < 0.95 for row in texts[1]["weights"]))
        by("p_t").focus()
        page.keyboard.press("Home")
        self.trial.check("13: Home moves the window to key 0", "p = 0.00" in place.locator(".window-says").inner_text())
        svg = place.locator("svg")
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.trial.check("13: a click moves it to the middle", "p = 7.5" in place.locator(".window-says").inner_text(),
                         place.locator(".window-says").inner_text())
        context.close()

    # ---- 25

    def tiles(self):
        """Order and skipped tiles are those that the kernel gave, and so is each query's log-sum-exp; on the way there
        top and sum are those of the scores seen so far."""
        data = self.kept("25_tiled", "visits")
        context = self.context()
        page, place = self.opened(context, "25_tiled")
        by = lambda name: place.get_by_label(name, exact=True)
        got = lambda name: json.loads(place.get_attribute(f"data-{name}"))

        def turn(queries, keys, causal):
            by("Queries").fill(str(queries))
            by("Keys").fill(str(keys))
            by("causal" if causal else "none").check()

        for run in data["runs"]:
            turn(run["queries"], run["keys"], run["causal"])
            what = f"25: {run['queries']} queries, {run['keys']} keys{', causal' if run['causal'] else ''}"
            self.trial.same(f"{what}: the kernel's order", got("visits"), run["order"])
            all_ = math.ceil(run["queries"] / data["query_tile"]) * math.ceil(run["keys"] / data["key_tile"])
            self.trial.same(f"{what}: the others are skipped", got("skipped"), all_ - len(run["order"]))
            by("Tiles done").fill(str(len(run["order"])))
            off = max(abs(a - b / 1000) for a, b in zip(got("logs"), run["log_sum_exp"]))
            self.trial.check(f"{what}: the kernel's log-sum-exp", len(got("logs")) == run["queries"] and off < 6e-4, off)
        self.trial.check("25: a causal mask leaves 16 of 28 tiles of 300 words, as the run says",
                         [len(run["order"]) for run in data["runs"][2:4]] == [28, 16])

        turn(300, 480, True)
        by("Queries in a tile").fill("36")
        by("Keys in a tile").fill("60")
        by("A query to follow").fill("100")
        order = got("visits")
        for step in range(len(order) + 1):
            by("Tiles done").fill(str(step))
            seen = [score(data, 100, j) for query, key in order[:step] if query <= 100 < query + 36
                    for j in range(key, min(key + 60, 480)) if j <= 100 + 180]
            top, total = got("query") if seen else [None, 0]
            expected = (max(seen), sum(math.exp(s - max(seen)) for s in seen)) if seen else (None, 0)
            self.trial.check(f"25: after {step} tiles: top and sum", top == expected[0] or abs(top - expected[0]) < 1e-9 and
                             abs(total / expected[1] - 1) < 1e-9, f"{top}, {total}: {expected}")
        self.trial.same("25: in the end it has seen all that it may", len(seen), 281)
        turn(300, 120, True)
        self.trial.same("25: with fewer keys than queries the first queries see nothing",
                        sum(query + 36 <= 180 for query, _ in got("visits")), 0)
        by("Tiles done").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Next", exact=True).click()
        self.trial.same("25: keys and a button go on", by("Tiles done").input_value(), "2")
        self.trial.check("25: nothing moves by itself where it is not wanted", not place.get_by_role("button", name="Play").is_visible())
        context.close()
        self.plays_by_itself()

    def plays_by_itself(self):
        context = self.browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="no-preference")
        page, place = self.opened(context, "25_tiled")
        for name, most in (("Queries", "96"), ("Keys", "192")):
            place.get_by_label(name, exact=True).fill(most)
        place.get_by_role("button", name="Play").click()
        place.get_by_role("button", name="Stop").wait_for()
        place.get_by_role("button", name="Play").wait_for()
        done = place.get_by_label("Tiles done", exact=True)
        self.trial.check("25: Play goes to the last tile, and ends", done.input_value() == done.get_attribute("max"), done.input_value())
        context.close()


def truncation(epsilon, central, x=Decimal("0.7")):
    """What a difference of tanh is off by in numbers of 60 digits."""
    tanh = lambda at: 1 - 2 / ((2 * at).exp() + 1)
    found = (tanh(x + epsilon) - (tanh(x - epsilon) if central else tanh(x))) / (2 * epsilon if central else epsilon)
    return found - (1 - tanh(x) ** 2)


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


def weights_near(scores, p, reach, fades):
    inside = [math.exp(s) if abs(j - p) <= reach else 0 for j, s in enumerate(scores)]
    return [w / sum(inside) * (math.exp(-2 * (j - p) ** 2 / reach**2) if fades else 1) for j, w in enumerate(inside)]


def score(data, i, j):
    width = data["width"]
    return sum(data["q"][i * width + c] * data["k"][j * width + c] for c in range(width)) * 1e-4 / math.sqrt(width)
