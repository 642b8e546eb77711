#!/usr/bin/env python3
"""A lesson's questions: on a terminal it waits for a letter, anywhere else it never waits.

usage: questions_test.py LESSON_06
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from terminal import Terminal  # noqa: E402

LESSON = None
PROMPT = "or Enter to skip: "


class Questions(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-questions-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.answers = self.folder / "answers"

    def lesson(self, *words):
        """One step of training: its figures miss their targets, its first answer holds anyway."""
        return Terminal(self, [LESSON, "--steps", "1", "--out", "out", *words], self.folder,
                        TAPESTRY_ANSWERS=str(self.answers))

    def test_it_waits_and_keeps_what_was_said(self):
        lesson = self.lesson()
        lesson.press("c\n")  # before the question is there: nobody meant that
        lesson.wait_for(PROMPT)
        lesson.press("x\n")
        lesson.wait_for("not one of the choices")
        lesson.wait_for(PROMPT)
        lesson.press("b\n")
        self.assertIn("b, as you said, the table is transposed", lesson.wait_for("A soft dictionary"))
        for _ in range(3):
            lesson.wait_for(PROMPT)
            lesson.press("\n")
        self.assertEqual(lesson.ended(), 1)
        self.assertEqual(self.answers.read_text(), "06 W_Q and W_K exchanged\tb\tright\n")

    def test_control_d_ends_the_questions_and_not_the_lesson(self):
        lesson = self.lesson()
        lesson.wait_for(PROMPT)
        lesson.press("\x04")
        lesson.wait_for("Missed: ")
        self.assertEqual(lesson.ended(), 1)
        self.assertFalse(self.answers.exists())

    def test_it_waits_nowhere_else(self):
        for words in ("--no-questions", "--smoke"):
            with self.subTest(words):
                lesson = self.lesson(words)
                self.assertNotIn(PROMPT, lesson.wait_for("Missed: |All checks passed"))
                lesson.ended()
        with self.subTest("a pipe in"):
            lesson = Terminal(self, ["/bin/sh", "-c", f"exec '{LESSON}' --steps 1 --out out < /dev/null"], self.folder)
            self.assertNotIn(PROMPT, lesson.wait_for("Missed: "))
        with self.subTest("a pipe out"):
            out = subprocess.run([LESSON, "--steps", "1", "--out", "out"], cwd=self.folder, text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False).stdout
            self.assertNotIn(PROMPT, out)
            self.assertIn("? W_Q and W_K exchanged: b, the table is transposed.", out)

    def test_the_list_counts_the_last_answer_to_each(self):
        course = self.folder / "course"
        for path in ("lessons/run", ".cmake/setup.sh", "lessons/06_queries_keys_values/lesson.cpp",
                     "lessons/07_masks/lesson.cpp"):
            (course / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, course / path)

        def listed():
            return subprocess.run([course / "lessons/run", "list"], text=True, capture_output=True, timeout=60,
                                  check=True, env=dict(os.environ, COLUMNS="200")).stdout
        self.assertNotIn("right", listed())
        (course / ".answers").write_text("06 one\ta\twrong\n06 two words\tb\tright\n06 one\tb\tright\n07 x\ta\twrong\n")
        six, seven = [line for line in listed().splitlines() if " 06 " in line or " 07 " in line]
        self.assertIn("2 of 2 right", six)
        self.assertIn("0 of 1 right", seven)


if __name__ == "__main__":
    LESSON = os.path.abspath(sys.argv.pop(1))
    unittest.main()
