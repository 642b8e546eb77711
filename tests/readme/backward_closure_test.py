#!/usr/bin/env python3
"""usage: backward_closure_test.py OBJECTS

Tests that README's table "How backward works" lists every file that Tape::backward executes for first derivatives, and
that they have at most 900 lines. OBJECTS is the folder with the object files of core/tape, made by the compiler without
link-time optimisation: the symbols that backward.cpp's object needs lead to the other objects, and so on. Headers are
found by their #include lines. Tensor arithmetic, which the rules of ops call, is not counted.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything else can fail
    sys.exit(print(__doc__))

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_LINES = 900


def symbols(file):
    """Of an object file: the symbols it defines for others, and those it needs."""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", "-P", file], check=True, capture_output=True, text=True).stdout.splitlines():
        name, kind = line.split()[:2]
        (needed if kind == "U" else defined if kind.isupper() else set()).add(name)
    return defined, needed


def sources_reached(objects, first):
    """The objects' names that `first` needs, and those that these need."""
    table = {file.name.removesuffix(".o"): symbols(file) for file in objects.glob("*.cpp.o")}
    assert first in table, f"no object of {first} in {objects}"
    reached, todo = set(), [first]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            # An inline function that several objects define (V, W) is in a header, which #include finds.
            todo += [other for other, (defined, _) in table.items() if table[name][1] & defined]
    return reached


def is_counted(path):
    return path.startswith("core/tape/") or path in ("core/tensor/tensor.hpp", "core/tensor/call_site.hpp")


def files_reached(objects):
    todo = [f"core/tape/{name}" for name in sources_reached(objects, "backward.cpp")]
    reached = set()
    while todo:
        path = todo.pop()
        if path not in reached and is_counted(path):
            reached.add(path)
            todo += re.findall(r'^#include "(.+)"', (ROOT / path).read_text(), re.MULTILINE)
    return {path: len((ROOT / path).read_text().splitlines()) for path in reached}


def rows_of_readme():
    section = (ROOT / "README.md").read_text().split("\n## How backward works\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \[(\S+)\]\(\1\) \| (\d+) \|", section, re.MULTILINE)
    total = re.search(r"^That is (\d+) lines", section, re.MULTILINE)
    return {path: int(lines) for path, lines in rows}, int(total[1])


reached = files_reached(pathlib.Path(sys.argv[1]))
rows, total = rows_of_readme()
for path in sorted(reached | rows):
    print(f"{path}: {reached.get(path, 'not reached')} lines, {rows.get(path, 'not')} in README.md")
print(f"{sum(reached.values())} lines, {total} in README.md, {MOST_LINES} at most")
sys.exit(reached != rows or sum(reached.values()) != total or total > MOST_LINES)
