"""Code of a chapter that is changed in its page: with a stand-in for the compiler, and with the compiler: run.py change BUILD
[NN…]. BUILD is build/wasm after lessons/book --live.

Each lesson of lessons/web/change.txt must reach its targets with its own code, and a change must change a figure.
"""
import os
import time

from book.live import ENDS
from book.tester import Tester
from book.write import EDITOR

HREF = "lessons/06_queries_keys_values.html"
# Of each lesson: a text, its replacement in the first block that has it, and options for the run with it.
CHANGES = {
    "05": ("softmax(scores, -1)", "softmax(scores * 0.0, -1)", {}),
    "06": ("softmax(scores, -1)", "softmax(scores * 0.0, -1)", {"steps": 20}),
    "07": ("exp(zero_masked(mask, scores - m))", "exp(zero_masked(mask, scores - m) * 0.0)", {}),
    "11": ("masked_softmax(scores, valid)", "masked_softmax(scores * 0.0, valid)", {"steps": 20}),
    "16": ("softmax(scores_of(q, k), -1)", "softmax(scores_of(q, k) * 0.0, -1)", {"steps": 20}),
}
FEW = {"11": 20, "16": 20}  # training steps of the unchanged lessons that train for minutes


def numbers(words):
    return [word for word in words.replace("−", "-").split() if word.strip("-%.,:").replace(".", "").isdigit()]


