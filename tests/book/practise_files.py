"""Answers that the browser stores: two tabs, storage that is full or forbidden, export and import."""
import io
import json
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from book.practise import HREF, Practise

ANSWER = "practise/06_queries_keys_values/1_attend.cpp"
FORBIDDEN = "Object.defineProperty(window, 'indexedDB', {get() { throw new DOMException('no', 'SecurityError'); }});"


class PractiseFiles(Practise):
    def stored_answers(self):
        if not self.there():
            return
        context = self.context()
        page = self.open(context, HREF)
        section = self.open_exercise(page)
        self.write(page, "return 111;")
        page.reload()  # before the pause after which the text is stored
        page.wait_for_selector(".write")
        self.trial.same("the button knows of an answer", page.locator(".write").first.inner_text(), "Continue your answer")
        section = self.open_exercise(page)
        self.trial.check("a reload keeps the text", "return 111;" in section.locator(".cm-content").inner_text())
        section.locator(".reset").click()
        section.locator(".earlier").wait_for()
        self.trial.check("reset brings the starting text", "not_written_yet" in section.locator(".cm-content").inner_text())
        section.locator(".earlier summary").click()
        self.trial.check("and keeps the old one", "return 111;" in section.locator(".earlier pre").inner_text())
        section.locator(".earlier button").click()
        self.until(page, "document.querySelector('.verdict-place').textContent.includes('earlier text is back')")
        self.trial.check("which can be put back", "return 111;" in section.locator(".cm-content").inner_text())
        self.two_tabs(context, page, section)
        context.close()
        self.no_storage()
        self.full_storage()

    def two_tabs(self, context, page, section):
        other = context.new_page()
        other.goto(f"{self.origin}/{HREF}")
        other.wait_for_selector(".write")
        there = self.open_exercise(other)
        self.write(other, "return 222;")
        trouble = section.locator(".trouble")
        trouble.locator("button").first.wait_for()
        self.trial.check("a newer text of another tab is announced", "A newer text of this answer was stored" in trouble.inner_text())
        self.trial.check("and does not replace the text", "return 111;" in section.locator(".cm-content").inner_text())
        section.locator(".cm-content").focus()
        self.write(page, "return 333;")
        page.wait_for_timeout(500)
        self.trial.check("nor is it overwritten", "return 222;" in self.record(page)["text"])
        trouble.get_by_text("Keep this text").click()
        there.locator(".trouble button").first.wait_for()
        record = self.record(page)
        self.trial.check("Keep this text stores it and keeps the other", "return 333;" in record["text"] and
                         any("return 222;" in one["text"] for one in record["earlier"]), record["earlier"])
        self.trial.same("the sentence is gone", trouble.inner_text(), "")
        self.write(other, "return 444;")
        there.locator(".trouble button").first.click()
        self.until(other, "document.querySelector('.trouble').textContent === ''")
        self.trial.check("Show the newer text shows it", "return 333;" in there.locator(".cm-content").inner_text())
        self.trial.check("and keeps the one that was not stored", any("return 444;" in one["text"] for one in self.record(page)["earlier"]))
        self.trial.same("text and starting text are no earlier texts twice", len(self.record(page)["earlier"]), len({one["text"] for one in self.record(page)["earlier"]}))
        other.close()
        self.without_messages(context, page, section)

    def without_messages(self, context, page, section):
        """A tab that is not told of another tab's text finds it when it stores its own."""
        deaf = context.new_page()
        deaf.add_init_script("delete window.BroadcastChannel")
        deaf.goto(f"{self.origin}/{HREF}")
        deaf.wait_for_selector(".write")
        there = self.open_exercise(deaf)
        page.bring_to_front()
        section.locator(".cm-content").focus()
        self.write(page, "return 10;")
        page.wait_for_timeout(600)
        deaf.bring_to_front()
        self.write(deaf, "return 20;")
        there.locator(".trouble button").first.wait_for()
        self.trial.check("a text is not overwritten even if no message came", "return 10;" in self.record(page)["text"])
        deaf.close()
        self.go(page, HREF)
        page.wait_for_selector(".write")
        self.trial.check("a tab that closes before the choice leaves its text among the earlier ones",
                         any("return 20;" in one["text"] for one in self.record(page)["earlier"]))

    def no_storage(self):
        context = self.context()
        context.add_init_script(FORBIDDEN)
        page = self.open(context, HREF)
        section = self.open_exercise(page)
        self.write(page, "return 555;")
        page.keyboard.press("Control+Enter")
        self.verdict(page, section, "right")
        told = section.locator(".trouble").inner_text()
        self.trial.check("a browser that stores nothing: a sentence says so", told.startswith("This browser stores nothing for this page"), told)
        with page.expect_download() as given:
            section.locator(".trouble button").click()
        text = Path(given.value.path()).read_text()
        self.trial.check("and the text can be downloaded", given.value.suggested_filename == "1_attend.cpp" and "return 555;" in text, text)
        self.trial.check("no error", not self.faults, self.faults[:3])
        context.close()

    def full_storage(self):
        context = self.context()
        page = self.open(context, HREF)
        section = self.open_exercise(page)
        storage = context.new_cdp_session(page)
        quota = lambda **size: storage.send("Storage.overrideQuotaForOrigin", {"origin": self.origin} | size)  # noqa: E731
        quota(quotaSize=1000)
        self.write(page, f"return 666;  // {'x' * 20000}")
        section.locator(".trouble button").wait_for()
        told = section.locator(".trouble").inner_text()
        self.trial.check("full storage: a sentence says so", "storage is full" in told, told)
        section.locator(".reset").click()
        self.until(page, "document.querySelector('.verdict-place').textContent.includes('was not replaced')")
        text = section.locator(".cm-content").inner_text()
        self.trial.check("and a reset does not lose the text", "xxxx" in text and "not_written" not in text, text[:300])
        quota()
        page.reload()
        page.wait_for_selector(".write")
        self.trial.check("when there is room again, the page stores it", "xxxx" in self.record(page)["text"])
        context.close()

    # ---- files

    def exported_answers(self):
        if not self.there():
            return
        context = self.context()
        page = self.open(context, "lessons/01_tape.html")
        page.wait_for_selector(".import")
        self.trial.check("nothing to export at first", page.locator(".import").is_visible() and not page.locator(".export").is_visible())
        section = self.open_exercise(page, "1.4")
        page.keyboard.press("Control+a")
        page.keyboard.insert_text("// 1.4 engine_tape: by a test\nstruct Mine {};\n")
        page.keyboard.press("Control+Enter")
        told = self.verdict(page, section, "right").inner_text()
        self.trial.check("a piece becomes part of the engine", "It is now part of your engine: practise/engine/tape.hpp" in told, told)
        self.go(page, HREF)
        section = self.open_exercise(page)
        self.write(page, "return 777;  // verdict: wrong")
        section.locator(".hint").click()
        self.again(page, section, "return 888;  // verdict: wrong")
        page.keyboard.press("Control+Enter")
        self.verdict(page, section, "wrong")
        pieces = page.evaluate("window.lastCheck.pieces")
        self.trial.same("the checker gets the engine's pieces", pieces, {"tape.hpp": "// 1.4 engine_tape: by a test\nstruct Mine {};\n"})
        data, files = self.files(page)
        self.names_and_contents(page, files)
        self.read_by_the_grader(data)
        self.fits_front(page)
        context.close()
        self.imported(data, files)

    def files(self, page):
        with page.expect_download() as given:
            page.locator(".export").click()
        data = Path(given.value.path()).read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.trial.same("the zip is sound", archive.testzip(), None)
            return data, {name: archive.read(name).decode() for name in archive.namelist()}

    def names_and_contents(self, page, files):
        earlier = [name for name in files if name.startswith("practise/06_queries_keys_values/1_attend.2")]
        self.trial.same("an earlier text has its date in the name", len(earlier), 1)
        self.trial.same("the zip has the files of lessons/practise", sorted(set(files) - set(earlier)), sorted([
            ANSWER, "practise/01_tape/4_engine_tape.cpp", "practise/engine.hpp", "practise/engine/tape.hpp", "practise/.state/engine.hpp",
            "practise/.state/engine/tape.hpp", "practise/.state/given/01_tape/4_engine_tape.cpp",
            "practise/.state/given/06_queries_keys_values/1_attend.cpp", "practise/.state/progress.json"]))
        self.trial.check("with the texts", "return 888;" in files[ANSWER] and "return 777;" in files[earlier[0]])
        self.trial.same("a piece begins as the grader writes it", files["practise/engine/tape.hpp"],
                        "#pragma once\n// 1.4 engine_tape: by a test\nstruct Mine {};\n")
        self.trial.check("engine.hpp includes it", files["practise/engine.hpp"].endswith('#pragma once\n\n#include "engine/tape.hpp"\n'))
        progress = json.loads(files["practise/.state/progress.json"])
        solved = self.record(page, "1.4")["solved"]
        self.trial.same("the progress in the grader's form", progress, {"current": "6.1", "exercises": {
            "1.4": {"tries": 1, "hints": 0, "solved": solved, "solution_shown": False},
            "6.1": {"tries": 1, "hints": 1, "solved": "", "solution_shown": False}}})

    def read_by_the_grader(self, data):
        program = self.root / "build/release/lessons/grader/practise"
        if not program.exists():
            return print("the grader did not read the export: it is not built", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "lessons").symlink_to(self.root / "lessons")
            zipfile.ZipFile(io.BytesIO(data)).extractall(folder)
            run = lambda *words: subprocess.run([program, *words], env=os.environ | {"TAPESTRY_ROOT": folder}, cwd=folder, capture_output=True, text=True)  # noqa: E731
            done = run("list")
            lines = [line.split()[:2] for line in done.stdout.split("\n")]
            self.trial.check("the grader reads it", done.returncode == 0 and ["✓", "1.4"] in lines and ["→", "6.1"] in lines and
                             "1 of " in done.stdout.strip().split("\n")[-1], done.stderr or done.stdout[-300:])
            self.trial.check("and goes on with the hints", "Hint 2 of 3" in run("hint", "6.1").stdout)

    def fits_front(self, page):
        self.go(page, "index.html")
        page.wait_for_selector(".done")
        done = page.evaluate("[...document.querySelectorAll('li[data-exercises]')].map(l => [l.dataset.number, l.querySelector('.done')?.textContent ?? ''])"
                             ".filter(([, text]) => text)")
        self.trial.same("the front page counts", done, [["01", "1 of 6 solved"], ["06", "0 of 3 solved"]])
        self.fits(page, "#lessons", "the front page with answers")

    def imported(self, data, files):
        context = self.context()
        page = self.open(context, HREF)
        section = self.open_exercise(page)
        self.write(page, "return 999;")
        page.wait_for_timeout(500)
        chooser = page.locator("input[type=file]")
        give = lambda *chosen: chooser.set_input_files([{"name": name, "mimeType": "", "buffer": content} for name, content in chosen])  # noqa: E731
        says = page.locator(".transfer .state")
        give(("answers.zip", data))
        self.until(page, "document.querySelector('.transfer .state').textContent.includes('imported')")
        self.trial.check("an import says what it did", says.inner_text().startswith("2 answers were imported."), says.inner_text())
        record = self.record(page)
        self.trial.check("the text is the imported one", record["text"] == files[ANSWER])
        earlier = "".join(one["text"] for one in record["earlier"])
        self.trial.check("earlier texts of both are kept", "return 999;" in earlier and "return 777;" in earlier)
        self.trial.same("with the progress", (record["tries"], record["hints"], record["solved"]), (1, 1, ""))
        piece = self.record(page, "1.4")
        self.trial.check("pieces are solved", piece["solved"] and piece["passed"] == files["practise/01_tape/4_engine_tape.cpp"] and piece["piece"] == "tape.hpp", piece)
        section.locator(".trouble button").first.wait_for()
        self.trial.check("an open editor announces it", "by an import" in section.locator(".trouble").inner_text())
        section.locator(".trouble button").first.click()
        self.until(page, "document.querySelector('.trouble').textContent === ''")
        again = self.files(page)[1]
        self.trial.same("exported again, the answers are the same", [again[name] for name in files if name.endswith("/1_attend.cpp")],
                        [files[name] for name in files if name.endswith("/1_attend.cpp")])
        give(("whatever.cpp", b"// 6.2 query_for_weights: by hand\nint x;\n"), ("notes.cpp", b"int y;\n"))
        self.until(page, "document.querySelector('.transfer .state').textContent.includes('1 answer was')")
        self.trial.check("a single file is found by its head, another is named", "notes.cpp" in says.inner_text() and
                         self.record(page, "6.2")["text"].endswith("int x;\n") and self.record(page, "6.2")["path"].endswith("/2_query_for_weights.cpp"), says.inner_text())
        before = self.record(page)
        give(("broken.zip", b"PK\3\4 no"))
        self.until(page, "document.querySelector('.transfer .state').textContent.includes('broken.zip')")
        self.trial.check("a damaged zip is refused and changes nothing", "damaged" in says.inner_text() and self.record(page) == before, says.inner_text())
        context.close()
