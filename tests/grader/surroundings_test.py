#!/usr/bin/env python3
"""The grader with bad options, full disks, damaged files and other bad surroundings.

usage: surroundings_test.py PRACTISE
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
import unittest

from course import Course, main


def full_disk(size):
    """In the child: no file can become larger, as on a disk that is full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


class Surroundings(Course):
    lesson = 94

    def test_bad_words(self):
        for words in (["92"], ["94.7"], ["nonsense"], ["check", "94.1", "94.2"], ["--nonsense"], ["hint", "x"]):
            ended = self.practise(*words)
            self.assertEqual(ended.returncode, 2, words)
            self.assertEqual(ended.stdout, "", words)
            self.assertTrue(ended.stderr.strip(), words)

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
        for words in (["--help"], ["-h"], ["94", "--help"], ["list", "-h"], ["--seed", "x", "--help"], ["--nonsense", "-h"]):
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

    def test_an_answer_that_is_no_file(self):
        self.practise("94.1")
        for make in (lambda: os.mkfifo(self.answer), lambda: os.symlink("/dev/zero", self.answer), self.answer.mkdir):
            self.answer.unlink()
            make()
            ended = self.practise("check", "94.1")
            self.assertEqual(ended.returncode, 2)
            self.assertIn("1_twice.cpp must be a file", ended.stderr)
            if self.answer.is_dir():
                self.answer.rmdir()
                self.answer.touch()

    def test_a_damaged_memory_is_named(self):
        self.practise("94.1")
        progress = self.course / "practise/.state/progress.json"
        good = json.loads(progress.read_text())
        values = (None, -3, 0.5, "x", "", True, [], [1], {}, {"a": 1}, 2**70, 1e300)
        for name, right in (("current", (str,)), ("exercises", (dict,)), ("tries", (int,)), ("hints", (int,)),
                            ("solved", (str,)), ("solution_shown", (bool,)), ("best", (int, float))):
            for value in values:
                record = json.loads(json.dumps(good))
                entry = record if name in ("current", "exercises") else record["exercises"]["94.1"]
                entry[name] = value
                text = json.dumps(record)
                progress.write_text(text)
                ended = self.practise("list")
                ended_hint = self.practise("hint", "94.1")
                fine = value is None or type(value) in right and not (
                    name in ("tries", "hints") and not 0 <= value <= 10**9) and not (name == "exercises" and value)
                with self.subTest(name=name, value=value):
                    self.assertEqual((ended.returncode, ended_hint.returncode), (0, 0) if fine else (2, 2), ended.stderr)
                    if not fine:
                        self.assertEqual(ended.stderr.count("\n"), 1)
                        self.assertRegex(ended.stderr, rf"progress.json is damaged: \S*({name}|a) must be ")
                        self.assertEqual(progress.read_text(), text)

    def test_editors_are_told(self):
        self.practise()
        entries = json.loads((self.course / "practise/compile_commands.json").read_text())
        self.assertEqual([pathlib.Path(entry["file"]).resolve() for entry in entries], [self.answer.resolve()])
        entry = entries[0]
        built = subprocess.run(["sh", "-c", re.sub(r" -o \S+", " -fsyntax-only", entry["command"])],
                               cwd=entry["directory"], capture_output=True, text=True)
        self.assertEqual(built.returncode, 0, built.stderr)


if __name__ == "__main__":
    main()
