#!/usr/bin/env python3
"""usage: folder_dependencies_test.py

Tests that the folders of core, nn and optim include headers from exactly the folders that .github/CONTRIBUTING.md names
in its table, and that no two folders depend on each other except the pairs that it explains.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything else can fail
    sys.exit(print(__doc__))

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder_of(path, inside_core):
    """core/tape/op.hpp → core/tape; nn/text/utf8.hpp → nn. Seen from nn, all of core is one folder."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "core" and inside_core else parts[0]


def dependencies():
    found = collections.defaultdict(set)
    for file in sorted(path for top in ("core", "nn", "optim") for path in (ROOT / top).rglob("*.[hc]pp")):
        path = file.relative_to(ROOT).as_posix()
        if path.count("/") == 1 and path.startswith("core/"):
            continue  # core.hpp includes all of core
        folder = folder_of(path, True)
        found[folder]  # a row even if it uses nothing
        for included in re.findall(r'^#include "((?:core|nn|optim|lessons|tests)/.+)"', file.read_text(), re.MULTILINE):
            other = folder_of(included, path.startswith("core/"))
            if other != folder:
                found[folder].add(other)
    return found


page = (ROOT / ".github/CONTRIBUTING.md").read_text()
section = page.split("\n## Which folder may use which\n")[1].split("\n## ")[0]
table = {folder: set(re.findall(r"`([^`]+)`", uses))
         for folder, uses in re.findall(r"^\| `([^`]+)` \|(.*)\|$", section, re.MULTILINE)}
explained = {frozenset(pair) for pair in re.findall(r"^- \*\*`([^`]+)` and `([^`]+)`\.\*\*", section, re.MULTILINE)}
found = dependencies()
mutual = {frozenset((a, b)) for a in found for b in found[a] if a in found.get(b, ())}
for folder in sorted(found.keys() | table.keys()):
    print(f"{folder}: uses {sorted(found.get(folder, ()))}, the page says {sorted(table.get(folder, ()))}")
print(f"depend on each other: {sorted(map(sorted, mutual))}, the page explains {sorted(map(sorted, explained))}")
sys.exit(found != table or mutual != explained)
