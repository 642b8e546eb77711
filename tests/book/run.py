#!/usr/bin/env python3
"""Starts one of the book's tests with the Python packages that tests/run has installed: run.py PART BUILD [--all]."""
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lessons"), str(ROOT / "tests")]
from book import stand_ins  # noqa: E402
PYTHON = ROOT / "build/book/browser/bin/python"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PARTS = {
    "generator": ["-m", "unittest", "book.generator_test", "book.reference_test", "book.see_test"],
    "browser": ["-m", "press", "--test"],
    "live": ["-m", "press", "--test", "trained_models", "live_lessons"],
    "runs": ["-m", "press", "--compare", "--smoke"],
    "compare": ["-m", "press", "--compare"],
}


def main(part, build, *rest):
    if not PYTHON.exists() or part in ("browser", "live") and not any(map(shutil.which, BROWSERS)):
        print(f"skipped: there is no {PYTHON.parent if not PYTHON.exists() else BROWSERS[0]}")
        return
    build = Path(build).resolve()
    out = []
    if part in ("browser", "live"):  # with the lessons' own modules, or, since this asks for no compiler, others
        modules = build / "lessons" if part == "live" else stand_ins.make(ROOT, build / "stand_ins")
        out = ["--out", str(build / "book"), "--modules", str(modules)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/lessons:{ROOT}/tests", "TAPESTRY_PROGRAMS": str(build / "lessons")}
    os.chdir(ROOT)
    os.execve(PYTHON, [str(PYTHON), "-B", *PARTS[part], *out, *rest], environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
