"""Trained models that answer in their pages: with a stand-in for the program, everywhere, and with the program itself."""
import os
import subprocess

from website import trained

from book.stand_ins import NAME, WORDS
from book.tester import Tester

ENDS = ("answered", "refused", "failed", "stopped")


class Trained(Tester):
    def real(self):
        return [path.parent.name for path in sorted((self.out / "live").glob(f"*/{trained.NAME}"))
                if NAME not in (path.parent / "lesson.js").read_text()]

    def end(self, page, seconds=60):
        page.wait_for_selector(", ".join(f"#trained[data-state={name}]" for name in ENDS), timeout=seconds * 1000)
        return page.get_attribute("#trained", "data-state")

    def answer(self, page):
        page.locator("#trained .go").click()
        return self.end(page)

    def trained_page(self):
        if not (self.out / "live/15_translate/lesson.js").exists() or self.real():
            print("the page's part that answers was left out: the book has no stand-in for a module")
            return
        context = self.context()
        self.translator(context)
        self.writer(context)
        context.close()
        self.no_weights()

    def translator(self, context):
        page = self.open(context, "lessons/15_translate.html")
        place = page.locator("#trained")
        self.trial.check("nothing is loaded before one asks", not page.evaluate("performance.getEntriesByType('resource').some(e => /live\\/|worker|mjs/.test(e.name))"))
        self.trial.same("the words that it reads are those of its weights", place.locator(".words").text_content(), " ".join(WORDS))
        place.get_by_role("button", name="the zone of international control").click()
        self.trial.same("an example is translated", self.end(page), "answered")
        self.trial.same("as it stands there", place.locator(".answer .written").first.text_content(), "control international of zone the")
        place.locator("[name=translate]").fill("the red cat")
        place.locator("[name=beam]").fill("7")
        place.locator("[name=translate]").press("Enter")
        self.trial.same("it translates", self.end(page), "answered")
        says = place.locator(".answer .written").all_text_contents()
        self.trial.same("what it wrote, and with words copied", says, ["cat red the", "7 cat red the  (unknown words copied)"])
        self.trial.same("unknown words are told", place.locator(".answer .note").inner_text(), "\"marie\" is not in the vocabulary; the model gets <unk> instead.")
        self.trial.same("its map has a row for each word that was written", place.locator(".answer tbody th").all_inner_texts(), ["cat", "red", "the"])
        place.locator(".answer tbody th").first.focus()
        page.keyboard.press("End")
        self.trial.same("and its rows answer", place.locator(".answer .says").inner_text(), "the: the 0.90, red 0.05, cat 0.05")
        place.locator("[name=translate]").fill("  ")
        self.trial.same("an empty sentence", self.answer(page), "refused")
        self.trial.same("is told, and nothing old stands there", (place.locator(".state").inner_text(), place.locator(".answer").inner_text()), ("Enter a sentence first.", ""))
        self.trial.check("no error, no request elsewhere", not self.faults, self.faults[:3])
        self.fits(page, "#trained", "with an answer")

    def writer(self, context):
        page = self.open(context, "lessons/20_gpt.html")
        place = page.locator("#trained")
        place.locator("[name=prompt]").fill("abcd")
        self.trial.same("it writes", self.answer(page), "answered")
        text = place.locator(".answer .text")
        self.trial.same("on from the prompt", text.inner_text()[:14], "abcd0123456789")
        self.trial.same("all that it was asked for", len(text.inner_text()), 304)
        slider = place.locator(".answer input[type=range]")
        slider.fill("6")
        marked = [text.locator("span.seen").all_inner_texts(), text.locator("span.chosen").all_inner_texts()]
        self.trial.same("character 6 was chosen from the nine before it", marked, [list("abcd01234"), ["5"]])
        self.trial.check("the cache had as many", "of 9 characters; 64 fit" in place.locator(".cache").inner_text(), place.locator(".cache").inner_text())
        slider.fill("21")
        self.trial.same("a cache that began anew holds less", len(text.locator("span.seen").all_inner_texts()), 4)
        self.fits(page, "#trained", "with an answer")
        place.locator("[name=temperature]").fill("2")
        page.wait_for_selector("#trained[data-state=running]")
        place.locator(".stop").click()
        self.trial.same("a slider has it write again, and Stop stops it", self.end(page), "stopped")
        place.locator("[name=temperature]").fill("0")
        place.locator("[name=prompt]").fill("Ж")
        self.trial.same("a character that it does not know", self.answer(page), "refused")
        self.trial.check("is told in a sentence", "is not among the alphabet" in place.locator(".state").inner_text())

    def no_weights(self):
        context = self.context()
        context.route(f"**/{trained.NAME}", lambda route: route.fulfill(status=404, body="none"))
        page = self.open(context, "lessons/15_translate.html")
        self.trial.same("without weights", self.answer(page), "failed")
        self.trial.check("it says so", "the weights could not be loaded (404)" in page.locator("#trained .state").inner_text())
        context.close()

    # ---- the models themselves

    def trained_models(self):
        """Each writes in the page what the program writes on this machine."""
        there = self.real()
        if not there:
            print("trained models were left out: the book has none")
            return
        self.trial.same("every model is there", [slug[:2] for slug in there], list(trained.ANSWERS))
        context = self.context()
        page = self.open(context, "lessons/15_translate.html")
        for sentence in ("the zone of international control", "marie loves the small red cats"):
            page.locator("#trained [name=translate]").fill(sentence)
            self.trial.same(f"{sentence}: translated", self.answer(page), "answered")
            expected = [line[4:] for line in self.native("15_translate", "grammar", "--translate", sentence, "--beam", "4") if line.startswith("  → ")]
            self.trial.same(sentence, page.locator("#trained .answer .written").all_text_contents(), expected)
            self.trial.same("its map is drawn", page.locator("#trained .answer tbody tr").count() > 3, True)
        page = self.open(context, "lessons/20_gpt.html")
        page.locator("#trained [name=temperature]").fill("0")
        self.trial.same("written on", self.answer(page), "answered")
        lines = self.native("20_gpt", "small", "--preset", "small", "--prompt", "The ", "--temperature", "0", "--length", "300")
        expected = "\n".join(line[2:] for line in lines[1:])
        came = page.locator("#trained .answer .text").text_content()
        self.trial.check("the text of this machine's program", came[:60] == expected[:60] and len(came) == 304, f"{came!r}, expected {expected!r}")
        context.close()

    def native(self, slug, folder, *words):
        """The lines that the program for this machine prints, with the very weights of the page."""
        out = self.out.parent / "trained" / folder
        out.mkdir(parents=True, exist_ok=True)
        (out / "checkpoint.safetensors").write_bytes((self.out / "live" / slug / trained.NAME).read_bytes())
        program = self.root / "build/release/lessons" / slug / "lesson"
        return subprocess.run([program, *words, "--out", out.parent], capture_output=True, text=True, check=True,
                              env=os.environ | {"TAPESTRY_THREADS": "1"}).stdout.rstrip("\n").split("\n")
