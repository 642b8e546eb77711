"""Exercises that are answered in their pages, with a stand-in for the compiler (practise_checker.mjs)."""
import re

from book.tester import NARROW, SCHEMES, WIDE, Tester
from book.write import EDITOR

HREF = "lessons/06_queries_keys_values.html"
RECORD = """id => new Promise((resolve) => {
  const opened = indexedDB.open("tapestry-practise", 1);
  opened.onsuccess = () => {
    const read = opened.result.transaction("answers").objectStore("answers").get(id);
    read.onsuccess = () => { opened.result.close(); resolve(read.result ?? null); };
  };
})"""
SHOWN = {  # kind that the stand-in gives: (kind of the verdict, texts in order)
    "wrong": ("wrong", ["✓ computes weighted averages", "✓ computes attention for any number", "✗ computes attention for large scores",
                        "with one query with the scores 1000 and 999", "the output", "expected  [4.0758, 1]\ngot       [nan, 1]",
                        "→ Your exponential overflows"]),
    "shape": ("wrong", ["✗ has a row for each query", "the shape of the output", "expected  [2, 4]\ngot       [4, 2]"]),
    "sentence": ("wrong", ["✗ uses each key once", "It reads key 3 twice."]),
    "exception": ("wrong", ["✗ takes one key", "with one key", "Your code throws:", "[matmul] inner sizes must be equal,\ngot 3 and 4"]),
    "compile_error": ("compile_error", ["✗ It does not compile.", "Line 14", "return rot;", "The name rot is not declared"]),
    "crash": ("crash", ["✗ It crashes.", "Line 14", "It reads element 12"]),
    "timeout": ("timeout", ["✗ It does not end within 10 seconds; look for an endless loop"]),
    "unavailable": ("unavailable", ["The compiler could not be loaded; check the connection."]),
    "broken": ("unavailable", ["The check could not run: the worker is missing. Your answer is not lost."]),
}


