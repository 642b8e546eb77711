#!/usr/bin/env python3
"""usage: habits_test.py [FILE…]

Looks for habits of writing that make readers stop, in the comments and messages of C++ files and in Markdown: in FILE…,
by default in all of the project that is written by hand. Prints a line for each one found; exits with 1 if there is one.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything else can fail
    sys.exit(print(__doc__))

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where a rule applies: "doc" is a line of API documentation, "prose" any comment, string or Markdown line, "message" a
# string that is given to an exception or to a format function.
RULES = [
    ("doc", r"^(What|Whether|Which|How|Who|Where)\b", "start with a verb or a noun: Returns …, Number of …"),
    ("prose", r"\bnobody\b", "say what holds: no thread, not shared, never"),
    ("prose", r"\bso many\b", "name the number"),
    ("prose", r"\bbeside\b", "next to, compared with, in addition to"),
    ("prose", r"\b(stands|stood) (here|there|in|at|on|below|above)\b", "is, is stored, means"),
    ("prose", r"\bof (its|their|one's) own( that| which| if|[.,;:)]|$)", "its own …, or leave it out"),
    ("prose", r"\b(withal|thereof|therein|hereby)\b", "of it"),
    ("prose", r"\b(simply|obviously) \w", "leave the word out"),
    ("prose", r"\b[Aa]t last\b", "finally"),
    ("message", r"\bwants\b", "X must …, got …"),
    ("message", r", not \{[^}]*\}", "…, got {}"),
]
# Names in the code.
ALLOWED = re.compile(r"wants=")


def excluded(path):
    parts = path.split("/")
    return parts[0] in ("build", "out", "practise") or "website/runs" in path or "golden/data" in path


def lines_of_markdown(text):
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code:
            yield number, "prose", re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)


def lines_of_cpp(text):
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*///?\s*(?![-+:\]] )(.*)", line):
            if line.lstrip().startswith("///"):
                yield number, "doc", match[1]
            yield number, "prose", match[1]
            continue
        for string in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            if " " in string:
                yield number, "message", string
                yield number, "prose", string
        if comment := re.search(r"[;,{})]\s+// (.*)$", line):
            yield number, "prose", comment[1]


def files():
    for pattern in ("core/**/*.[hc]pp", "nn/**/*.[hc]pp", "optim/**/*.[hc]pp", "lessons/kit/**/*.[hc]pp",
                    "lessons/grader/**/*.[hc]pp", "lessons/[0-9][0-9]_*/**/*.[hc]pp", "**/*.md"):
        yield from (path for path in sorted(ROOT.glob(pattern))
                    if not excluded(path.relative_to(ROOT).as_posix()) and not path.is_symlink())


found = checked = 0
for path in [pathlib.Path(name).resolve() for name in sys.argv[1:]] or files():
    checked += 1
    lines = lines_of_markdown if path.suffix == ".md" else lines_of_cpp
    for number, kind, line in lines(path.read_text()):
        for where, pattern, advice in RULES:
            if kind == where and not ALLOWED.search(line) and (match := re.search(pattern, line)):
                print(f"{path.relative_to(ROOT)}:{number}: “{match[0]}” ({advice}): {line.strip()[:100]}")
                found += 1
print(f"{checked} files, {found} habits")
sys.exit(found > 0 or checked == 0)
