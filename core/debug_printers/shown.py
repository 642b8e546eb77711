# What gdb and lldb show of tensors, shapes and tapes. Each reads memory in its own way: gdb_printers.py and
# lldb_printers.py make a Value of it.
"""What they print with it:

    w     Tensor (2) f32 "w" [1, 3], leaf
    y     Tensor (2) f32 [1, 9], node #0 (mul) of tape 1
    tape  Tape 1: 1 node, 1 leaf = {#0 = mul (2) f32, inputs w, w, main.cpp:12}
    shape (2,3)
"""
import os
import struct

SHOWN = 8  # values of a tensor
MAX_RANK = 6  # kMaxRank in core/tensor/
UNREADABLE = "unreadable: its constructor has not run, or its memory was overwritten"
NAMES = {0: ("f32", "f", 4), 1: ("f64", "d", 8)}


class Value:
    """A variable, or a part of one, as a debugger reads it; int() of a number, an enumerator or a pointer."""

    def __getitem__(self, member):
        """A member of an object, of its class or of a base."""
        raise NotImplementedError

    def __int__(self):
        raise NotImplementedError

    def at(self, index):
        """What a pointer or an array has at the index."""
        raise NotImplementedError

    def target_size(self):
        """Bytes of what a pointer points to."""
        raise NotImplementedError

    def held(self):
        """The pointer that a std::unique_ptr with the default deleter holds."""
        raise NotImplementedError

    def complete(self):
        """Whether the debugger knows this object's members."""
        raise NotImplementedError

    def memory(self, address, size):
        """Bytes of the program."""
        raise NotImplementedError

    def characters(self):
        """The text that a const char* points to."""
        raise NotImplementedError

    def __bool__(self):
        return int(self) != 0


def line(show, value):
    """What show says of the value; debuggers ask for variables that do not exist yet too."""
    try:
        return show(value)
    except Exception:
        return UNREADABLE


def count(vector):
    """A std::vector's size."""
    start = vector["_M_impl"]["_M_start"]
    found = (int(vector["_M_impl"]["_M_finish"]) - int(start)) // start.target_size()
    if not 0 <= found < 1 << 31:
        raise ValueError("not a vector")
    return found


def element(vector, index):
    return vector["_M_impl"]["_M_start"].at(index)


def text(string):
    """A std::string as Python's."""
    length = int(string["_M_string_length"])
    start = int(string["_M_dataplus"]["_M_p"])
    return string.memory(start, length).decode("utf-8", "replace") if length else ""


def numbers(dims):
    rank = int(dims["rank_"])
    if not 0 <= rank <= MAX_RANK:
        raise ValueError("not a shape")
    return [int(dims["values_"]["_M_elems"].at(axis)) for axis in range(rank)]


def shape(dims):
    return "(" + ",".join(map(str, numbers(dims))) + ")"


def name_of(impl):
    """The name of a leaf, or an empty text."""
    leaf = impl["leaf"].held()
    return text(leaf.at(0)["name"]) if leaf else ""


def first_values(impl):
    """The first values in row-major order, read through the strides."""
    _, code, size = NAMES[int(impl["dtype"])]
    extents, strides = numbers(impl["shape"]), numbers(impl["stride"])
    total = 1
    for extent in extents:
        total *= extent
    buffer = impl["buffer"]["object_"]
    start = int(buffer) + buffer.target_size() + int(impl["offset"]) * size
    found = []
    for place in range(min(total, SHOWN)):
        offset = 0
        for axis in reversed(range(len(extents))):
            place, index = divmod(place, extents[axis])
            offset += index * strides[axis]
        found.append(f"{struct.unpack('<' + code, impl.memory(start + offset * size, size))[0]:.6g}")
    return "[" + ", ".join(found) + (", ...]" if total > SHOWN else "]")


def tensor(value):
    """Shape, type, name, first values, and where it stands on a tape."""
    pointer = value["impl_"]["object_"]
    if not pointer:
        return "Tensor without a value"
    impl = pointer.at(0)
    words = ["Tensor", shape(impl["shape"]), NAMES[int(impl["dtype"])][0]]
    name = name_of(impl)
    if name:
        words.append(f'"{name}"')
    words.append(first_values(impl) if impl["buffer"]["object_"] else "no values yet")
    line = " ".join(words)
    leaf = impl["leaf"].held()
    if leaf:
        if leaf.at(0)["frozen"]:
            line += ", frozen"
        line += ", has a gradient" if leaf.at(0)["grad"]["impl_"]["object_"] else ", leaf"
    if int(impl["node"]) >= 0:
        origin = impl["origin"].characters() if impl["origin"] else "op"
        line += f", node #{int(impl['node'])} ({origin}) of tape {tape_number(impl['tape'])}"
    elif impl["computed_off_tape"]:
        line += ", computed outside the tape"
    return line


def tape_number(serial):
    """"7": the seventh tape; "7.2": after two backwards."""
    tape, round = divmod(int(serial), 1 << 20)  # kRounds in core/tape/graph.hpp
    return f"{tape}.{round}" if round else f"{tape}"


def graph_of(tape):
    """The tape's inside, or None where core/ was built without -g."""
    graph = tape["graph_"].held().at(0)
    return graph if graph.complete() else None


def tape(value):
    """How many nodes and leaves."""
    graph = graph_of(value)
    if graph is None:
        return "Tape (build core/ with -g to see its nodes: cmake --preset debug)"
    serial = tape_number(graph["serial"])
    nodes, leaves = count(graph["nodes"]), count(graph["leaves"])
    return f"Tape {serial}: {'1 node' if nodes == 1 else f'{nodes} nodes'}, " \
           f"{'1 leaf' if leaves == 1 else f'{leaves} leaves'}"


def node_count(value):
    """A tape's nodes; none where they can't be read."""
    try:
        graph = graph_of(value)
        return 0 if graph is None else count(graph["nodes"])
    except Exception:
        return 0


def node(value, index):
    """A node of a tape as Tape::table() shows it."""
    graph = graph_of(value)
    node = element(graph["nodes"], index)

    def input_name(edge):
        target = element(graph["edges"], edge)["target"]
        index = int(target["index"])
        if not target["is_leaf"]:
            return f"#{index}"
        leaf = element(graph["leaves"], index)
        return name_of(leaf["impl_"]["object_"].at(0)) or f"leaf {index}"

    first = int(node["first_edge"])
    inputs = [input_name(edge) for edge in range(first, first + int(node["edges"]))]
    words = f"{node['op'].characters()} {shape(node['shape'])} {NAMES[int(node['dtype'])][0]}"
    file, line = os.path.basename(node["at"]["file"].characters()), int(node["at"]["line"])
    return f"{words}, inputs {', '.join(inputs)}, {file}:{line}"