class Practise(Tester):
    """The page's side of one exercise: the editor, its buttons and each kind of verdict."""

    def there(self):
        if (self.out / "practise/practise.js").is_file() and "window.lastCheck" in (self.out / "practise/checker.mjs").read_text():
            return True
        print("the exercises in the page were left out: the book has no stand-in for the compiler")
        return False

    def open_exercise(self, page, exercise="6.1"):
        section = page.locator(f'.exercise[data-exercise="{exercise}"]')
        section.locator(".write").click()
        section.locator(".cm-content").wait_for()
        return section

    def write(self, page, code):
        """Replaces the first line of the hole, where the cursor is at first and after a reset."""
        page.keyboard.press("End")
        page.keyboard.press("Shift+Home")
        page.keyboard.insert_text(code)

    def until(self, page, expression):
        """Waits; Playwright's own way needs eval, which the book's policy forbids."""
        for _ in range(200):
            if page.evaluate(f"Boolean({expression})"):
                return
            page.wait_for_timeout(50)
        raise TimeoutError(f"never true: {expression}")

    def again(self, page, section, code):
        section.locator(".reset").click()
        section.locator(".verdict-place", has_text="starting text is back").wait_for()
        self.write(page, code)

    def verdict(self, page, section, kind):
        section.locator(f'.verdict-place[data-kind="{kind}"]').wait_for()
        return section.locator(".verdict-place")

    def record(self, page, exercise="6.1"):
        return page.evaluate(RECORD, exercise)

    def exercise_page(self):
        if not self.there():
            return
        context = self.context()
        page = self.open(context, HREF)
        page.wait_for_selector(".write")
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        self.trial.check("its policy allows WebAssembly and nothing else more", policy.count("unsafe") == 1 and "'wasm-unsafe-eval'" in policy, policy)
        loaded = "performance.getEntriesByType('resource').filter(e => /workbench|exercises\\/|checker/.test(e.name)).length"
        self.trial.same("the editor and the exercises are not loaded before one asks", page.evaluate(loaded), 0)
        self.trial.same("the given code is shown", page.locator(".exercise .given").first.is_visible(), True)
        section = self.open_exercise(page)
        self.trial.check("then they are, in place of the given code", page.evaluate(loaded) >= 2 and not section.locator(".given").is_visible())
        self.until(page, "document.querySelector('.workbench .numbers').textContent")
        self.trial.same("it tells the size of the first download", section.locator(".numbers").inner_text(),
                        "The first check loads the compiler (30 MB, once). Nothing is sent anywhere.")
        self.trial.same("the hole is marked", section.locator(".cm-hole-line").all_inner_texts(),
                        ["  // ↓ your code: three lines", "  return not_written_yet();", "  // ↑"])
        self.trial.check("the task's comment is folded", "… the task" in section.locator(".cm-content").inner_text())
        self.first_check(page, section)
        self.verdicts(page, section)
        self.stops(page, section)
        self.right(page, section)
        self.hints_and_solution(page)
        self.trial.check("no error, no request elsewhere", not self.faults, self.faults[:3])
        context.close()

    def first_check(self, page, section):
        page.keyboard.press("Control+Enter")
        section.locator(".going progress[value]").wait_for()
        says = section.locator(".numbers").inner_text()
        self.trial.check("the first check says what it loads", re.fullmatch(r"Loading the compiler, \d+ of 30 MB, once; \d\.\d s", says), says)
        told = self.verdict(page, section, "not_written").inner_text()
        self.trial.check("code that is not written is told", "Not written yet: write your code between the lines with ↓ and ↑." in told, told)
        self.trial.same("the focus stays in the editor", page.evaluate("document.activeElement.className"), "editor focused")
        asked = page.evaluate("window.lastCheck")
        self.trial.check("the checker gets the text and the folder", asked["id"] == "6.1" and asked["base"].endswith("/practise/") and
                         "return not_written_yet();" in asked["text"] and asked["text"].startswith("// 6.1 attend"), asked)

    def verdicts(self, page, section):
        for kind, (shown, texts) in SHOWN.items():
            self.again(page, section, f"return rot;  // verdict: {kind}")
            page.keyboard.press("Control+Enter")
            place = self.verdict(page, section, shown)
            told = re.sub(r"\n+", "\n", place.inner_text())
            at = [told.find(text) for text in texts]
            self.trial.check(f"{kind}: shown in the terminal's order", -1 not in at and at == sorted(at), told)
            wrong = section.locator(".cm-error-line").all_inner_texts()
            self.trial.same(f"{kind}: its line is marked", len(wrong), int(kind in ("compile_error", "crash")))
            if kind == "compile_error":
                self.trial.same("the margin has a mark, too", section.locator(".cm-error-number").inner_text().strip()[-2:], "14")
                page.keyboard.press("Control+Home")
                place.locator("button").click()
                self.write(page, "return 1;")
                self.trial.check("a button jumps to the line; editing it removes the mark", section.locator(".cm-error-line").count() == 0 and
                                 "return 1;" in section.locator(".cm-hole-line").all_inner_texts()[1])
        tries = self.record(page)["tries"]
        self.trial.same("each verdict is a try, and a check that could not run is none", tries, 1 + len(SHOWN) - 2)
        self.again(page, section, "return 1;  // prints verdict: timeout // verdict: timeout")
        page.keyboard.press("Control+Enter")
        self.until(page, "document.querySelector('.printed-by')")
        self.trial.check("output is shown", "Your code printed:\n" in re.sub(r"\n+", "\n", section.locator(".verdict-place").inner_text()))

    def stops(self, page, section):
        self.again(page, section, "return 1;  // verdict: slow")
        section.locator(".check").click()
        section.locator(".stop").focus()
        self.until(page, "document.querySelector('.workbench .numbers').textContent.startsWith('Starting the compiler')")
        page.keyboard.press("Enter")
        told = self.verdict(page, section, "stopped").inner_text()
        self.trial.check("Stop stops, even if the checker does not answer", re.search(r"Stopped after \d\.\d s\.", told) and not section.locator(".stop").is_visible(), told)
        self.endless(page, section)
        self.trial.same("the keyboard is on Check again", page.evaluate("document.activeElement.textContent"), "Check")

    def endless(self, page, section):
        """An answer that does not end: the page counts the seconds to its end, and tells them to a screen reader once."""
        self.again(page, section, "return 1;  // verdict: endless")
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        page.keyboard.press("Control+Enter")
        announced = ".workbench [role=status].hidden"
        self.until(page, f"document.querySelector('{announced}').textContent")
        says = section.locator(".numbers").inner_text()
        self.trial.check("a long check tells when it ends", re.fullmatch(r"Running the tests; [3-6]\.\d s\. They end in at most [5-7] s\.", says), says)
        self.trial.check("what it does is in view", self.in_view(section.locator(".going")))
        told = section.locator(announced).inner_text()
        page.wait_for_timeout(1300)
        self.trial.check("it goes on counting", section.locator(".numbers").inner_text() != says)
        self.trial.same("but a screen reader hears it once", section.locator(announced).inner_text(), told)
        self.trial.check("which names the phase", re.fullmatch(r"Running the tests\. They end in at most \d+ s\.", told), told)
        self.trial.same("the seconds are not in a live region", section.locator(".numbers").evaluate("e => e.closest('[aria-live], [role=status]')"), None)
        section.locator(".stop").focus()
        page.keyboard.press("Enter")
        self.verdict(page, section, "stopped")
        self.trial.same("then nothing is announced", section.locator(announced).inner_text(), "")

    def at_the_bottom(self, button):
        """Scrolls the page so that the button is the last thing on the screen."""
        button.evaluate("b => scrollTo({ top: scrollY + b.getBoundingClientRect().bottom - innerHeight, behavior: 'instant' })")

    def in_view(self, part):
        return part.evaluate("p => { const { top, bottom } = p.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight + 1; }")

    def right(self, page, section):
        self.again(page, section, "return 1;  // scored 2.5")
        self.at_the_bottom(section.locator(".check"))
        page.keyboard.press("Control+Enter")
        told = self.verdict(page, section, "right").inner_text()
        self.trial.check("the verdict is scrolled into view", self.in_view(section.locator(".verdict-place")))
        self.trial.check("a right answer", "Exercise 6.1 is solved." in told and "Your result: 2.5 ms" in told, told)
        self.trial.check("is counted, and the next exercise follows", "1 of 3 exercises of this lesson are solved. Next: 6.2 " in told, told)
        record = self.record(page)
        self.trial.check("its date is stored", re.fullmatch(r"\d{4}-\d\d-\d\d", record["solved"]) and record["best"] == 2.5, record["solved"])
        self.trial.check("and shown with the exercise", f"solved on {record['solved']}" in section.locator(".kind").inner_text())
        self.again(page, section, "return 1;  // scored 4")
        page.keyboard.press("Control+Enter")
        self.until(page, "document.querySelector('.verdict-place').textContent.includes('best so far')")
        self.trial.same("a better score stays", self.record(page)["best"], 2.5)
        section.locator(".solution").click()
        self.trial.check("a solved exercise shows its solution at once", "matmul(query, transpose(key)) / root" in section.locator(".solved-text").inner_text())
        self.trial.same("that does not count as shown", self.record(page)["solution_shown"], False)

    def hints_and_solution(self, page):
        section = self.open_exercise(page, "6.2")
        hint, list_ = section.locator(".hint"), section.locator(".hints p")
        self.trial.same("no hint at first", (list_.count(), hint.inner_text()[:9]), (0, "Hint 1 of"))
        total = int(hint.inner_text().split()[-1])
        for shown in range(1, total + 1):
            self.at_the_bottom(hint)
            hint.click()
            page.wait_for_timeout(60)
            self.trial.same(f"{shown} hints after {shown} clicks", list_.count(), shown)
            self.trial.check(f"hint {shown} is scrolled into view", self.in_view(list_.last))
        hint.click(force=True)
        self.trial.same("then no more", (list_.count(), hint.inner_text(), self.record(page, "6.2")["hints"]), (total, "No more hints", total))
        section.locator(".solution").click()
        asks = section.locator(".solved-text")
        self.trial.check("the solution needs a confirmation", "Show its solution?" in asks.inner_text() and asks.locator("pre").count() == 0)
        self.trial.same("the keyboard is on the way back", page.evaluate("document.activeElement.textContent"), "Keep trying")
        page.keyboard.press("Enter")
        self.trial.same("which shows nothing", (asks.inner_text(), self.record(page, "6.2")["solution_shown"]), ("", False))
        section.locator(".solution").click()
        asks.locator("button").first.click()
        page.wait_for_timeout(100)
        self.trial.check("a confirmation shows it and is stored", asks.locator("pre").count() == 1 and self.record(page, "6.2")["solution_shown"])

    def exercise_keyboard(self):
        """Everything by keys, from the button to the next exercise."""
        if not self.there():
            return
        context = self.context()
        page = self.open(context, HREF)
        page.focus('[data-exercise="6.1"] .write')
        page.keyboard.press("Enter")
        section = page.locator('[data-exercise="6.1"]')
        section.locator(".cm-content").wait_for()
        self.trial.same("the editor has a name", section.locator(".cm-content").get_attribute("aria-label"), "Your answer to exercise 6.1, C++")
        keys = "".join(key for key in map(chr, range(ord("!"), ord("~") + 1)) if key not in "()[]{}'\"")  # pairs close themselves
        self.write(page, "")
        page.keyboard.type(keys)
        self.trial.check("every key reaches the editor", any(keys in line for line in section.locator(".cm-hole-line").all_inner_texts()),
                         section.locator(".cm-hole-line").all_inner_texts())
        self.write(page, "if (true)")
        for key in ("Space", "{", "Enter"):
            page.keyboard.press(key)
        page.keyboard.insert_text("x;")
        self.trial.check("a new line is indented by two spaces more", "    x;" in section.locator(".cm-hole-line").all_inner_texts(),
                         section.locator(".cm-hole-line").all_inner_texts())
        page.keyboard.press("Tab")
        self.trial.same("Tab indents", page.evaluate("document.activeElement.className"), "editor focused")
        page.keyboard.press("Escape")
        page.keyboard.insert_text("y")
        page.keyboard.press("z")
        page.keyboard.press("Tab")
        self.trial.same("a key after Escape makes Tab indent again", page.evaluate("document.activeElement.className"), "editor focused")
        page.keyboard.press("Escape")
        page.wait_for_timeout(2200)  # a reader may take their time
        page.keyboard.press("Tab")
        self.trial.same("Escape, then Tab leaves", page.evaluate("document.activeElement.textContent"), "Check")
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        self.trial.same("back in it, Tab indents again", page.evaluate("document.activeElement.className"), "editor focused")
        context.close()

    def exercise_keys(self):
        """The keys are named as on the device, and not on a phone before it has a keyboard."""
        if not self.there():
            return
        devices = {
            "Linux": ({}, "Ctrl-Enter"),
            "Mac": ({"user_agent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/17.0 Safari/605.1.15"}, "Cmd-Enter"),
            "Android": ({"user_agent": "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/130.0 Mobile Safari/537.36", "has_touch": True,
                         "is_mobile": True}, ""),
            "iPhone": ({"user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1",
                        "has_touch": True, "is_mobile": True}, ""),
        }
        for device, (more, name) in devices.items():
            context = self.context(NARROW if "is_mobile" in more else WIDE, **more)
            page = self.open(context, HREF)
            section = self.open_exercise(page)
            keys = section.locator(".workbench > .keys")
            if name:
                self.trial.check(f"{device}: {name} is named", keys.inner_text().startswith(f"{name} checks your answer."), keys.inner_text())
                page.keyboard.press("Meta+Enter" if name == "Cmd-Enter" else "Control+Enter")
                self.verdict(page, section, "not_written")
            else:
                self.trial.same(f"{device}: no keys are named", keys.inner_text(), "Your text is stored in this browser as you type.")
                section.locator(".cm-content").press("Escape")
                self.trial.check(f"{device}: a key of a keyboard shows them", "To leave the editor, press Escape, then Tab." in keys.inner_text(), keys.inner_text())
            context.close()

    def half_written(self):
        """An answer with a hole that is not written yet: it is named while the check runs, and in the verdict."""
        if not self.there():
            return
        context = self.context()
        page = self.open(context, "lessons/01_tape.html")
        page.wait_for_selector(".write")
        holes = "(await (await fetch('../practise/exercises/01.json')).json()).map(e => [e.id, e.kind, e.given.split('// ↓').length - 1, e.given])"
        id_, _, count, given = next(one for one in page.evaluate(f"(async () => {holes})()") if one[2] > 1 and one[1] != "predict" and
                                    "not_written_yet" in one[3] and one[0] != "1.3")
        section = self.open_exercise(page, id_)
        hole = next(i for i, line in enumerate(given.split("\n")) if "// ↓" in line and i > next(
            j for j, one in enumerate(given.split("\n")) if "// ↑" in one))
        section.locator(".cm-content").evaluate(EDITOR, given.replace("return not_written_yet();", "return 1;  // verdict: slow", 1))
        section.locator(".check").click()
        place = section.locator(".unwritten")
        place.first.wait_for()
        self.trial.same("the holes that are not written are named at once", (place.count(), place.first.inner_text().split(":")[0]),
                        (count - 1, f"Line {hole + 2} is not written yet"))
        section.locator(".stop").click()
        self.verdict(page, section, "stopped")
        for kind in ("not_written", "wrong"):
            section.locator(".cm-content").evaluate(EDITOR, given.replace("return not_written_yet();", f"return 1;  // verdict: {kind}", 1))
            section.locator(".check").click()
            told = self.verdict(page, section, kind)
            self.trial.check(f"{kind}: and in the verdict", told.locator("p").first.inner_text().startswith(f"Line {hole + 2} is not written yet"), told.inner_text())
        told.locator(".unwritten button").first.click()
        self.trial.check("a button leads to it", "not_written_yet" in section.locator(".cm-activeLine").inner_text(), section.locator(".cm-activeLine").inner_text())
        context.close()

    def exercise_looks(self):
        """Wide and narrow, light and dark, with everything open, and in print."""
        if not self.there():
            return
        context = self.context()
        page = self.open(context, HREF)
        section = self.open_exercise(page)
        self.write(page, f"return {'a_long_name_' * 12};  // verdict: compile_error")
        page.keyboard.press("Control+Enter")
        self.verdict(page, section, "compile_error")
        self.fits(page, ".exercises", "after a compile error")
        page.evaluate("document.activeElement.blur()")
        self.again(page, section, "return 1;  // verdict: wrong")
        page.keyboard.press("Control+Enter")
        self.verdict(page, section, "wrong")
        page.set_viewport_size({"width": NARROW, "height": 900})
        values = section.locator(".verdict-place .compared")
        values.evaluate("e => { const wide = e.cloneNode(true); wide.lastChild.textContent = '0.125, '.repeat(30); e.replaceWith(wide); }")
        page.wait_for_timeout(200)
        self.trial.check("values that are too wide for a phone scroll, and fade where there is more", values.evaluate(
            "e => e.scrollWidth > e.clientWidth && getComputedStyle(e).maskImage !== 'none'"))
        page.set_viewport_size({"width": WIDE, "height": 900})
        for name in (".hint", ".solution", ".solved-text button >> nth=0", ".earlier summary"):
            section.locator(name).click()
        self.fits(page, ".exercises", "with everything open")
        colours = set()
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            colours.add(section.locator(".cm-editor").evaluate("e => getComputedStyle(e).backgroundColor"))
        self.trial.same("the editor has both colour schemes", len(colours), 2)
        page.emulate_media(media="print")
        self.trial.check("print has the given code", section.locator(".given").is_visible() and not section.locator(".workbench").is_visible())
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": NARROW, "height": 900})
        page.goto(f"{self.origin}/lessons/01_tape.html")
        page.wait_for_selector(".write")
        told = page.locator('[data-exercise="1.3"] .try').inner_text()
        self.trial.check("an exercise that needs the terminal says why", told == "This exercise compares times, which a browser measures too coarsely. "
                         "Use the terminal: lessons/practise 1.3.", told)
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.goto((self.out / HREF).as_uri())
        self.trial.check("a page from a folder explains", "not in one that is opened from a folder" in page.locator(".transfer").inner_text() and
                         not page.locator(".try").first.is_visible())
        context.close()
