#!/usr/bin/env python3
"""The grader on a terminal: each key, each way of saving a file, and signals.

usage: terminal_test.py PRACTISE
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import os
import time

from course import Course, main


class Terminal(Course):
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


if __name__ == "__main__":
    main()
