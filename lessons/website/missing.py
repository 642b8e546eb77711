"""Public declarations without a comment.

Functions, types, constants and fields need a comment, above them or after them on the same line. Declarations share a
comment if they follow without a blank line and have the same name, or if the comment names them. The comment of an
enumeration covers its enumerators. These declarations need no comment, because another place documents them:

    a constructor, operator=     at the type, whose comment also documents operator()
    an override                  at the overridden function
    a type named …Options        at its fields
    a layer within a layer       at the layer's type: `Linear query`
    KNOWN                        same meaning in every type as in the standard library
"""
import re

from website.entries import says

KNOWN = {"begin", "end", "size", "operator==", "operator!=", "operator[]"}
BASES = re.compile(r":\s*(?:public )?(\w+)")


def layers(declarations):
    """Returns the types that are derived from Module, directly or indirectly."""
    bases = {one.names[0]: BASES.search(one.text.split("\n")[-1]) for one in declarations if one.kind == "type"}
    found = {"Module", "Parameter"}
    while True:
        more = {name for name, base in bases.items() if base and base.group(1) in found and name not in found}
        if not more:
            return found - {"Parameter"}
        found |= more


def is_said_elsewhere(one, layers_):
    own = one.scope.rpartition("::")[2]
    if set(one.names) <= KNOWN or own in one.names or one.names[0] in ("operator=", "operator()") or one.text.endswith("override;"):
        return True
    if one.kind == "type":
        return one.names[0].endswith("Options")
    if one.kind == "variable" and own in layers_:
        return bool(set(re.findall(r"\w+", one.text)) & layers_)
    return False


def missing(entries, layers_):
    found = []
    for entry in entries:
        for block in entry.blocks:
            found += [one for one in block.declarations
                      if not says(block.comment) and not one.aside and not is_said_elsewhere(one, layers_)]
        found += missing(entry.members, layers_)
    return found
