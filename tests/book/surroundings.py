"""The compiler in a page when its surroundings are bad: a slow line, a line that breaks, an emptied cache, a closed tab."""
import json
import re
import time

from book import slow_line
from book.write import Write

MEGABIT = 1e6 / 8  # bytes per second
MINE = "return query;  // mine"


class Surroundings(Write):
    def bad_surroundings(self):
        work = self.out.parent / "practise_work/exercises.json"
        if not work.is_file():
            print("skipped: lessons/book --live has not made the exercises for their pages")
            return
        self.seconds = []
        exercise = next(one for one in json.loads(work.read_text()) if one["id"] == "6.1")
        own = exercise["given"].replace("return not_written_yet();", MINE)
        line = slow_line.Line(50 * MEGABIT)
        server = slow_line.server(self.out, line)
        usual, self.origin = self.origin, f"http://127.0.0.1:{server.server_port}"
        try:
            with self.context() as context:
                self.broken_line(context, exercise, line)
                self.slow_line(context, exercise)
                self.emptied_cache(context, exercise)
                self.closed_tab(context, exercise, own)
        finally:
            self.origin = usual
            server.shutdown()

    def broken_line(self, context, exercise, line):
        """The line breaks in the middle of the download, and works again at the next check."""
        page, section = self.open_editor(context, exercise)
        for what, room in (("in the middle of the download", 8_000_000), ("before it", 0)):
            line.breaks_after(room)
            kind, words = self.verdict(page, section, exercise["solution"])
            self.trial.check(f"a line that breaks {what}: a sentence says what to do", kind == "unavailable" and "download" in words and
                             "check again" in words, f"{kind}: {words}")
            kept = section.locator(".cm-content").inner_text()
            self.trial.check(f"a line that breaks {what}: the answer is still there", "not_written_yet" not in kept, kept)
        line.join()
        kind, words = self.verdict(page, section, exercise["solution"])
        self.trial.check("when the line works again, the check does", kind == "right", f"{kind}: {words}")
        self.forget(page)
        page.close()

    def slow_line(self, context, exercise):
        """The first check over 50 Mbit/s. Its time is printed and not judged."""
        page, section = self.open_editor(context, exercise)
        self.put(section, exercise["solution"])
        begin = time.monotonic()
        section.locator(".check").click()
        section.locator(".going progress[value]").wait_for()
        says = section.locator(".numbers").inner_text()
        self.trial.check("the download tells how far it is", re.match(r"Loading the compiler, \d+ of \d+ MB, once;", says), says)
        place = section.locator(".verdict-place[data-kind]")
        place.wait_for()
        print(f"over 50 Mbit/s, from the first click to the verdict: {time.monotonic() - begin:.1f} s", flush=True)
        self.trial.same("the solution passes over a slow line", place.get_attribute("data-kind"), "right")
        page.close()

    def emptied_cache(self, context, exercise):
        """The browser forgets the compiler, while the page is open and before it is opened."""
        page, section = self.open_editor(context, exercise)
        self.verdict(page, section, exercise["solution"])
        self.forget(page)
        kind, words = self.verdict(page, section, exercise["solution"])
        self.trial.check("an open page checks after its cache was emptied", kind == "right", f"{kind}: {words}")
        page.close()
        page, section = self.open_editor(context, exercise)
        section.locator(".numbers", has_text="loads the compiler").wait_for()
        told = section.locator(".numbers").inner_text()
        self.trial.check("a page opened later tells the download again", re.match(r"The first check loads the compiler \(\d+ MB, once\)", told), told)
        kind, words = self.verdict(page, section, exercise["solution"])
        self.trial.check("and checks", kind == "right", f"{kind}: {words}")
        page.close()

    def closed_tab(self, context, exercise, own):
        """A tab is closed while its answer is being compiled. The text and the next check are not affected."""
        page, section = self.open_editor(context, exercise)
        self.put(section, own)
        section.locator(".check").click()
        section.locator(".stop").wait_for()
        page.close()
        page, section = self.open_editor(context, exercise)
        kept = section.locator(".cm-content").inner_text()
        self.trial.check("a tab closed in the middle of a check loses no text", MINE in kept, kept)
        self.trial.check("and no check goes on", not section.locator(".stop").is_visible())
        kind, words = self.verdict(page, section, own)
        self.trial.check("and the next check works", kind == "wrong", f"{kind}: {words}")
        page.close()

    @staticmethod
    def forget(page):
        page.evaluate("caches.keys().then(names => Promise.all(names.map(name => caches.delete(name))))")
