"""The book in a browser: every page, and everything on it that answers. Run by "lessons/book --test"."""
import json
import math
import re
import statistics
import threading
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from press import plays, runs, serve
from press.pdf import BROWSER, FLAGS

NARROW, WIDE = 390, 1280
SCHEMES = ("light", "dark")


class Trial:
    """Counts what holds, and tells what does not."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, what, holds, found=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}" + (f": {found}" if found else ""), flush=True)

    def same(self, what, came, expected):
        self.check(what, came == expected, f"{came!r}, expected {expected!r}")


class Tester:
    def __init__(self, root, out, browser, origin, everything):
        self.root, self.out, self.browser, self.origin, self.everything = root, out, browser, origin, everything
        self.trial, self.axe = Trial(), Axe()

    def context(self, width=WIDE, scheme="light", **more):
        return self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                        reduced_motion="reduce", **more)

    def watched(self, context):
        page = context.new_page()
        page.set_default_timeout(20000)
        self.faults = []
        page.on("console", lambda m: self.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.faults.append(str(e)))
        page.on("request", lambda r: self.faults.append(f"asks for {r.url}") if not r.url.startswith(self.origin) else None)
        page.on("requestfailed", lambda r: self.faults.append(f"did not get {r.url}"))
        return page

    def go(self, page, href):
        self.faults.clear()
        page.goto(f"{self.origin}/{href}", wait_until="load")

    def open(self, context, href):
        page = self.watched(context)
        self.go(page, href)
        return page

    # ---- every page

    def pages(self):
        """All but the source pages, which are alike: of these some, or all with --all."""
        found = [path.relative_to(self.out).as_posix() for path in sorted(self.out.rglob("*.html"))]
        source = [href for href in found if href.startswith("source/")]
        shown = source if self.everything else source[:: max(1, len(source) // 4)]
        return [href for href in found if href not in source] + shown

    def every_page(self):
        """Each page once; what it is at another width and in the other scheme is looked at in the same page."""
        context = self.context(NARROW)
        page = self.watched(context)
        kept = self.root / "lessons/press/runs"
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

    def fits(self, page, href, width):
        room = page.evaluate("document.documentElement.scrollWidth")
        self.trial.check(f"{href} at {width}: nothing is wider than the page", room <= width, f"{room} pixels")

    def accessible(self, page, href, scheme):
        """Programs look alike: their colours are looked at on a few pages, or everywhere with --all."""
        few = self.everything or re.search(r"0[1-3]_|source/", href)
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
        self.trial.same(f"{run.name}: the answers of the run", sorted(map(str, right)), sorted(told))
        covered = "document.querySelectorAll('.after.covered').length"
        before = page.evaluate(covered)
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        after = page.evaluate(covered)
        self.trial.check(f"{run.name}: what follows a question is covered until then", (before > 0) == bool(asked) and after == 0,
                         f"{before} before, {after} after")

    def heatmap(self, page, path):
        """Its values are the recorded ones; where it has words a row says its largest."""
        data, what = json.loads(path.read_text()), f"{path.parent.name}/{path.stem}"
        values = page.evaluate("name => [...document.getElementById(name).querySelectorAll('td[data-v]')].map(c => Number(c.dataset.v))",
                               f"figure-{path.stem}")
        self.trial.check(f"{what}: the recorded values", values == [v for row in data["values"] for v in row if v is not None])
        says = page.evaluate("""name => {
          const figure = document.getElementById(name), heads = figure.querySelectorAll("tbody th");
          if (!figure.querySelector(".sentence")) return null;
          heads[heads.length - 1].focus();
          return figure.querySelector(".says").textContent; }""", f"figure-{path.stem}")
        if says is not None:
            most = max((v for v in data["values"][-1] if v is not None), key=abs)
            first = re.search(r" (−?[\d.]+)(?:,|$)", says[len(data["rows"][-1].strip()) + 1:])
            self.trial.check(f"{what}: a row says its largest value",
                             first and abs(float(first.group(1).replace("−", "-")) - most) < 0.00501, f"{says} ({most})")

    # ---- what answers

    def search(self):
        context = self.context()
        page = self.open(context, "index.html")
        page.keyboard.press("/")
        self.trial.same("/ leads to the search", page.evaluate("document.activeElement.id"), "search")
        wanted = {"rotation": "lessons/06", "cotangent": "guide/glossary", "top-p": "lessons/20", "leave one out": "lessons/05",
                  "Nadaraya": "lessons/05", "beam search": "lessons/15", "valgrind": "guide/", "1.1 backward": "lessons/01"}
        for words, place in wanted.items():
            page.fill("#search", words)
            page.wait_for_selector("#found [data-href]")
            found = [item.get_attribute("data-href") for item in page.query_selector_all("#found [data-href]")[:3]]
            self.trial.check(f"\"{words}\" finds {place}", any(href.startswith(place) for href in found), found)
        page.fill("#search", "xyzzy")
        self.trial.check("nothing is found for xyzzy", "Nothing found" in page.inner_text("#found"))
        page.fill("#search", "bottleneck")
        page.keyboard.press("ArrowDown")
        chosen = page.get_attribute("#found [aria-selected=true]", "data-href")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{chosen}")
        self.trial.check("Enter goes to what was chosen", page.url.endswith(chosen), page.url)
        context.close()

    def questions(self):
        """One is answered wrongly, and stays so."""
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        first = page.locator(".question").first
        first.locator("[data-letter=a]").click()
        self.trial.same("a wrong answer is told", first.locator(".verdict").inner_text(), "You said a; it is b.")
        self.trial.check("with its reason", "Asking and offering are not the same" in first.locator(".why").inner_text())
        self.trial.same("right and said are marked", (first.locator(".right").get_attribute("data-letter"),
                                                      first.locator(".said").get_attribute("data-letter")), ("b", "a"))
        page.reload()
        self.trial.same("the answer is kept", page.locator(".question").first.get_attribute("data-said"), "a")
        first.locator("[data-letter=b]").focus()
        page.keyboard.press("Enter")
        self.trial.same("the keyboard answers", first.locator(".verdict").inner_text(), "b, as you said.")
        context.close()

    def heatmaps(self):
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        figure = page.locator("#figure-je_t_aime")
        figure.locator("tbody th").first.focus()
        page.keyboard.press("ArrowDown")
        self.trial.check("an arrow key goes to the next word", figure.locator(".says").inner_text().startswith("t': you 0.88"),
                         figure.locator(".says").inner_text())
        shades = figure.locator(".sentence span").evaluate_all("all => all.map(w => w.className)")
        self.trial.check("its words are shaded by the row", len(set(shades)) > 1 and shades[2] == "h18", shades)
        figure.locator("tbody tr").nth(2).locator("td").first.hover()
        self.trial.check("so does pointing", figure.locator(".says").inner_text().startswith("aime: love 0.95"))
        context.close()

    def loom(self):
        """Lesson 05's picture gives Nadaraya and Watson's answer for the recorded points."""
        context = self.context()
        points = plays.points(runs.Run(self.root / "lessons/press/runs/05_pooling").picture("fit"))
        self.trial.same("fifty measured points", len(points), 50)

        def answer(query, sigma):
            weights = [math.exp(-((query - k) ** 2) / (2 * sigma**2)) for k, _ in points]
            return sum(w * v for w, (_, v) in zip(weights, points)) / sum(weights)

        for href, start in (("index.html", 0.3), ("lessons/05_pooling.html", 0.28)):
            page = self.open(context, href)
            place, loom = page.locator("[data-play=loom]"), page.locator(".loom")
            came = lambda: float(place.get_attribute("data-answer"))
            self.trial.check(f"{href}: the first answer", abs(came() - answer(2, start)) < 1e-4, came())
            loom.focus()
            page.keyboard.press("ArrowRight")
            self.trial.check(f"{href}: an arrow key moves the question", abs(came() - answer(2.1, start)) < 1e-4, came())
            page.keyboard.press("End")
            self.trial.check(f"{href}: End asks at 5", abs(came() - answer(5, start)) < 1e-4, came())
            page.locator(".sigma").fill("100")
            self.trial.check(f"{href}: σ = 1", abs(came() - answer(5, 1)) < 1e-4, came())
            box = loom.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.trial.check(f"{href}: pointing asks in the middle", abs(came() - answer(2.5, 1)) < 0.02, came())
            self.trial.check(f"{href}: it is told in words", "the answer is" in loom.get_attribute("aria-valuetext"))
        context.close()

    def other_plays(self):
        context = self.context()
        page = self.open(context, "lessons/01_tape.html")
        step = page.locator("#play-01 input[type=range]")
        step.fill("16")
        gradients = json.loads(page.get_attribute("#play-01", "data-gradients"))
        self.trial.same("01: after all steps the gradients of the run", gradients, [12, 8, 4, -4, 4, 4, 4, 1])
        step.fill("10")
        self.trial.check("01: line 6 hands on its two shares", "4·1 to line 5" in page.inner_text(".tape-says"), page.inner_text(".tape-says"))
        page.get_by_role("button", name="On", exact=True).click()
        self.trial.same("01: On goes on", step.input_value(), "11")

        page = self.open(context, "lessons/06_queries_keys_values.html")
        weights = lambda: json.loads(page.get_attribute("#play-06", "data-weights"))
        self.trial.check("06: the lesson's own weights", [round(w, 3) for w in weights()] == [0.804, 0.196], weights())
        sliders = page.locator("#play-06 input[type=range]")
        sliders.nth(1).fill("3")
        expected = 1 / (1 + math.exp((3 - 2) / math.sqrt(2)))
        self.trial.check("06: a slider turns the query", abs(weights()[0] - expected) < 1e-9, weights())
        handle = page.locator("#play-06 circle.asks").first
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.mouse.up()
        self.trial.check("06: dragging turns it", sliders.nth(1).input_value() != "3", sliders.nth(1).input_value())

        page = self.open(context, "lessons/08_scale.html")
        norms = lambda: json.loads(page.get_attribute("#play-08", "data-norms"))
        page.locator("#play-08 input[type=range]").fill("6")
        drawn = [norms()]
        for _ in range(120):
            page.locator("#play-08 button").evaluate("button => button.click()")
            drawn.append(norms())
        measured = plays.medians((self.root / "lessons/press/runs/08_scale/output.txt").read_text())["64"]
        for i, name in enumerate(("without √d", "with √d")):
            middle = statistics.median(sizes[i] for sizes in drawn)
            self.trial.check(f"08: the median of ‖J‖ {name} is about the run's", measured[i] / 1.8 < middle < 1.8 * measured[i],
                             f"{middle}, the run has {measured[i]}")
        self.trial.check("08: it says the run's medians", "medians of 0.078 and 0.347" in page.inner_text(".width-says"), page.inner_text(".width-says"))
        context.close()

    def keyboard(self):
        context = self.context()
        page = self.open(context, "lessons/02_gradcheck.html")
        page.keyboard.press("Tab")
        self.trial.same("the first stop leads to the text", page.evaluate("document.activeElement.className"), "skip")
        fold = page.locator("details.fold").first
        fold.locator("summary").focus()
        page.keyboard.press("Enter")
        self.trial.check("a fold opens by the keyboard", fold.evaluate("d => d.open"))
        ground = lambda: page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        before = ground()
        page.click("#scheme")
        self.trial.check("the scheme changes", ground() != before)
        page.reload()
        self.trial.check("and stays", ground() != before)
        page = self.open(context, "index.html")
        page.focus('li[data-number="11"] a')
        lit = page.eval_on_selector_all(".map-of-course li.lit", "all => all.map(i => i.dataset.number)")
        self.trial.same("the map shows what lesson 11 needs", lit, ["06", "07", "09", "10"])
        arcs = page.eval_on_selector_all(".arcs path.lit", "all => all.filter(a => a.dataset.to === '11').length")
        self.trial.same("with a thread from each", arcs, 4)
        context.close()

    def without_scripts(self):
        context = self.context(java_script_enabled=False)
        page = self.open(context, "lessons/06_queries_keys_values.html")
        self.trial.check("without scripts nothing is covered", page.locator("#figure-matrices").is_visible())
        self.trial.check("and no button is dead", not page.locator(".open button").first.is_visible() and not page.locator(".play").first.is_visible())
        context.close()

    def from_a_file(self):
        context = self.context()
        page = context.new_page()
        errors = []
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.goto((self.out / "lessons/05_pooling.html").as_uri())
        page.focus("#search")
        page.fill("#search", "cotangent")
        page.wait_for_selector("#found [data-href]", timeout=5000)
        self.trial.check("it opens from a folder, with its type and search", not errors, errors)
        self.trial.check("the type is loaded", page.evaluate("document.fonts.check('16px Pagella')"))
        context.close()


def run(root, out, rest):
    server = serve.server(out)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=BROWSER, args=FLAGS)
        tester = Tester(root, out, browser, f"http://127.0.0.1:{server.server_port}", "--all" in rest)
        for part in (tester.search, tester.questions, tester.heatmaps, tester.loom, tester.other_plays, tester.keyboard,
                     tester.without_scripts, tester.from_a_file, tester.every_page):
            started = time.monotonic()
            try:
                part()
            except Exception as error:  # noqa: BLE001  (the other parts still say what they find)
                tester.trial.check(part.__name__, False, str(error).split("\n")[0])
            print(f"{part.__name__.replace('_', ' ')}: {time.monotonic() - started:.0f} s", flush=True)
        browser.close()
    server.shutdown()
    print(f"{tester.trial.passed} passed, {tester.trial.failed} failed")
    return 1 if tester.trial.failed else 0