class Change(Tester):
    # ---- the page, with a stand-in

    def change_page(self):
        if not (self.out / "practise/checker.mjs").is_file() or "window.lastBuild" not in (self.out / "practise/checker.mjs").read_text():
            print("changed code was left out: the book has no stand-in for the compiler")
            return
        context = self.context()
        page = self.open(context, "lessons/05_pooling.html")
        page.wait_for_timeout(300)
        self.trial.same("a lesson that was not built for it has no button", page.locator(".change, .changeable").count(), 0)
        self.go(page, HREF)
        attend, given = self.attend(page, opened=False)
        names = page.locator(".change").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
        self.trial.check("each block has a button with its name", "Change it: Projections, AttentionParts and attend()" in names and "Change it: two_words()" in names and len(set(names)) == len(names) == page.locator(".changeable").count(), names)
        loaded = "performance.getEntriesByType('resource').filter(e => /bench|change\\/0|checker/.test(e.name)).length"
        self.trial.same("the editor and the lesson's text are not loaded before one asks", page.evaluate(loaded), 0)
        attend, given = self.attend(page)
        source = (self.root / "lessons/06_queries_keys_values/lesson.cpp").read_text()
        self.trial.check("the editor has the block of lesson.cpp", given.startswith("struct Projections {") and given.endswith("\n}") and given in source, given)
        self.runs_changed(page, attend, given, source)
        self.refused(page, attend, given, source)
        self.kept(page, given)
        self.trial.check("no error, no request elsewhere", not self.faults, self.faults[:3])
        self.fits(page, "main", "with an editor of changed code")
        context.close()

    def attend(self, page, opened=True):
        block = page.locator(".changeable[data-name='Projections, AttentionParts and attend()']")
        block.locator(".change").wait_for(state="attached")
        return self.block(page, "AttentionParts attend(") if opened else (block, "")

    def runs_changed(self, page, attend, given, source):
        two, other = self.block(page, "void two_words(")
        two.locator(".cm-content").evaluate(EDITOR, other.replace("2, 0", "3, 0"))
        changed = given.replace("softmax(scores, -1)", "scores\n * 0.0")
        self.options(page, {"seed": 1})
        attend.locator(".cm-content").evaluate(EDITOR, changed)
        attend.locator(".cm-content").press("Control+Enter")
        page.wait_for_selector("#here[data-state=met]")
        built = page.evaluate("window.lastBuild")
        self.trial.check("Ctrl-Enter builds lesson.cpp with all changed blocks", built["source"] == source.replace(given, changed).replace(other, other.replace("2, 0", "3, 0")) and built["slug"][:2] == built["change"] == "06", built["source"][1500:3500])
        note = page.locator("#here .with-change").inner_text()
        self.trial.same("the run says what it uses", note, "This run uses your change of Projections, AttentionParts and attend() and two_words(). Back to the code")
        self.trial.check("so does the block", "This run uses your change" in attend.locator(".verdict-place").inner_text())
        self.trial.check("the output is in the page's own part", "All 2 targets are met" in page.locator("#here .outcome").inner_text())
        self.trial.same("the other button is that of the original", page.locator("#here .go").inner_text(), "Run the original")
        page.locator("#here .go").click()
        page.wait_for_selector("#here[data-state=met]")
        self.trial.same("which runs without the change", page.locator("#here .with-change").is_visible(), False)
        self.options(page, {"seed": 4})
        ended, says = self.run(page, attend)
        self.trial.check("a trap is explained", ended == "failed" and "The lesson stopped with an error. It is a trap: unreachable." in says, f"{ended}: {says}")
        self.options(page, {"seed": 2})
        ended, says = self.run(page, attend)
        self.trial.check("a missed target is put down to the change", ended == "missed" and "with your change, the lesson may miss them" in says, f"{ended}: {says}")
        two.locator(".reset").click()
        two.locator(".verdict-place", has_text="The chapter's code is back").wait_for()

    def refused(self, page, attend, given, source):
        row = given[:given.index("const Tensor v =")].count("\n") + 1
        wrong = given.replace("const Tensor v =", "const Tensor v = // error\n      ")
        kind, says = self.run(page, attend, wrong)
        self.trial.check("an error is at the reader's line", kind == "compile_error" and f"Line {row} " in says and "nosoftmax is not declared" in says, f"{kind}: {says}")
        self.trial.same("which is marked", attend.locator(".cm-error-number").inner_text().strip("✗ "), str(row))
        kind, says = self.run(page, attend, given + "\n// misfit\n// and more")
        line = source[:source.index("int main(")].count("\n") + 1
        self.trial.check("an error elsewhere names the line of lesson.cpp", kind == "compile_error" and f"Line {line} of lesson.cpp, which you have not changed: attend() takes 5" in says, f"{kind}: {says}")
        attend.locator(".cm-content").evaluate(EDITOR, given + " // slow")
        attend.locator(".check").click()
        attend.locator(".stop").click()
        attend.locator(".verdict-place[data-kind=stopped]").wait_for()
        self.trial.check("Stop ends a compilation", "Stopped after" in attend.locator(".verdict-place").inner_text())

    def kept(self, page, given):
        page.wait_for_timeout(500)
        page.reload()
        attend, _ = self.attend(page, opened=False)
        self.trial.same("after a reload the button says that there is a change", attend.locator(".change").inner_text(), "Continue your change")
        attend, text = self.attend(page)
        self.trial.same("and the text is there", text, given + " // slow")
        attend.locator(".reset").click()
        attend.locator(".verdict-place", has_text="The chapter's code is back").wait_for()
        self.trial.same("Original restores the chapter's code", "\n".join(attend.locator(".cm-line").all_text_contents()), given)
        self.trial.same("the old text is an earlier text", attend.locator(".earlier .count").inner_text(), "1")

    # ---- the lessons themselves

    def change_lessons(self):
        """The lessons of change.txt, or those that the environment variable TAPESTRY_CHANGE names."""
        listed = [line for line in (self.root / "lessons/web/change.txt").read_text().split("\n") if line[:1].isdigit()]
        wanted = os.environ.get("TAPESTRY_CHANGE", "").split() or [slug[:2] for slug in listed]
        with self.context() as context:
            context.set_default_timeout(180_000)
            for slug in (slug for slug in listed if slug[:2] in wanted):
                if not (self.out / f"practise/change/{slug[:2]}.json").is_file():
                    self.trial.check(f"{slug}: its code can be changed", False, "lessons/book --live has not made it")
                    continue
                self.lesson(context, slug)
            if "06" in wanted:
                self.mistakes(context, "06_queries_keys_values")

    def block(self, page, has):
        """Opens the editor of the first block with this text. Returns the block and its text."""
        block = page.locator(".changeable", has_text=has).first
        block.locator(".change").wait_for(state="attached")
        if block.locator(".change").is_visible():
            block.locator(".change").click()
        block.locator(".cm-content").wait_for()
        return block, "\n".join(block.locator(".cm-line").all_text_contents())

    def run(self, page, block, text=None, seconds=240):
        """Runs the lesson with this text in the block. Returns how it ended, and all words about that."""
        if text is not None:
            block.locator(".cm-content").evaluate(EDITOR, text)
        page.evaluate("document.getElementById('here').dataset.state = ''")
        begin = time.monotonic()
        block.locator(".check").click()
        block.locator(".verdict-place[data-kind]").wait_for()
        kind, words = block.locator(".verdict-place").get_attribute("data-kind"), block.locator(".verdict-place").inner_text()
        self.compiled = time.monotonic() - begin
        if kind != "runs":
            return kind, words
        page.wait_for_selector(", ".join(f"#here[data-state={name}]" for name in ENDS), timeout=seconds * 1000)
        self.ran = time.monotonic() - begin - self.compiled
        here = page.locator("#here")
        return page.get_attribute("#here", "data-state"), "\n".join(here.locator(f":scope {part}").first.inner_text() for part in (".doing .state", ".with-change", ".outcome", ".judged"))

    def told(self, page):
        page.evaluate("document.querySelectorAll('#here .held').forEach(held => held.hidden = false)")
        return page.locator("#here .told").inner_text()

    def options(self, page, values):
        for name, value in values.items():
            page.locator(f"#here [name={name}]").fill(str(value))

    def lesson(self, context, slug):
        number, name = slug[:2], slug
        before, after, options = CHANGES[number]
        page = self.open(context, f"lessons/{slug}.html")
        page.set_default_timeout(180_000)
        self.options(page, {"steps": FEW[number]} if number in FEW else {})
        block, given = self.block(page, before)
        ended, words = self.run(page, block)
        first = self.compiled
        self.trial.check(f"{name}: the chapter's code reaches its targets", ended == ("missed" if number in FEW else "met"), f"{ended}: {words}")
        self.trial.check(f"{name}: it says that nothing is changed", "which you have not changed" in words, words)
        known, ran = self.told(page), self.ran
        pictures = page.locator("#here [data-picture]").count()
        if number not in FEW:
            page.locator("#here .go").click()
            page.wait_for_selector(", ".join(f"#here[data-state={state}]" for state in ENDS))
            self.trial.same(f"{name}: the output is that of the compiled lesson", numbers(known), numbers(self.told(page)))
            self.trial.same(f"{name}: so are the pictures", pictures, page.locator("#here [data-picture]").count())
        self.options(page, options)
        ended, words = self.run(page, block, given.replace(before, after, 1))
        print(f"{name}: compiled in {first:.1f} s at first, then in {self.compiled:.1f} s; ran for {ran:.1f} s", flush=True)
        self.trial.check(f"{name}: a change has an effect", ended in ("missed", "met") and numbers(self.told(page)) != numbers(known), f"{ended}: {words}")
        self.trial.check(f"{name}: the run names the change", "uses your change of " in words and "Back to the code" in words, words)
        kind, words = self.run(page, block, given.replace(before, "no" + before, 1))
        line = next(i for i, row in enumerate(given.split("\n"), 1) if before in row)
        self.trial.check(f"{name}: a mistake has its sentence and line", kind == "compile_error" and f"Line {line}" in words and "no" + before.split("(")[0] in words.split("\n", 2)[-1], f"{kind}: {words}")
        page.wait_for_timeout(600)
        page.reload()
        self.options(page, options)
        block = page.locator(".changeable", has_text=before).first
        self.trial.check(f"{name}: the page knows the change after a reload", "Continue your change" in block.locator(".change").inner_text())
        block.locator(".change").click()
        block.locator(".cm-content").wait_for()
        kept = "\n".join(block.locator(".cm-line").all_text_contents())
        self.trial.same(f"{name}: the text is there after a reload", kept, given.replace(before, "no" + before, 1))
        block.locator(".reset").click()
        block.locator(".verdict-place", has_text="The chapter's code is back").wait_for()
        self.trial.same(f"{name}: Original restores", "\n".join(block.locator(".cm-line").all_text_contents()), given)
        self.trial.check(f"{name}: the old text is kept", block.locator(".earlier").is_visible())
        faults = [fault for fault in self.faults if not fault.startswith("did not get")]  # a reload ends downloads
        self.trial.check(f"{name}: no error of the page", not faults, faults[:3])
        page.close()

    def mistakes(self, context, slug):
        page = self.open(context, f"lessons/{slug}.html")
        page.set_default_timeout(180_000)
        self.options(page, {"steps": 5})
        block, given = self.block(page, "AttentionParts attend(")
        put = lambda code: given.replace("  const Tensor q = ", f"  {code}\n  const Tensor q = ", 1)
        for what, code, state, words in [
            ("traps", "int* p = nullptr; p[1 << 28] = 1;", "failed", "The lesson stopped with an error."),
            ("calls itself without end", "return attend(query, key, value, w);", "failed", "calls itself"),
            ("throws", "throw Error(\"too warm\");", "failed", "too warm"),
            ("prints without end", "while (true) fmt::print(\"again and again\\n\");", "failed", "The lesson printed more than 4,000 lines"),
            ("takes all memory", "std::vector<Tensor> all; while (true) all.push_back(zeros({1 << 22}, f64));", "failed", "memory"),
        ]:
            ended, says = self.run(page, block, put(code))
            self.trial.check(f"a change that {what}", ended == state and words in says, f"{ended}: {says[:400]}")
        kind, says = self.run(page, block, given.replace("const Projections& w)", "const Projections& w, int more)"))
        self.trial.check("a change that does not fit the rest names the place", kind == "compile_error" and "of lesson.cpp, which you have not changed" in says, f"{kind}: {says}")
        block.locator(".cm-content").evaluate(EDITOR, put("for (volatile int i = 0;; i = i + 1) {}"))
        block.locator(".check").click()
        page.wait_for_selector("#here[data-state=running]")
        page.wait_for_timeout(1500)
        page.locator("#here .stop").click()
        self.trial.check("an endless loop can be stopped", "Stopped after" in page.locator("#here .doing .state").inner_text())
        page.evaluate("document.getElementById('here').dataset.silence = 3")
        ended, says = self.run(page, block)
        self.trial.check("a run without a message is ended", ended == "failed" and "look for an endless loop" in says, f"{ended}: {says}")
        page.close()
