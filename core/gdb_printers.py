# Tensors and tapes in gdb: `source core/gdb_printers.py` (installed: PREFIX/share/tapestry/gdb/gdb_printers.py),
# then `print x`. Wants code built with -g.
"""What gdb prints with it:

    w     Tensor (2) f32 "w" [1, 3], leaf
    y     Tensor (2) f32 [1, 9], node #0 (mul) of tape 1
    tape  Tape 1: 1 node, 1 leaf = {#0 = mul (2) f32, inputs w, w, main.cpp:12}
    shape (2,3)
"""
import os
import struct

import gdb

SHOWN = 8  # values of a tensor
NAMES = {0: ("f32", "f", 4), 1: ("f64", "d", 8)}


def pointer(smart):
    """What a unique_ptr with the default deleter holds: it is that pointer and nothing else."""
    target = smart.type.strip_typedefs().template_argument(0)
    return smart.address.cast(target.pointer().pointer()).dereference()


def elements(vector):
    """A std::vector's elements, one after another."""
    at, end = vector["_M_impl"]["_M_start"], vector["_M_impl"]["_M_finish"]
    while at != end:
        yield at.dereference()
        at += 1


def text(string):
    """A std::string as Python's."""
    length = int(string["_M_string_length"])
    return string["_M_dataplus"]["_M_p"].string("utf-8", "replace", length=length) if length else ""


def numbers(dims):
    return [int(dims["values_"]["_M_elems"][axis]) for axis in range(int(dims["rank_"]))]


def shape_of(dims):
    return "(" + ",".join(map(str, numbers(dims))) + ")"


def name_of(body):
    """The name of a leaf, or an empty text."""
    leaf = pointer(body["leaf"])
    return text(leaf["name"]) if leaf else ""


def first_values(body):
    """The first values in row-major order, read through the strides."""
    _, code, size = NAMES[int(body["dtype"])]
    shape, stride = numbers(body["shape"]), numbers(body["stride"])
    count = 1
    for extent in shape:
        count *= extent
    buffer = body["buffer"]["object_"]
    start = int(buffer) + buffer.dereference().type.sizeof + int(body["offset"]) * size
    shown = []
    for place in range(min(count, SHOWN)):
        offset = 0
        for axis in reversed(range(len(shape))):
            place, index = divmod(place, shape[axis])
            offset += index * stride[axis]
        memory = gdb.selected_inferior().read_memory(start + offset * size, size)
        shown.append(f"{struct.unpack('<' + code, memory)[0]:.6g}")
    return "[" + ", ".join(shown) + (", ...]" if count > SHOWN else "]")


class DimsPrinter:
    """A shape, or strides."""

    def __init__(self, dims):
        self.dims = dims

    def to_string(self):
        return shape_of(self.dims)


class TensorPrinter:
    """Shape, type, name, first values, and where it stands on a tape."""

    def __init__(self, tensor):
        self.body = tensor["body_"]["object_"]

    def to_string(self):
        if not self.body:
            return "Tensor without a value"
        body = self.body.dereference()
        words = ["Tensor", shape_of(body["shape"]), NAMES[int(body["dtype"])][0]]
        name = name_of(body)
        if name:
            words.append(f'"{name}"')
        words.append(first_values(body) if body["buffer"]["object_"] else "no values yet")
        line = " ".join(words)
        leaf = pointer(body["leaf"])
        if leaf:
            if leaf["frozen"]:
                line += ", frozen"
            line += ", has a gradient" if leaf["grad"]["body_"]["object_"] else ", leaf"
        if int(body["node"]) >= 0:
            origin = body["origin"].string() if body["origin"] else "op"
            line += f", node #{int(body['node'])} ({origin}) of tape {tape_number(body['tape'])}"
        elif body["outside"]:
            line += ", computed outside the tape"
        return line


def tape_number(serial):
    """"7": the seventh tape; "7.2": after two backwards."""
    tape, round = divmod(int(serial), 1 << 20)  # kRounds in core/tape/records.hpp
    return f"{tape}.{round}" if round else f"{tape}"


class TapePrinter:
    """How many nodes, and each node as Tape::table() shows it."""

    def __init__(self, tape):
        self.records = None
        pointed = pointer(tape["records_"])
        if pointed.dereference().type.fields():  # no fields: core/ was built without -g
            self.records = pointed.dereference()
        self.serial = tape_number(tape["serial_"])

    def to_string(self):
        if self.records is None:
            return f"Tape {self.serial} (build core/ with -g to see its nodes: cmake --preset debug)"
        nodes = sum(1 for _ in elements(self.records["nodes"]))
        leaves = sum(1 for _ in elements(self.records["leaves"]))
        of_nodes = "1 node" if nodes == 1 else f"{nodes} nodes"
        return f"Tape {self.serial}: {of_nodes}, {'1 leaf' if leaves == 1 else f'{leaves} leaves'}"

    def input(self, target):
        if target >= 0:
            return f"#{target}"
        leaf = self.records["leaves"]["_M_impl"]["_M_start"][-1 - target]["body_"]["object_"].dereference()
        return name_of(leaf) or f"leaf {-1 - target}"

    def children(self):
        if self.records is None:
            return
        edges = self.records["edges"]["_M_impl"]["_M_start"]
        for number, node in enumerate(elements(self.records["nodes"])):
            first = int(node["first_edge"])
            inputs = [self.input(int(edges[i]["target"])) for i in range(first, first + int(node["edges"]))]
            line = f"{node['op'].string()} {shape_of(node['shape'])} {NAMES[int(node['dtype'])][0]}"
            line += ", inputs " + ", ".join(inputs)
            line += f", {os.path.basename(node['at']['file'].string())}:{int(node['at']['line'])}"
            yield f"#{number}", line


def find(value):
    """The printer for a value, or None."""
    kind = value.type.strip_typedefs().unqualified()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        kind, value = kind.target().strip_typedefs().unqualified(), value.referenced_value()
    if kind.name == "tapestry::Parameter":
        return TensorPrinter(value.cast(gdb.lookup_type("tapestry::Tensor")))
    printer = {
        "tapestry::Tensor": TensorPrinter,
        "tapestry::Tape": TapePrinter,
        "tapestry::Dims": DimsPrinter,
    }.get(kind.name)
    return printer(value) if printer else None


find.__name__ = "tapestry"
gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "__name__", "") != "tapestry"] + [find]
