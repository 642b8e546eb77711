#!/usr/bin/env python3
"""What the grader says of right, wrong and hostile answers, and what it remembers of them.

usage: verdicts_test.py PRACTISE
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import pathlib
import re

from course import Course, main


class Verdicts(Course):
    lesson = 93

    def test_piped(self):
        first = self.practise()
        self.assertEqual(first.returncode, 1, first.stderr)
        self.assertIn("93.1 two times x", first.stdout)
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
        self.assertIn("Exercise 93.1 is solved.", right.stdout)
        self.assertIn("  return 2 * x;", right.stdout)  # the solution, after it
        listed = self.practise("list")
        self.assertRegex(listed.stdout, r"✓ 93\.1")
        self.assertIn("1 of 2 are solved.", listed.stdout)
        self.assertIn("93.2", self.practise("93").stdout)  # the first of the lesson that is not solved

    def test_compile_error_crash_and_endless_loop(self):
        self.practise()
        self.answer.write_text(self.write("  return y;"))
        said = self.practise("check").stdout
        self.assertRegex(said, r"practise/93_tests/1_twice.cpp:9\n +return y;\n +\"y\" is not known here")
        self.answer.write_text(self.write("  return x * 0,25;"))  # the compiler alone has no objection
        self.assertIn("write 0.25 in place of 0,25", self.practise("check").stdout)
        self.answer.write_text(self.write("  std::vector<double> v(2);\n  return v[static_cast<std::size_t>(x)];"))
        said = self.practise("check").stdout
        self.assertRegex(said, r"It crashes.\n +practise/93_tests/1_twice.cpp:10\n")
        self.answer.write_text(self.write("  while (x > 0) x += 1;\n  return x;"))
        self.assertIn("does not end within 4 seconds", self.practise("check").stdout)
        self.answer.write_text(self.write("  std::exit(0);"))
        self.assertIn("without a verdict", self.practise("check").stdout)
        self.answer.write_text(self.write("  fmt::print(\"x is {}\\n\", x);\n  return 2 * x;"))
        self.assertIn("│ x is 3", self.practise("check").stdout)

    def test_hints_solution_reset(self):
        for number, name in enumerate(("first", "second"), 1):
            told = self.practise("hint", "93.1").stdout
            self.assertIn(f"Hint {number} of 2:\n  The {name} hint.", told)
            self.assertEqual(told.count("hint."), 1, "each hint is told once")
        self.assertIn("no more hints", self.practise("hint", "93.1").stdout)
        self.assertIn("return 2 * x;", self.practise("solution", "93.1").stdout)
        self.practise("93.1")
        self.answer.write_text("mine")
        said = self.practise("reset", "93.1").stdout
        kept = re.search(r"kept as (\S+\.cpp)\.", said)[1]
        self.assertEqual((self.course / kept).read_text(), "mine")
        self.assertIn("not_written_yet", self.answer.read_text())

    def test_what_was_reached_stays(self):
        exercise = self.course / "lessons/93_tests/exercises/1_twice.cpp"
        text = exercise.read_text().replace("void judge(Judge& judge) {", "void judge(Judge& judge) {\n"
                                            "  judge.score(twice(0.5) > 0 ? kScore : 0, \"steps\");")
        exercise.write_text(text.replace(
            '#include "lessons/grader/answer.hpp"', '#include "lessons/grader/answer.hpp"\n\nconstexpr double kScore = 5;', 1))
        self.practise("93.1")
        progress = self.course / "practise/.state/progress.json"
        for score, best, said in ((5, 5, "Your result: 5 steps"), (7, 5, "Your best so far: 5 steps"),
                                  (3, 3, "Your result: 3 steps"), (4, 3, "Your best so far: 3 steps")):
            self.answer.write_text(re.sub("kScore = .*;", f"kScore = {score};", self.write("  return 2 * x;")))
            done = self.practise("check", "93.1")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(said, done.stdout)
            self.assertEqual(json.loads(progress.read_text())["exercises"]["93.1"]["best"], best)
        record = json.loads(progress.read_text())
        record["exercises"]["93.1"]["solved"] = "2020-02-29"
        progress.write_text(json.dumps(record))
        self.practise("check", "93.1")
        self.assertEqual(json.loads(progress.read_text())["exercises"]["93.1"]["solved"], "2020-02-29")

    def test_a_symptom_is_said_of_what_was_given_alone(self):
        exercise = self.course / "lessons/93_tests/exercises/1_twice.cpp"
        exercise.write_text(exercise.read_text().replace("// implement", "// debug").replace(
            "//: return not_written_yet();", "//: return 4 * x;").replace(
            "// hint: The first", "// start: It is twice as large.\n// hint: The first"))
        self.assertIn("→ It is twice as large.", self.practise("93.1").stdout)
        self.answer.write_text(self.answer.read_text().replace("4 * x", "x + 100"))
        said = self.practise("check", "93.1").stdout
        self.assertIn("✗ is right at 3", said)
        self.assertNotIn("→", said)

    def test_verify_fails_if_any_exercise_does(self):
        folder = self.course / "lessons/93_tests/exercises"
        for number in (3, 4):
            text = (folder / "2_thrice.cpp").read_text().replace("93.2", f"93.{number}")
            (folder / f"{number}_thrice.cpp").write_text(text)
        first = folder / "1_twice.cpp"
        first.write_text(first.read_text().replace("  return 2 * x;\n", "  return 2 * x + y;\n", 1).replace(
            "// - return 2 * x;", "// - return 2 * x + y;"))
        verified = self.practise("verify", "93")
        self.assertEqual(verified.returncode, 1, verified.stdout)
        self.assertIn("93.1: ", verified.stdout)
        self.assertEqual(self.practise("verify", "93.2", "93.3", "93.4").returncode, 0)
        wrong_only = self.practise("verify", "93.1", "--wrong-only")  # does not try the solution
        self.assertEqual(wrong_only.returncode, 0, wrong_only.stdout)
        self.assertNotIn("solutions", wrong_only.stdout)

    def test_an_answer_cannot_speak_for_the_judge(self):
        self.practise("93.1")
        right = self.write("  return x + 100;")
        for name in ("same", "claim", "twice"):
            self.answer.write_text(right.replace("double twice", f"#define {name}(...)\ndouble (twice)"))
            done = self.practise("check", "93.1")
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
        done = self.practise("check", "93.1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("without a verdict", done.stdout)

    def test_the_engines_pieces(self):
        folder = self.course / "lessons/93_tests/exercises"
        for path in folder.iterdir():
            text = path.read_text().replace("limit 4 s", f"piece {path.stem[2:]}.hpp")
            text = text.replace("double twice", "inline double twice")
            if path.stem == "2_thrice":
                text = text.replace("#include", '#include "engine/twice.hpp"\n#include', 1)
                text = text.replace("3 * x", "twice(x) + x")
            path.write_text(text)
        self.assertIn("It builds on the engine's twice.hpp (ours).", self.practise("93.2").stdout)
        thrice = self.course / "practise/93_tests/2_thrice.cpp"
        thrice.write_text(thrice.read_text().replace("return not_written_yet();", "return twice(x) + x;"))
        self.assertIn("93.2 is solved", self.practise("check", "93.2").stdout)  # on ours
        self.practise("93.1")
        self.answer.write_text(self.write("  return x + x;  // mine"))
        self.assertIn("It is now part of your engine: practise/engine/twice.hpp",
                      self.practise("check", "93.1").stdout)
        self.assertIn("// mine", (self.course / "practise/engine/twice.hpp").read_text())
        self.assertIn("twice.hpp (yours).", self.practise("93.2").stdout)
        kept = self.course / "practise/engine/twice.hpp"
        kept.write_text(kept.read_text().replace("x + x", "x * x"))  # theirs is what counts now …
        self.assertIn("✗ is right at 3", self.practise("check", "93.2").stdout)
        verified = self.practise("verify", "93.2", "93.1")  # … for their answer, and for nothing else
        self.assertEqual(verified.returncode, 0, verified.stdout)
        self.assertIn("2 exercises: 2 holes fail as they should", verified.stdout)


if __name__ == "__main__":
    main()
