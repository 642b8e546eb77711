"""Lessons that run in their pages: the page's part with a stand-in for the module, and each lesson to its targets."""
import os
import time

from website.live import listed

from book.stand_ins import NAME
from book.tester import Tester

ENDS = ("met", "missed", "failed", "stopped")
PATIENCE = 40 * 60     # seconds that the lessons have together
ENOUGH = 15


class LiveLessons(Tester):
    numbers = ()  # of the lessons to run; all

    def modules(self):
        """{slug: whether it is a stand-in} of those that the book has."""
        return {path.parent.name: NAME in path.read_text() for path in sorted((self.out / "live").glob("*/lesson.js"))}

    def start(self, page, seed=None):
        here = page.locator("#here")
        if seed is not None:
            here.locator("[name=seed]").fill(str(seed))
        here.locator(".go").click()
        return here

    def end(self, page, seconds=60):
        page.wait_for_selector(", ".join(f"#here[data-state={name}]" for name in ENDS), timeout=seconds * 1000)
        return page.get_attribute("#here", "data-state")

    # ---- the page, with a stand-in

    def live_page(self):
        if not self.modules().get("05_pooling"):
            print("the page's live part was left out: the book has no stand-in for a module")
            return
        href = "lessons/05_pooling.html"
        context = self.context()
        page = self.open(context, href)
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        self.trial.check("its policy allows WebAssembly and nothing else more", policy.count("unsafe") == 1 and "'wasm-unsafe-eval'" in policy, policy)
        self.trial.check("nothing is loaded before one asks", not page.evaluate("performance.getEntriesByType('resource').some(e => /live\\/|worker|mjs/.test(e.name))"))
        self.runs_to_its_end(page)
        self.trial.check("no error, no request elsewhere", not self.faults, self.faults[:3])
        self.goes_wrong(page)
        self.stops(page)
        self.looks(page, href)
        context.close()
        self.never_answers(href)
        self.no_module(href)

    def runs_to_its_end(self, page):
        here = self.start(page, 1)
        self.trial.same("it reaches its targets", self.end(page), "met")
        says = here.locator(".outcome").inner_text()
        self.trial.check("it says so, and in what time", "All 2 targets are met, after 0." in says, says)
        judged = here.locator(".judged").inner_text()
        self.trial.check("each against its target", "answers right: 99.5 %, target ≥ 99 %: met" in judged and "by the way" not in judged, judged)
        self.trial.check("it says that more follows", "the output after each of 2 questions" in says, says)
        told = here.locator(".told")
        self.trial.check("the answer waits for the question", not told.get_by_text("what came").is_visible())
        first, second = told.locator(".question").nth(0), told.locator(".question").nth(1)
        first.locator("[data-letter=a]").focus()
        page.keyboard.press("Enter")
        self.trial.same("a key answers", first.locator(".verdict").inner_text(), "You chose a; the answer is b.")
        self.trial.check("two questions wait together", not told.get_by_text("what came").is_visible())
        second.locator("[data-letter=a]").click()
        self.trial.same("a right answer", second.locator(".verdict").inner_text(), "a is right.")
        self.trial.check("then the rest is shown", told.get_by_text("what came").is_visible())
        said = [page.get_attribute(f"#question-{i}", "data-said") for i in (1, 2, 3)]
        self.trial.same("the page's own questions are answered with them", said, ["a", "a", None])
        self.trial.same("a picture takes the place of its drawing in characters", (told.locator("figure svg").count(), told.get_by_text("/\\/").count()), (1, 0))
        self.trial.same("sections are headings", told.locator("h3").all_inner_texts(), ["Questions", "Training"])
        live = page.evaluate("[...document.querySelectorAll('#here [aria-live], #here [role=status]')].some(e => e.contains(document.querySelector('.told h3')))")
        self.trial.check("a screen reader is not read every line", not live)

    def goes_wrong(self, page):
        here = self.start(page, 2)
        self.trial.same("a missed target", self.end(page), "missed")
        says = here.locator(".outcome").inner_text()
        self.trial.check("is told", "1 of 2 targets is missed" in says and "answers right: 41 %, target ≥ 99 %: missed" in here.locator(".judged").inner_text(), says)
        here = self.start(page, 4)
        self.trial.same("a program that dies", self.end(page), "failed")
        self.trial.check("is told in a sentence", "stopped with an error: unreachable" in here.locator(".state").inner_text())
        here.locator("[name=steps]").fill("7")
        self.start(page, 1)
        self.trial.same("an option that the lesson refuses", self.end(page), "failed")
        self.trial.check("is told in its words", "is not a whole number" in here.locator(".state").inner_text())
        here.locator("[name=steps]").fill("0")
        self.start(page, 1)
        self.trial.check("one out of its range starts nothing", "Training steps: enter a number from 1 to" in here.locator(".state").inner_text())
        here.locator("[name=steps]").fill("300")

    def stops(self, page):
        here = self.start(page, 5)
        page.wait_for_selector("#here progress[value]")
        self.trial.check("it says how far it is", " of 50, loss " in here.locator(".numbers").inner_text(), here.locator(".numbers").inner_text())
        self.trial.same("the keyboard is on Stop", page.evaluate("document.activeElement.className"), "stop")
        page.keyboard.press("Enter")
        self.trial.same("Stop stops", self.end(page), "stopped")
        before = here.locator(".told").inner_text()
        page.wait_for_timeout(900)
        for _ in range(50):  # browsers give a busy worker two seconds
            if not page.workers:
                break
            page.wait_for_timeout(200)
        self.trial.same("its worker is gone", len(page.workers), 0)
        self.trial.check("and nothing comes after it", here.locator(".told").inner_text() == before and "Stopped after" in here.locator(".state").inner_text())
        here.locator("[name=seed]").fill("1")
        here.locator("[name=seed]").press("Enter")
        self.trial.same("Enter in an option runs it again", self.end(page), "met")
        self.trial.check("what was answered before is not asked again", here.locator(".told").get_by_text("what came").is_visible())

    def looks(self, page, href):
        """A run's page fits, and is accessible."""
        self.start(page, 2)
        self.end(page)
        for button in page.locator("#here .question .open button").all():
            if button.is_visible():
                button.click()
        self.fits(page, "#here", "after a run")
        page.emulate_media(media="print")
        self.trial.check("print has no run", not page.locator("#here").is_visible())
        page.emulate_media(media="screen")

    def never_answers(self, href):
        context = self.context()
        context.route("**/assets/worker.js", lambda route: route.fulfill(content_type="text/javascript", body="onmessage = () => {};"))
        page = self.open(context, href)
        page.evaluate("document.getElementById('here').dataset.patience = 1")
        here = self.start(page)
        self.trial.same("a worker that never answers", self.end(page), "failed")
        self.trial.check("is given up, and told", "did not answer" in here.locator(".state").inner_text())
        context.close()

    def no_module(self, href):
        for what in ("live/05_pooling/lesson.js", "assets/worker.js", "assets/transcript.mjs"):
            context = self.context()
            context.route(f"**/{what}", lambda route: route.fulfill(status=404, body="none"))
            page = self.open(context, href)
            here = self.start(page)
            self.trial.same(f"without {what}", self.end(page), "failed")
            self.trial.check("it says what stands in its place", "could not be loaded. This page shows a recorded run" in here.locator(".state").inner_text(),
                             here.locator(".state").inner_text())
            context.close()

    # ---- the lessons themselves

    def live_lessons(self):
        """Every lesson that has a module, or those whose numbers are asked for, to its targets, as many at once as there
        are cores; the fast ones first."""
        there = [slug for slug, stand_in in self.modules().items() if not stand_in]
        if not there:
            print("live lessons were left out: the book has no modules")
            return
        seconds = listed(self.root)
        wanted = [slug for slug in seconds if slug[:2] in self.numbers] if self.numbers else list(seconds)
        self.trial.same("lessons without a module", sorted(set(wanted) - set(there)), [])
        self.trial.same("numbers that no such lesson has", sorted(set(self.numbers) - {slug[:2] for slug in wanted}), [])
        waiting = sorted(set(wanted) & set(there), key=seconds.get)
        context, running, reached, began = self.context(), {}, 0, time.monotonic()
        while running or waiting:
            late = time.monotonic() - began > PATIENCE
            while waiting and (late or len(running) < (os.cpu_count() or 1)):
                slug = waiting.pop(0)
                if late:
                    self.trial.check(f"{slug} reaches its targets in the page", False, f"not begun after {PATIENCE // 60} minutes")
                    continue
                page = self.open(context, f"lessons/{slug}.html")
                page.set_default_timeout(120_000)  # beside the lessons that run
                self.start(page)
                running[slug] = page, time.monotonic()
            for slug, (page, since) in list(running.items()):
                state, took = page.get_attribute("#here", "data-state"), time.monotonic() - since
                if state == "running" and not late and took < 300 + 20 * seconds[slug]:
                    continue
                del running[slug]
                reached += state == "met"
                self.trial.check(f"{slug} reaches its targets in the page", state == "met",
                                 f"{state} after {took:.0f} s: " + page.locator("#here > .doing .state, #here > .outcome").all_inner_texts()[-1])
                if state == "met":
                    print(f"{slug}: {took:.1f} s", flush=True)
                    self.as_recorded(page, slug)
                page.close()
            next(iter(running.values()))[0].wait_for_timeout(200) if running else None
        if not self.numbers:
            self.trial.check(f"at least {ENOUGH} lessons run in their pages", reached >= ENOUGH, reached)
        context.close()

    def as_recorded(self, page, slug):
        """What it was judged by, and what it drew, are those of the recorded run."""
        from website import runs
        pieces = [piece for _, found in runs.Run(self.root / "lessons/website/runs" / slug).sections for piece in found]
        wanted = [piece.name for piece in pieces if piece.kind == "target" and piece.why]
        came = [text.rsplit(": ", 2)[0] for text in page.locator("#here .judged li").all_inner_texts()]
        self.trial.same(f"{slug}: the recorded targets", len(came), len(wanted))
        drawn = page.evaluate("[...document.querySelectorAll('#here [data-picture]')].filter(f => f.querySelector('svg, table')).map(f => f.dataset.picture)")
        self.trial.same(f"{slug}: the recorded pictures", sorted(drawn), sorted(f"{piece.name}.svg" for piece in pieces if piece.kind == "picture"))
        page.evaluate("document.querySelectorAll('#here .held').forEach(held => held.hidden = false)")  # without answers
        wide = page.evaluate("[...document.querySelectorAll('#here .on-paper .scroll')].filter(s => s.clientWidth > s.querySelector('svg').getBoundingClientRect().width + 1).map(s => s.clientWidth)")
        self.trial.same(f"{slug}: heatmaps on more paper than they have", wide, [])
