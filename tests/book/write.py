"""Exercises that are written and checked in their pages, with the compiler: run.py write BUILD [NN… | --all | --third |
--solutions].

Each solution must pass, each starting text must be not written yet (or show its symptom), and each wrong answer must get
its sentence, as in the terminal. With --solutions, only the solution of each exercise is checked. BUILD is build/wasm after
lessons/book --live.
"""
import datetime
import json
import os
import statistics
import time

from book.tester import Tester

EDITOR = """(content, text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  content.focus();
  document.getSelection().selectAllChildren(content);
  content.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


class Write(Tester):
    def chosen(self, all_):
        """The exercises that self.which names, by lesson: "06 07", "all", "third" or "solutions"."""
        which = self.which.split()
        if which == ["third"]:
            return [exercise for i, exercise in enumerate(all_) if i % 3 == datetime.date.today().toordinal() % 3]
        return [exercise for exercise in all_ if which[0] in ("all", "solutions") or exercise["path"][9:11] in which]

    def write_exercises(self):
        work = self.out.parent / "practise_work/exercises.json"
        if not work.is_file():
            print("skipped: lessons/book --live has not made the exercises for their pages")
            return
        self.seconds, self.which = [], os.environ.get("TAPESTRY_WRITE", "06")
        with self.context() as context:
            context.set_default_timeout(180_000)
            every = json.loads(work.read_text())
            for exercise in self.chosen(every):
                if not self.refused(exercise):
                    self.exercise(context, exercise)
            self.mistakes(context, next(exercise for exercise in every if exercise["id"] == "6.1"))
        warm = self.seconds[1:]
        if warm:
            print(f"from click to verdict: {self.seconds[0]:.1f} s at first, then a median of {statistics.median(warm):.1f} s and at "
                  f"most {max(warm):.1f} s over {len(warm)} checks", flush=True)

    def refused(self, exercise):
        """Whether the page says that this exercise cannot be checked in it."""
        shown = json.loads((self.out / f"practise/exercises/{exercise['path'][9:11]}.json").read_text())
        works = next(one["works"] for one in shown if one["id"] == exercise["id"])
        if works:
            print(f"{exercise['id']} is left out: {works}", flush=True)
        return bool(works)

    def open_editor(self, context, exercise):
        page = self.open(context, f"lessons/{exercise['path'].split('/')[1]}.html")
        page.set_default_timeout(180_000)
        section = page.locator(f".exercise[data-exercise=\"{exercise['id']}\"]")
        section.locator(".write").click()
        section.locator(".workbench").wait_for()
        if exercise["kind"] == "predict":
            section.locator(".code-of-answer summary").click()
        section.locator(".cm-content").wait_for()
        return page, section

    @staticmethod
    def put(section, text):
        section.locator(".cm-content").evaluate(EDITOR, text)

    def verdict(self, page, section, text):
        """Puts the text in the editor, checks it, and returns the kind of the verdict and its words."""
        self.put(section, text)
        begin = time.monotonic()
        section.locator(".check").click()
        section.locator(".verdict-place[data-kind]").wait_for()
        self.seconds.append(time.monotonic() - begin)
        shown = section.locator(".verdict-place[data-kind]")
        return shown.get_attribute("data-kind"), " ".join(shown.inner_text().split())

    def exercise(self, context, exercise):
        page, section = self.open_editor(context, exercise)
        name = exercise["id"]
        kind, words = self.verdict(page, section, exercise["solution"])
        self.trial.check(f"{name}: the solution passes", kind == "right", f"{kind}: {words}")
        kind, words = self.verdict(page, section, exercise["given"])
        if self.which == "solutions":
            page.close()
            return
        if exercise["symptom"]:
            self.trial.check(f"{name}: the starting text shows its symptom", kind == "wrong" and plain(exercise["symptom"]) in plain(words), f"{kind}: {words}")
        else:
            self.trial.check(f"{name}: the starting text is not written yet", kind == "not_written", f"{kind}: {words}")
        for wrong in exercise["wrong"]:
            kind, words = self.verdict(page, section, wrong["text"])
            self.trial.check(f"{name}: a wrong answer gets its sentence", kind == "wrong" and plain(wrong["sentence"]) in plain(words),
                             f"{wrong['sentence']!r}, got {kind}: {words}")
        page.close()

    def mistakes(self, context, exercise):
        """Answers to 6.1 that do not compile, trap, print without end, take all memory, or do not end."""
        page, section = self.open_editor(context, exercise)
        hole = "  return not_written_yet();"
        cases = [
            ("does not compile", "  return mattmul(query, key);", "compile_error", "mattmul"),
            ("calls a function that is nowhere", "  Tensor missing(const Tensor&); return missing(query);", "compile_error", "never defined"),
            ("needs a function that no solution needs", "  return query * std::tgamma(4.0);", "wrong", "expected"),
            ("writes far outside its memory", "  int* p = nullptr; p[1 << 28] = 1; return query;", "crash", ""),
            ("calls itself without end", "  return attend_by_hand(query, key, value) + 1.0;", "crash", "calls itself"),
            ("ends the program", "  std::exit(0);", "crash", ""),
            ("prints without end", "  for (int i = 0; i < 300000; ++i) std::printf(\"%d\\n\", i); return query;", "wrong", "more lines"),
            ("takes all memory", "  std::vector<Tensor> all; while (true) all.push_back(zeros({1 << 20}, DType::f64));", "", "memory"),
            ("does not end", "  for (volatile int i = 0;; i = i + 1) {} return query;", "timeout", "does not end within"),
        ]
        for what, code, kind, words in cases:
            came, says = self.verdict(page, section, exercise["given"].replace(hole, code))
            self.trial.check(f"an answer that {what}", came == (kind or came) and came != "right" and words in says, f"{came}: {says[:300]}")
        kept = section.locator(".cm-content").inner_text()
        self.trial.check("the answer is still in the editor", "volatile int" in kept, kept)
        page.close()


def plain(text):
    return "".join(c for c in text if c.isalnum()).lower()
