"""A course of two small exercises in a folder of its own, and the grader on it: piped or on a terminal."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from terminal import Terminal  # noqa: E402

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


class Course(unittest.TestCase):
    program = None  # the grader; main() sets it
    lesson = 91  # each file of tests has its own, since checks of one exercise wait for each other

    def setUp(self):
        self.course = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-practise-"))
        self.addCleanup(shutil.rmtree, self.course, ignore_errors=True)
        folder = self.course / f"lessons/{self.lesson}_tests/exercises"
        folder.mkdir(parents=True)
        for number, name, title, right, at_three in [(1, "twice", "two times x", "2 * x", 6),
                                                     (2, "thrice", "three times x", "3 * x", 9)]:
            (folder / f"{number}_{name}.cpp").write_text(
                EXERCISE.format(lesson=self.lesson, number=number, name=name, title=title, right=right, at_three=at_three))
        self.answer = self.course / f"practise/{self.lesson}_tests/1_twice.cpp"

    def practise(self, *words, **how):
        return subprocess.run([self.program, *words], cwd=self.course, env=dict(os.environ, TAPESTRY_ROOT="."), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **how)

    def terminal(self, *words):
        return Terminal(self, [self.program, *words], self.course, TAPESTRY_ROOT=".")

    def write(self, body):
        """The answer with this body in its hole."""
        text = self.answer.read_text()
        return re.sub(r"(one line\n).*?( *// ↑)", lambda m: m[1] + body + "\n" + m[2], text, flags=re.S)


def main():
    """Runs the tests of the calling file; the command line's first argument is the grader."""
    Course.program = os.path.abspath(sys.argv.pop(1))
    unittest.main()

