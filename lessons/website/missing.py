"""Public declarations that no comment says anything about.

Functions, types, constants and fields need one, above them or behind them. They share it where one follows the other
without a blank line and has the same name, or the comment names it. An enumerator is said by its enumeration's comment.
None is asked for where there is one already, in another place:

    a constructor, operator=     at its type, which also says what operator() does
    what overrides               at what it overrides
    a type named …Options        at its fields
    a layer within a layer       at the layer's type: `Linear query`
    KNOWN                        they mean in every type what they mean in the standard library
"""
import re

from website.entries import says

KNOWN = {"begin", "end", "size", "operator==", "operator!=", "operator[]"}
BASES = re.compile(r":\s*(?:public )?(\w+)")


def layers(declarations):
    """The types that are derived from Module, at once or by way of others."""
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
