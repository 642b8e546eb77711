"""The planted list: known/*.txt, mistakes that people made or make, each to be noticed by some test.

An entry is

    core/ops/loss.cpp: padding counts in the loss
    - the original text, which stands in that file once
    + what stands there instead

with as many lines of each kind as it takes. Blank lines and lines that start with # are skipped.
equivalents.txt has the same form: changes that no test can notice, with the reason.
"""
import pathlib

from generate import Mutant

HERE = pathlib.Path(__file__).resolve().parent


class BadEntry(Exception):
    pass


def _blocks(path):
    """(where, file, what, old, new) of each entry."""
    block = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line[:2] in ("- ", "+ ") or line in ("-", "+"):
            if block is None:
                raise BadEntry(f"{where}: a changed line before the first entry's title")
            block[3 if line[0] == "-" else 4].append(line[2:])
            continue
        if block:
            yield block
        file, colon, what = line.partition(": ")
        if not colon:
            raise BadEntry(f"{where}: an entry begins with \"file: what mistake it is\"")
        block = (where, file, what, [], [])
    if block:
        yield block


def read(root, path):
    """The mutants of a list; BadEntry where a text does not stand in its file exactly once."""
    found = []
    for where, file, what, old, new in _blocks(path):
        source = pathlib.Path(root, file)
        if not source.is_file():
            raise BadEntry(f"{where}: there is no file {file}")
        text, old, new = source.read_text(encoding="utf-8"), "\n".join(old), "\n".join(new)
        if not old or old == new:
            raise BadEntry(f"{where}: the entry changes nothing")
        count = text.count(old)
        if count != 1:
            raise BadEntry(f"{where}: the text to change stands {count} times in {file}, not once: {old.strip()}")
        begin = text.index(old)
        found.append(Mutant(file, begin, begin + len(old), new, what, text.count("\n", 0, begin) + 1))
    return found


def lists():
    return sorted((HERE / "known").glob("*.txt"))


def all_known(root):
    return [mutant for path in lists() for mutant in read(root, path)]


def equivalents(root):
    """{(file, line before, line after): reason}; entries whose original is gone are passed over."""
    known = {}
    for _, file, what, old, new in _blocks(HERE / "equivalents.txt"):
        known[file, "\n".join(old).strip(), "\n".join(new).strip()] = what
    return known
