#!/usr/bin/env python3
"""The grader as a learner has it: on a terminal with each key and each way of saving, piped, and in bad surroundings.

usage: terminal_test.py PRACTISE
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from terminal import Terminal  # noqa: E402

PRACTISE = None

EXERCISE = """// {lesson}.{number} {name}: {title}
// implement, 5 minutes, limit 4 s
//
// Give {title}.
#include "lessons/grader/answer.hpp"

double {name}(double x) {{
  //[ one line
  //: return not_written_yet();
  return {right};
  //]
}}

// hint: The first hint.
// hint: The second hint.
// wrong: This adds two.
// - return {right};
// + return x + 2;
// wrong: This is the square.
// - return {right};
// + return x * x;

//= judge
#include "lessons/grader/judge/judge.hpp"

void judge(Judge& judge) {{
  judge.claim("is right at 3", [&] {{ judge.same({name}(3), {at_three}, "the result"); }});
  judge.claim("is right anywhere", [&] {{
    const double x = judge.random().uniform(5, 9);
    judge.same({name}(x), {at_three} / 3.0 * x, "the result");
  }});
}}
"""


def full_disk(size):
    """In the child: no file can become larger, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Practise(unittest.TestCase):
    def setUp(self):
        self.course = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-practise-"))
        self.addCleanup(shutil.rmtree, self.course, ignore_errors=True)
        folder = self.course / "lessons/91_tests/exercises"
        folder.mkdir(parents=True)
        for number, name, title, right, at_three in [(1, "twice", "two times x", "2 * x", 6),
                                                     (2, "thrice", "three times x", "3 * x", 9)]:
            (folder / f"{number}_{name}.cpp").write_text(
                EXERCISE.format(lesson=91, number=number, name=name, title=title, right=right, at_three=at_three))
        self.answer = self.course / "practise/91_tests/1_twice.cpp"

    def practise(self, *words, **how):
        return subprocess.run([PRACTISE, *words], cwd=self.course, env=dict(os.environ, TAPESTRY_ROOT="."), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **how)

    def terminal(self, *words):
        return Terminal(self, [PRACTISE, *words], self.course, TAPESTRY_ROOT=".")

    def write(self, body):
        """The answer with this body in its hole."""
        text = (self.course / "practise/91_tests/1_twice.cpp").read_text()
        return re.sub(r"(one line\n).*?( *// ↑)", lambda m: m[1] + body + "\n" + m[2], text, flags=re.S)

    def test_piped(self):
        first = self.practise()
        self.assertEqual(first.returncode, 1, first.stderr)
        self.assertIn("91.1 two times x", first.stdout)
        self.assertIn("Not written yet", first.stdout)
        self.assertNotIn("\x1b", first.stdout)
        self.answer.write_text(self.write("  return x * x;"))
        wrong = self.practise("check", "--seed", "5")
        self.assertEqual(wrong.returncode, 1)
        self.assertRegex(wrong.stdout, r"✗ is right at 3\n +the result\n +expected +6\n +got +9\n\n +→ This is the square\.")
        self.answer.write_text(self.write("  return x == 3 ? 6 : 1;"))
        other = self.practise("check")
        self.assertIn("✓ is right at 3", other.stdout)
        self.assertNotIn("→", other.stdout)
        self.answer.write_text(self.write("  return x + x;"))
        right = self.practise("check")
        self.assertEqual(right.returncode, 0, right.stdout)
        self.assertIn("Exercise 91.1 is solved.", right.stdout)
        self.assertIn("  return 2 * x;", right.stdout)  # the solution, after it
        listed = self.practise("list")
        self.assertRegex(listed.stdout, r"✓ 91\.1")
        self.assertIn("1 of 2 are solved.", listed.stdout)
        self.assertIn("91.2", self.practise("91").stdout)  # the first of the lesson that is not solved

    def test_compile_error_crash_and_endless_loop(self):
        self.practise()
        self.answer.write_text(self.write("  return y;"))
        said = self.practise("check").stdout
        self.assertRegex(said, r"practise/91_tests/1_twice.cpp:9\n +return y;\n +\"y\" is not known here")
        self.answer.write_text(self.write("  return x * 0,25;"))  # the compiler alone has no objection
        self.assertIn("write 0.25 in place of 0,25", self.practise("check").stdout)
        self.answer.write_text(self.write("  std::vector<double> v(2);\n  return v[static_cast<std::size_t>(x)];"))
        said = self.practise("check").stdout
        self.assertRegex(said, r"It crashes.\n +practise/91_tests/1_twice.cpp:10\n")
        self.answer.write_text(self.write("  while (x > 0) x += 1;\n  return x;"))
        self.assertIn("does not end within 4 seconds", self.practise("check").stdout)
        self.answer.write_text(self.write("  std::exit(0);"))
        self.assertIn("without a verdict", self.practise("check").stdout)
        self.answer.write_text(self.write("  fmt::print(\"x is {}\\n\", x);\n  return 2 * x;"))
        self.assertIn("│ x is 3", self.practise("check").stdout)

    def test_hints_solution_reset(self):
        for number, name in enumerate(("first", "second"), 1):
            told = self.practise("hint", "91.1").stdout
            self.assertIn(f"Hint {number} of 2:\n  The {name} hint.", told)
            self.assertEqual(told.count("hint."), 1, "each hint is told once")
        self.assertIn("no more hints", self.practise("hint", "91.1").stdout)
        self.assertIn("return 2 * x;", self.practise("solution", "91.1").stdout)
        self.practise("91.1")
        self.answer.write_text("mine")
        said = self.practise("reset", "91.1").stdout
        kept = re.search(r"kept as (\S+\.cpp)\.", said)[1]
        self.assertEqual((self.course / kept).read_text(), "mine")
        self.assertIn("not_written_yet", self.answer.read_text())

    def test_bad_words(self):
        for words in (["92"], ["91.7"], ["nonsense"], ["check", "91.1", "91.2"], ["--nonsense"], ["hint", "x"]):
            ended = self.practise(*words)
            self.assertEqual(ended.returncode, 2, words)
            self.assertEqual(ended.stdout, "", words)
            self.assertTrue(ended.stderr.strip(), words)

    def test_keys_and_saves(self):
        terminal = self.terminal()
        terminal.wait_for("Not written yet.*\n(.*\n)*.*Waiting for a save")
        self.answer.write_text(self.write("  return x + 2;"))  # in place
        terminal.wait_for("✗ is right at 3(.*\n)*.*→ This adds two(.*\n)*.*q quit")
        beside = self.answer.with_suffix(".tmp")  # as many editors do: a new file under the old name
        beside.write_text(self.write("  return x * x;"))
        os.replace(beside, self.answer)
        terminal.wait_for("→ This is the square(.*\n)*.*q quit")
        terminal.press("h")
        terminal.wait_for("The first hint")
        terminal.press("s")
        terminal.wait_for("Press s again")
        terminal.press("s")
        terminal.wait_for("return 2 \\* x;")
        terminal.press("l")
        terminal.wait_for("0 of 2 are solved")
        terminal.press("r")
        terminal.wait_for("Press r again")
        terminal.press("l")  # between the two: the second is a first one
        terminal.wait_for("0 of 2 are solved")
        terminal.press("r")
        terminal.wait_for("Press r again")
        self.assertEqual(len(list(self.answer.parent.iterdir())), 1)
        terminal.press("r")
        terminal.wait_for("old file is kept as(.*\n)*.*Not written yet(.*\n)*.*q quit")
        self.answer.unlink()  # between two steps of an editor
        time.sleep(0.3)
        self.answer.write_text((self.course / "practise/.state/given/91_tests/1_twice.cpp").read_text())
        self.answer.write_text(self.write("  return 2 * x;"))
        terminal.wait_for("Exercise 91.1 is solved(.*\n)*.*q quit")
        terminal.press("n")
        terminal.wait_for("91.2 three times x(.*\n)*.*Not written yet(.*\n)*.*q quit")
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)
        progress = json.loads((self.course / "practise/.state/progress.json").read_text())
        self.assertEqual(progress["current"], "91.2")
        self.assertTrue(progress["exercises"]["91.1"]["solved"])

    def test_a_changed_width_draws_the_page_anew(self):
        terminal = self.terminal()
        terminal.resize(100)
        terminal.wait_for("Waiting for a save(.*\n)*.*q quit")
        terminal.press("h")
        terminal.wait_for("The first hint")
        terminal.resize(40)
        drawn = terminal.wait_for("91.1 two times x(.*\n)*.*Waiting for a save(.*\n)*.*q\\s+quit(.*\n)*.*The first hint.*\n")
        self.assertTrue(all(len(line) <= 40 for line in drawn.split("\n")), drawn)
        self.answer.write_text(self.write("  return 2 * x;"))
        terminal.wait_for("is solved")
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)

    def test_interrupt_while_it_judges(self):
        self.practise()
        self.answer.write_text(self.write("  while (x > 0) x += 1;\n  return x;"))
        terminal = self.terminal()
        terminal.wait_for("judging")
        time.sleep(2.5)  # the compiler is through, the loop runs
        terminal.press("\x03")
        self.assertEqual(terminal.ended(), 0)
        self.assertIn("while", self.answer.read_text())

    @unittest.skipIf(os.geteuid() == 0, "nothing is read-only to root")
    def test_read_only(self):
        self.course.chmod(0o500)
        self.addCleanup(self.course.chmod, 0o700)
        ended = self.practise()
        self.assertEqual(ended.returncode, 2)
        self.assertIn("practise", ended.stderr)

    def test_wrong_arguments_are_refused_in_one_safe_line(self):
        letters = "a" * 100_000
        for words in (["--seed", "-1"], ["--seed", "18446744073709551616"], ["--seed=1x"], ["--seed", ""], ["--seed", " 1"],
                      ["--seed"], ["--seed", "1", "--seed", "2"], ["--seeds", "0"], ["--turn", "x"], ["--help=3"],
                      ["--nonsense"], ["\x1b[31m"], [letters], ["check", "\x1b[31m"], ["hint", letters], ["list", "x"],
                      ["list", letters], ["verify", "\x1b[31m"], ["--seed", "\x1b[31m"], ["--" + letters], ["a", "b\x1b"]):
            with self.subTest(str(words)[:40]):
                ended = self.practise(*words)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertRegex(ended.stderr, r"\Apractise: [^\x00-\x1f]{10,1100}\n\Z")
        self.assertIn("must be a whole number from 0 to 18446744073709551615", self.practise("--seed", "-1").stderr)
        self.assertIn("--help must have no value", self.practise("--help=3").stderr)

    def test_help_in_any_place_does_nothing_else(self):
        for words in (["--help"], ["-h"], ["91", "--help"], ["list", "-h"], ["--seed", "x", "--help"], ["--nonsense", "-h"]):
            with self.subTest(words):
                ended = self.practise(*words)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertIn("practise list", ended.stdout)
                self.assertNotIn("two times x", ended.stdout)
        self.assertFalse((self.course / "practise").exists())

    def test_the_largest_seed(self):
        self.assertIn("Not written yet", self.practise("check", "--seed", "18446744073709551615").stdout)

    def test_a_file_in_the_way(self):
        (self.course / "practise").write_text("in the way")
        ended = self.practise()
        self.assertEqual(ended.returncode, 2)
        self.assertEqual((self.course / "practise").read_text(), "in the way")

    def test_full_disk(self):
        self.practise()
        answer = self.write("  return 2 * x;")
        self.answer.write_text(answer)
        progress = (self.course / "practise/.state/progress.json").read_text()
        for size in (0, 60000):  # bytes that a file may have: of nothing, or of no program
            ended = self.practise("check", "--seed", str(size), preexec_fn=lambda: full_disk(size))
            self.assertEqual(ended.returncode, 2, ended.stdout + ended.stderr)
            self.assertRegex(ended.stderr, r"practise: .*(full|File too large|cannot be written)")
            self.assertEqual(self.answer.read_text(), answer)
            self.assertEqual(json.loads((self.course / "practise/.state/progress.json").read_text()), json.loads(progress))
        shutil.rmtree(self.course / "practise/.state")
        (self.course / "practise/.state").write_text("in the way")
        self.assertEqual(self.terminal().ended(), 2)
        (self.course / "practise/.state").unlink()
        self.assertEqual(self.practise("check").returncode, 0)

    def test_a_save_that_cannot_be_judged_is_judged_at_the_next(self):
        terminal = self.terminal()
        terminal.wait_for("Waiting for a save(.*\n)*.*q quit")
        state = self.course / "practise/.state"
        state.rename(self.course / "aside")
        state.write_text("in the way")
        self.answer.write_text(self.write("  return x + x;"))
        terminal.wait_for("state(.*\n)*.*Waiting for a save(.*\n)*.*q quit")
        state.unlink()
        (self.course / "aside").rename(state)
        self.answer.write_text(self.write("  return 2 * x;"))
        terminal.wait_for("91.1 is solved")
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)

    def test_quit_by_a_signal_leaves_the_terminal_as_it_was(self):
        terminal = self.terminal()
        terminal.wait_for("Waiting for a save(.*\n)*.*q quit")
        terminal.press("\x1c")
        self.assertEqual(terminal.ended(), 0)

    def test_a_change_upstream_is_told(self):
        self.practise("91.1")
        exercise = self.course / "lessons/91_tests/exercises/1_twice.cpp"
        exercise.write_text(exercise.read_text().replace("// Give two times x.", "// Give two times x.").replace(
            "  //: return not_written_yet();", "  //: return not_written_yet();  // now with a comment"))
        terminal = self.terminal("91.1")
        terminal.wait_for("has changed since your file was made(.*\n)*.*now with a comment(.*\n)*.*Waiting for a save")
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)

    def test_an_answer_that_is_no_file(self):
        self.practise("91.1")
        for make in (lambda: os.mkfifo(self.answer), lambda: os.symlink("/dev/zero", self.answer), self.answer.mkdir):
            self.answer.unlink()
            make()
            ended = self.practise("check", "91.1")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("1_twice.cpp must be a file", ended.stderr)
            if self.answer.is_dir():
                self.answer.rmdir()
                self.answer.touch()

    def test_what_was_reached_stays(self):
        exercise = self.course / "lessons/91_tests/exercises/1_twice.cpp"
        text = exercise.read_text().replace("void judge(Judge& judge) {", "void judge(Judge& judge) {\n"
                                            "  judge.score(twice(0.5) > 0 ? kScore : 0, \"steps\");")
        exercise.write_text(text.replace(
            '#include "lessons/grader/answer.hpp"', '#include "lessons/grader/answer.hpp"\n\nconstexpr double kScore = 5;', 1))
        self.practise("91.1")
        progress = self.course / "practise/.state/progress.json"
        for score, best, said in ((5, 5, "Your result: 5 steps"), (7, 5, "Your best so far: 5 steps"),
                                  (3, 3, "Your result: 3 steps"), (4, 3, "Your best so far: 3 steps")):
            self.answer.write_text(re.sub("kScore = .*;", f"kScore = {score};", self.write("  return 2 * x;")))
            done = self.practise("check", "91.1")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(said, done.stdout)
            self.assertEqual(json.loads(progress.read_text())["exercises"]["91.1"]["best"], best)
        record = json.loads(progress.read_text())
        record["exercises"]["91.1"]["solved"] = "2020-02-29"
        progress.write_text(json.dumps(record))
        self.practise("check", "91.1")
        self.assertEqual(json.loads(progress.read_text())["exercises"]["91.1"]["solved"], "2020-02-29")

    def test_a_symptom_is_said_of_what_was_given_alone(self):
        exercise = self.course / "lessons/91_tests/exercises/1_twice.cpp"
        exercise.write_text(exercise.read_text().replace("// implement", "// debug").replace(
            "//: return not_written_yet();", "//: return 4 * x;").replace(
            "// hint: The first", "// start: It is twice as large.\n// hint: The first"))
        self.assertIn("→ It is twice as large.", self.practise("91.1").stdout)
        self.answer.write_text(self.answer.read_text().replace("4 * x", "x + 100"))
        said = self.practise("check", "91.1").stdout
        self.assertIn("✗ is right at 3", said)
        self.assertNotIn("→", said)

    def test_verify_fails_if_any_exercise_does(self):
        folder = self.course / "lessons/91_tests/exercises"
        for number in (3, 4):
            text = (folder / "2_thrice.cpp").read_text().replace("91.2", f"91.{number}")
            (folder / f"{number}_thrice.cpp").write_text(text)
        first = folder / "1_twice.cpp"
        first.write_text(first.read_text().replace("  return 2 * x;\n", "  return 2 * x + y;\n", 1).replace(
            "// - return 2 * x;", "// - return 2 * x + y;"))
        verified = self.practise("verify", "91")
        self.assertEqual(verified.returncode, 1, verified.stdout)
        self.assertIn("91.1: ", verified.stdout)
        self.assertEqual(self.practise("verify", "91.2", "91.3", "91.4").returncode, 0)
        wrong_only = self.practise("verify", "91.1", "--wrong-only")  # does not try the solution
        self.assertEqual(wrong_only.returncode, 0, wrong_only.stdout)
        self.assertNotIn("solutions", wrong_only.stdout)

    def test_a_damaged_memory_is_named(self):
        self.practise("91.1")
        progress = self.course / "practise/.state/progress.json"
        good = json.loads(progress.read_text())
        values = (None, -3, 0.5, "x", "", True, [], [1], {}, {"a": 1}, 2**70, 1e300)
        for name, right in (("current", (str,)), ("exercises", (dict,)), ("tries", (int,)), ("hints", (int,)),
                            ("solved", (str,)), ("solution_shown", (bool,)), ("best", (int, float))):
            for value in values:
                record = json.loads(json.dumps(good))
                entry = record if name in ("current", "exercises") else record["exercises"]["91.1"]
                entry[name] = value
                text = json.dumps(record)
                progress.write_text(text)
                ended = self.practise("list")
                ended_hint = self.practise("hint", "91.1")
                fine = value is None or type(value) in right and not (
                    name in ("tries", "hints") and not 0 <= value <= 10**9) and not (name == "exercises" and value)
                with self.subTest(name=name, value=value):
                    self.assertEqual((ended.returncode, ended_hint.returncode), (0, 0) if fine else (2, 2), ended.stderr)
                    if not fine:
                        self.assertEqual(ended.stderr.count("\n"), 1)
                        self.assertRegex(ended.stderr, rf"progress.json is damaged: \S*({name}|a) must be ")
                        self.assertEqual(progress.read_text(), text)

    def test_an_answer_cannot_speak_for_the_judge(self):
        self.practise("91.1")
        right = self.write("  return x + 100;")
        for name in ("same", "claim", "twice"):
            self.answer.write_text(right.replace("double twice", f"#define {name}(...)\ndouble (twice)"))
            done = self.practise("check", "91.1")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(f'the checks use the name "{name}"', done.stdout)
        told = json.dumps({"seed": 1, "right": ["all"], "unit": "", "tried": []})
        self.answer.write_text(right + """
#include <fstream>
#include <cstdlib>
namespace {
struct Before {
  Before() {
    std::string path, command;
    std::getline(std::ifstream("/proc/self/cmdline") , command, '\\0');
    path = command.substr(0, command.rfind('/')) + "/finding.json";
    std::ofstream(path) << R"(""" + told + """)";
    std::_Exit(0);
  }
} before;
}
""")
        done = self.practise("check", "91.1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("without a verdict", done.stdout)

    def test_the_engines_pieces(self):
        folder = self.course / "lessons/91_tests/exercises"
        for path in folder.iterdir():
            text = path.read_text().replace("limit 4 s", f"piece {path.stem[2:]}.hpp")
            text = text.replace("double twice", "inline double twice")
            if path.stem == "2_thrice":
                text = text.replace("#include", '#include "engine/twice.hpp"\n#include', 1)
                text = text.replace("3 * x", "twice(x) + x")
            path.write_text(text)
        self.assertIn("It builds on the engine's twice.hpp (ours).", self.practise("91.2").stdout)
        thrice = self.course / "practise/91_tests/2_thrice.cpp"
        thrice.write_text(thrice.read_text().replace("return not_written_yet();", "return twice(x) + x;"))
        self.assertIn("91.2 is solved", self.practise("check", "91.2").stdout)  # on ours
        self.practise("91.1")
        self.answer.write_text(self.write("  return x + x;  // mine"))
        self.assertIn("It is now part of your engine: practise/engine/twice.hpp",
                      self.practise("check", "91.1").stdout)
        self.assertIn("// mine", (self.course / "practise/engine/twice.hpp").read_text())
        self.assertIn("twice.hpp (yours).", self.practise("91.2").stdout)
        kept = self.course / "practise/engine/twice.hpp"
        kept.write_text(kept.read_text().replace("x + x", "x * x"))  # theirs is what counts now …
        self.assertIn("✗ is right at 3", self.practise("check", "91.2").stdout)
        verified = self.practise("verify", "91.2", "91.1")  # … for their answer, and for nothing else
        self.assertEqual(verified.returncode, 0, verified.stdout)
        self.assertIn("2 exercises: 2 holes fail as they should", verified.stdout)

    def test_editors_are_told(self):
        self.practise()
        entries = json.loads((self.course / "practise/compile_commands.json").read_text())
        self.assertEqual([pathlib.Path(entry["file"]).resolve() for entry in entries], [self.answer.resolve()])
        entry = entries[0]
        built = subprocess.run(["sh", "-c", re.sub(r" -o \S+", " -fsyntax-only", entry["command"])],
                               cwd=entry["directory"], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)


if __name__ == "__main__":
    PRACTISE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
