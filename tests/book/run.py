#!/usr/bin/env python3
"""usage: run.py PART BUILD [--all]

Starts one of the book's tests with the Python packages that tests/run has installed. PART is generator, browser, pages,
widgets, live, chat, write, change, runs or compare. "browser" is "pages" and "widgets": every page, and everything on it that
answers. BUILD is the build folder, for live, chat, write and change the one that lessons/book --live has made. "change build/wasm
06" changes the code of these lessons, or of all of lessons/web/change.txt, in a browser. "write build/wasm 06 07" checks the
exercises of these lessons in a browser, --all those of every lesson, --third a third of them, a different third every day, and
--solutions only the solution of each exercise.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lessons"), str(ROOT / "tests")]
from book import practise_stand_in, stand_ins  # noqa: E402
STOOD_IN = ("browser", "pages", "widgets")  # with other modules than the lessons' own, since they ask for no compiler
BUILT = ("change", "chat", "live", "write")  # with modules that are built for browsers
PYTHON = ROOT / "build/book/browser/bin/python"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PARTS = {
    "generator": ["-m", "unittest", "book.generator_test", "book.reference_test", "book.see_test"],
    "browser": ["-m", "website", "--test"],
    "pages": ["-m", "website", "--test", "every_page"],
    "widgets": ["-m", "website", "--test", "widgets"],
    "write": ["-m", "website", "--test", "write_exercises", "bad_surroundings"],
    "change": ["-m", "website", "--test", "change_lessons"],
    "chat": ["-m", "website", "--test", "chat_lesson"],
    "live": ["-m", "website", "--test", "trained_models", "live_lessons"],
    "runs": ["-m", "website", "--compare", "--smoke"],
    "compare": ["-m", "website", "--compare"],
}


def main(part, build, *rest):
    if not PYTHON.exists() or part in (*STOOD_IN, *BUILT) and not any(map(shutil.which, BROWSERS)):
        print(f"skipped: there is no {PYTHON.parent if not PYTHON.exists() else BROWSERS[0]}")
        return
    build = Path(build).resolve()
    out = []
    if part in STOOD_IN:  # each in its own folder, so that two may run at the same time
        modules = stand_ins.make(ROOT, build / f"stand_ins/{part}/lessons")
        practise_stand_in.make(ROOT, modules.parent / "practise")
        out = ["--out", str(build / f"stand_ins/{part}/book"), "--modules", str(modules)]
    elif part in BUILT:
        out = ["--out", str(build / "book"), "--modules", str(build / "lessons")]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/lessons:{ROOT}/tests", "TAPESTRY_PROGRAMS": str(build / "lessons")}
    if part == "write":
        environment["TAPESTRY_WRITE"] = " ".join(rest).replace("--", "") or "06"
        rest = ()
    if part == "change":
        environment["TAPESTRY_CHANGE"], rest = " ".join(rest), ()
    os.chdir(ROOT)
    os.execve(PYTHON, [str(PYTHON), "-B", *PARTS[part], *out, *rest], environment)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in PARTS:
        print(f"run.py: needs PART ({', '.join(PARTS)}) and BUILD; --help says more", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
