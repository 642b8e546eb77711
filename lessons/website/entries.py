"""Entries of the reference: declarations that share a comment or a name are grouped."""
import re
from dataclasses import dataclass, field


@dataclass
class Block:
    """A comment, and the declarations that it documents."""
    comment: list
    declarations: list


@dataclass
class Entry:
    names: list
    scope: str
    blocks: list = field(default_factory=list)
    members: list = field(default_factory=list)  # entries

    @property
    def first(self):
        return self.blocks[0].declarations[0]

    def declarations(self):
        return [one for block in self.blocks for one in block.declarations]


def says(comment):
    return " ".join(" ".join(text for _, text in comment).split())


def shares(block, one, before):
    """Returns whether a declaration shares the comment of the block before it: it follows without a blank line, and has the
    same name, or the comment names it (an operator by its symbol)."""
    if one.comment or one.aside or one.line != before.end + 1 or one.scope != before.scope or one.kind in ("type", "enum"):
        return False
    same = any(name in other.names for other in block.declarations for name in one.names)
    return same or all(is_named(name, says(block.comment)) for name in one.names)


def is_named(name, comment):
    sign = name.removeprefix("operator")
    if sign.startswith(" "):  # a conversion
        name = sign.strip()
    elif sign != name and not sign[:1].isalnum():
        return f" {sign} " in f" {comment} ".replace(",", " ").replace(":", " ") or f" {sign}a" in f" {comment}"
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", comment) is not None


def blocks_of(declarations):
    blocks = []
    for one in declarations:
        if blocks and shares(blocks[-1], one, blocks[-1].declarations[-1]):
            blocks[-1].declarations.append(one)
        else:
            blocks.append(Block(one.comment, [one]))
    return blocks


def of_file(declarations):
    """Returns the entries of a header; types contain their members."""
    top, by_name, inside = [], {}, {}
    for block in blocks_of(sorted(declarations, key=lambda one: (one.scope, one.line))):
        scope = block.declarations[0].scope
        names = [name for one in block.declarations for name in one.names]
        entry = next((by_name[scope, name] for name in names if (scope, name) in by_name), None)
        if entry is None:
            entry = Entry([], scope)
            inside.setdefault(scope, []).append(entry)
        entry.blocks.append(block)
        for name in names:
            if name not in entry.names:
                entry.names.append(name)
            by_name.setdefault((scope, name), entry)
    for scope, entries in inside.items():
        outer, _, name = scope.rpartition("::")
        home = by_name.get((outer, name)) if scope else None
        (home.members if home else top).extend(entries)
    for entry in [*by_name.values()]:
        entry.members.sort(key=lambda one: one.first.line)
    return sorted(top, key=lambda one: one.first.line)
