# Tensors and tapes in gdb: `source core/debug_printers/gdb_printers.py` (installed:
# PREFIX/share/tapestry/debug_printers/gdb_printers.py), then `print x`. Wants code built with -g.
import os
import sys

import gdb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shown

del sys.path[0]


class Value(shown.Value):
    def __init__(self, value):
        self.value = value

    def __getitem__(self, member):
        return Value(self.value[member])

    def __int__(self):
        return int(self.value)

    def at(self, index):
        return Value(self.value[index])

    def target_size(self):
        return self.value.type.strip_typedefs().target().sizeof

    def held(self):
        # It is that pointer and nothing else.
        target = self.value.type.strip_typedefs().template_argument(0)
        return Value(self.value.address.cast(target.pointer().pointer()).dereference())

    def complete(self):
        return bool(self.value.type.fields())

    def memory(self, address, size):
        return bytes(gdb.selected_inferior().read_memory(address, size))

    def characters(self):
        return self.value.string("utf-8", "replace")


class Printer:
    """What gdb calls: one line for a value."""

    def __init__(self, show, value):
        self.show, self.value = show, Value(value)

    def to_string(self):
        return shown.line(self.show, self.value)


class TapePrinter(Printer):
    """And a line for each node."""

    def children(self):
        for index in range(shown.node_count(self.value)):
            yield f"#{index}", shown.node(self.value, index)


def find(value):
    """The printer for a value, or None."""
    kind = value.type.strip_typedefs().unqualified()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        kind, value = kind.target().strip_typedefs().unqualified(), value.referenced_value()
    if kind.name in ("tapestry::Tensor", "tapestry::Parameter"):
        return Printer(shown.tensor, value)
    if kind.name == "tapestry::Dims":
        return Printer(shown.shape, value)
    return TapePrinter(shown.tape, value) if kind.name == "tapestry::Tape" else None


find.__name__ = "tapestry"
gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "__name__", "") != "tapestry"] + [find]
