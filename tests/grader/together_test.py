#!/usr/bin/env python3
"""Checks that meet: two of one exercise, saves while one compiles, signals in the middle. A compiler that waits, on which
GCC's COMPILER_PATH calls, makes the moments wide enough to be met every time.

usage: together_test.py PRACTISE
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from course import Course, main

WAITS = 1.0  # seconds that the compiler waits before it reads anything


class Together(Course):
    lesson = 95

    def setUp(self):
        super().setUp()
        compiler = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True).stdout.strip()
        tools = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-slow-"))
        self.addCleanup(shutil.rmtree, tools, ignore_errors=True)
        self.started = tools / "started"
        slow = tools / "cc1plus"
        slow.write_text(f'#!/bin/sh\necho $$ >>"{self.started}"\nsleep {WAITS}\nexec "{compiler}" "$@"\n')
        slow.chmod(0o755)
        self.slow = {"COMPILER_PATH": str(tools)}
        self.practise("95.1")
        self.texts = {name: self.write(f"  return {body};") for name, body in
                      (("right", "x + x"), ("wrong", "x + 7"), ("square", "x * x"))}

    def begin(self, *words):
        """A check with the slow compiler; returns once that compiler has been called."""
        before = self.calls()
        check = subprocess.Popen([self.program, "check", *words], cwd=self.course, stdin=subprocess.DEVNULL,
                                 env=dict(os.environ, TAPESTRY_ROOT=".", **self.slow), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(check.stdout.close)
        for _ in range(3000):
            if self.calls() > before:
                return check
            if check.poll() is not None:
                break
            time.sleep(0.01)
        if check.poll() is not None:
            self.skipTest("this compiler does not look in COMPILER_PATH")
        self.fail("the compiler has not been called")

    def calls(self):
        return self.started.read_text().count("\n") if self.started.exists() else 0

    def ends(self, check):
        said, _ = check.communicate(timeout=120)
        return check.returncode, said

    def test_a_verdict_belongs_to_the_text_that_was_read(self):
        for first, code in (("wrong", 1), ("right", 0)):
            other = "right" if first == "wrong" else "wrong"
            self.answer.write_text(self.texts[first])
            check = self.begin("95.1")
            self.answer.write_text(self.texts[other])  # saved while the compiler waits
            self.assertEqual(self.ends(check)[0], code)
            self.assertEqual(self.practise("check", "95.1").returncode, 1 - code)
            self.answer.write_text(self.texts[first])
            self.assertEqual(self.practise("check", "95.1").returncode, code)

    def test_two_checks_at_once_get_their_own_verdicts(self):
        for first, second in (("right", "wrong"), ("square", "right")):
            self.answer.write_text(self.texts[first] + "// " + first + "\n")
            one = self.begin("95.1")
            self.answer.write_text(self.texts[second] + "// " + second + "\n")
            two = subprocess.Popen([self.program, "check", "95.1"], cwd=self.course, stdin=subprocess.DEVNULL, text=True,
                                   env=dict(os.environ, TAPESTRY_ROOT="."), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
            self.addCleanup(two.stdout.close)
            for check, name in ((one, first), (two, second)):
                code, said = self.ends(check)
                self.assertEqual(code, 0 if name == "right" else 1, said)
                self.assertEqual("This is the square" in said, name == "square", said)
                self.assertNotIn("crashes", said)

    def test_the_compiler_ends_with_the_check(self):
        self.answer.write_text(self.texts["wrong"])
        for by in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(by.name):
                self.answer.write_text(self.texts["wrong"] + f"// {by.name}\n")
                check = self.begin("95.1")
                os.kill(check.pid, by)
                check.communicate(timeout=60)
                compiler = int(self.started.read_text().split()[-1])
                self.answer.write_text(self.texts["right"] + f"// {by.name}\n")
                self.assertEqual(self.practise("check", "95.1").returncode, 0)
                self.assertRaises(ProcessLookupError, os.kill, compiler, 0)

    def test_a_piece_that_includes_itself_is_refused(self):
        exercise = self.course / "lessons/95_tests/exercises/1_twice.cpp"
        text = exercise.read_text().replace("limit 4 s", "limit 4 s, piece twice.hpp")
        exercise.write_text(text)
        self.answer.write_text('#include "engine/twice.hpp"\n')
        for _ in range(2):
            done = self.practise("check", "95.1")
            self.assertEqual(done.returncode, 1)
            self.assertIn("1_twice.cpp:1\n", done.stdout)
            self.assertIn('"engine/twice.hpp" is the piece that this exercise makes', done.stdout)
        # One that was kept before does no harm, also through another piece.
        engine = self.course / "practise/engine"
        engine.mkdir(parents=True)
        (engine / "twice.hpp").write_text('#pragma once\n#include "engine/other.hpp"\n')
        (engine / "other.hpp").write_text('#pragma once\n#include "engine/twice.hpp"\n')
        self.answer.write_text('#include "engine/other.hpp"\n' + self.texts["right"])
        self.assertIn("is the piece that this exercise makes", self.practise("check", "95.1").stdout)
        self.answer.write_text(self.texts["right"])
        self.assertEqual(self.practise("check", "95.1").returncode, 0)

    def test_a_header_beside_the_answer_is_compiled_as_it_is_now(self):
        (self.answer.parent / "mine.hpp").write_text("inline double mine(double x) { return x + 7; }\n")
        self.answer.write_text('#include "mine.hpp"\n' + self.write("  return mine(x);"))
        self.assertEqual(self.practise("check", "95.1").returncode, 1)
        (self.answer.parent / "mine.hpp").write_text("inline double mine(double x) { return x + x; }\n")
        self.assertEqual(self.practise("check", "95.1").returncode, 0)


if __name__ == "__main__":
    main()
