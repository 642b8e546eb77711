# Tensors and tapes in lldb: `command script import core/debug_printers/lldb_printers.py` (installed:
# PREFIX/share/tapestry/debug_printers/lldb_printers.py), then `frame variable x`. Wants code built with -g.
import os
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shown

del sys.path[0]


class Value(shown.Value):
    def __init__(self, value):
        self.value = value.GetNonSyntheticValue()

    def __getitem__(self, member):
        found = self.value.GetChildMemberWithName(member)
        if not found.IsValid():
            raise KeyError(f"{self.value.GetTypeName()} has no {member}")
        return Value(found)

    def __int__(self):
        error = lldb.SBError()
        found = self.value.GetValueAsSigned(error)
        if error.Fail():
            raise MemoryError(error.GetCString())
        return found

    def at(self, index):
        kind = self.value.GetType().GetCanonicalType()
        if not kind.IsPointerType():
            return Value(self.value.GetChildAtIndex(index))
        kind = kind.GetPointeeType()
        return Value(self.value.CreateValueFromAddress("", int(self) + index * kind.GetByteSize(), kind))

    def target_size(self):
        return self.value.GetType().GetCanonicalType().GetPointeeType().GetByteSize()

    def held(self):
        # It is that pointer and nothing else.
        target = self.value.GetType().GetCanonicalType().GetTemplateArgumentType(0)
        # By its name: of the type of an expression's result, lldb 14 knows some members only.
        found = self.value.GetTarget().FindFirstType(target.GetName())
        target = found if found.IsValid() else target
        return Value(self.value.CreateValueFromData("", self.value.GetData(), target.GetPointerType()))

    def complete(self):
        return self.value.GetType().GetNumberOfFields() > 0

    def memory(self, address, size):
        error = lldb.SBError()
        found = self.value.GetProcess().ReadMemory(address, size, error)
        if error.Fail():
            raise MemoryError(error.GetCString())
        return found

    def characters(self):
        error = lldb.SBError()
        return self.value.GetProcess().ReadCStringFromMemory(int(self), 4096, error)


def referred(value):
    """The object itself, of a reference or a pointer to it."""
    kind, value = value.GetType(), value.GetNonSyntheticValue()
    return Value(value.Dereference() if kind.IsReferenceType() or kind.IsPointerType() else value)


def tensor(value, _):
    return shown.line(shown.tensor, referred(value))


def shape(value, _):
    return shown.line(shown.shape, referred(value))


def tape(value, _):
    return shown.line(shown.tape, referred(value))


class Nothing:
    """No children: lldb would show a reference's members after its line."""

    def __init__(self, value, _):
        pass

    def num_children(self):
        return 0


class Nodes:
    """A tape's children: a text for each node."""

    def __init__(self, value, _):
        self.value, self.count = value, 0

    def update(self):
        self.count = shown.node_count(referred(self.value))

    def num_children(self):
        return self.count

    def get_child_index(self, name):
        return int(name[1:]) if name[1:].isdecimal() else -1

    def get_child_at_index(self, index):
        if not 0 <= index < self.count:
            return None
        target = self.value.GetTarget()
        content = shown.node(referred(self.value), index).encode() + b"\0"
        data = lldb.SBData()
        data.SetData(lldb.SBError(), content, target.GetByteOrder(), target.GetAddressByteSize())
        kind = target.GetBasicType(lldb.eBasicTypeChar).GetArrayType(len(content))
        return self.value.CreateValueFromData(f"#{index}", data, kind)


def __lldb_init_module(debugger, _):
    def add(kinds, line, children, *options):
        place = "--category tapestry"
        options = " ".join((place, "--no-value") + options)
        debugger.HandleCommand(f"type summary add {options} --python-function {__name__}.{line} {kinds}")
        debugger.HandleCommand(f"type synthetic add {place} --python-class {__name__}.{children} {kinds}")

    add("tapestry::Tensor tapestry::Parameter", "tensor", "Nothing")
    add("tapestry::Dims", "shape", "Nothing")
    add("tapestry::Tape", "tape", "Nodes", "--expand")
    debugger.HandleCommand("type category enable tapestry")
