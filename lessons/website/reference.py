"""Declarations in the headers of core, nn and optim, by folder and header, and their places in the reference."""
import posixpath
import re
from itertools import groupby

from website import declarations, doxygen, entries, missing, names

ROOMS = {  # in reading order; other folders follow, with their paths as titles
    "core/tensor": "Tensors", "core/ops": "Ops", "core/tape": "The tape", "core/check": "Gradient checks",
    "core/attention": "Attention in tiles", "core/io": "Files", "core": "All of core", "nn": "Layers and losses",
    "nn/attention": "Attention", "nn/attention/recurrent": "Attention as a memory",
    "nn/attention/pointing": "Pointing and copying", "nn/positions": "Positions", "nn/transformer": "Transformers",
    "nn/seq2seq": "Encoders and decoders", "nn/text": "Text", "nn/vision": "Pictures", "optim": "Optimisers",
    "optim/parallel": "Ranks", "optim/parallel/mpi": "Ranks by MPI", "core/simd": "Shapes and views",
    "core/simd/runtime": "Threads and memory",
}
SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "over", "%": "rest", "<": "less", ">": "greater", "=": "equal",
         "!": "not", "&": "and", "|": "or", "(": "call", "[": "at"}
TAKEN = {"main", "search", "found", "scheme"}  # ids of every page


def anchor(scope, name):
    if name.startswith("operator"):
        sign = name.removeprefix("operator")
        name = "operator-" + (re.sub(r"\W", "", sign) or "-".join(SIGNS[c] for c in sign if c in SIGNS))
    whole = f"{scope}.{name}".replace("::", ".") if scope else name
    return f"{whole}-" if whole in TAKEN else whole


class Header:
    def __init__(self, root, file, found):
        self.file, self.name = file, posixpath.basename(file)
        self.room = posixpath.dirname(file)
        rows = (root / file).read_text().split("\n")
        self.head = declarations.head_of(rows)
        self.declarations = declarations.of_file(found, rows)
        self.entries = entries.of_file(self.declarations)

    @property
    def page(self):
        return f"reference/{self.room.replace('/', '-')}.html"

    def summary(self):
        """Returns the first sentence of the comment at the top of the header."""
        words = " ".join(" ".join(text for _, text in self.head).split())
        return re.split(r"(?<=[.])\s|:?\s*$", words)[0].rstrip(".")


class Reference:
    """The reference; it needs Doxygen (see `of`)."""

    def __init__(self, root):
        found = doxygen.declarations(root, root / "build/book/reference")
        by_file = {file: list(group) for file, group in groupby(found, key=lambda one: one.file)}
        files = [path.relative_to(root).as_posix() for path in doxygen.headers(root)]
        self.headers = [Header(root, file, by_file.get(file, [])) for file in files
                        if file in by_file or "namespace" not in (root / file).read_text()]
        self.root = root

    def rooms(self):
        """[(folder, title, headers)]"""
        order = list(ROOMS)
        folders = sorted({header.room for header in self.headers},
                         key=lambda room: (order.index(room) if room in order else len(order), room))
        return [(room, ROOMS.get(room, room), self.of_room(room)) for room in folders]

    def of_room(self, room):
        """Returns the headers of a folder; a header with the folder's name comes first."""
        found = [header for header in self.headers if header.room == room]
        return sorted(found, key=lambda header: (header.name != f"{posixpath.basename(room)}.hpp", header.name))

    def names(self, places):
        """Returns {name: Place} of all entries; if several headers declare a name, `places` decides."""
        found = {}
        for header in self.headers:
            for entry in every(header.entries):
                for one in entry.declarations():
                    for name in one.names:
                        whole = f"{one.scope}::{name}" if one.scope else name
                        href = f"../{header.page}#{anchor(one.scope, name)}"
                        known = places.get(whole)
                        if whole not in found or known and known.file == header.file and found[whole].file != known.file:
                            found[whole] = names.Place(header.file, one.start, href, entries.says(one.comment)[:200])
        return found

    def missing(self):
        """Returns [file:line: declaration] of declarations without a comment."""
        layers = missing.layers([one for header in self.headers for one in header.declarations])
        found = [f"{header.file}:1: what the header is for" for header in self.headers if not header.head]
        for header in self.headers:
            for one in missing.missing(header.entries, layers):
                scope = f"{one.scope}::" if one.scope else ""
                found.append(f"{one.file}:{one.start}: {scope}{', '.join(one.names)}")
        return found


def every(entries_):
    for entry in entries_:
        yield entry
        yield from every(entry.members)


def of(root):
    return Reference(root) if doxygen.there() else None
