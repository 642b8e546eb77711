#!/usr/bin/env python3
"""Starts one of the book's tests with the Python packages that tests/run has installed: run.py PART BUILD [--all]."""
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/book/browser/bin/python"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PARTS = {
    "generator": ["-m", "unittest", "book.generator_test", "book.reference_test"],
    "browser": ["-m", "press", "--test"],
    "runs": ["-m", "press", "--compare", "--smoke"],
    "compare": ["-m", "press", "--compare"],
}


def main(part, build, *rest):
    if not PYTHON.exists() or part == "browser" and not any(map(shutil.which, BROWSERS)):
        print(f"skipped: there is no {PYTHON.parent if not PYTHON.exists() else BROWSERS[0]}")
        return
    build = Path(build).resolve()
    out = ["--out", str(build / "book")] if part == "browser" else []
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/lessons:{ROOT}/tests", "TAPESTRY_PROGRAMS": str(build / "lessons")}
    os.chdir(ROOT)
    os.execve(PYTHON, [str(PYTHON), "-B", *PARTS[part], *out, *rest], environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
