# Golden cases of the plain RNN, GRU and LSTM: PyTorch's modules with their names, layouts and gate order.
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from recorder import Golden

# name: (batch, time, input, hidden, layers, both directions, lengths, initial state given)
CASES = {
    "one_direction": (3, 5, 4, 3, 1, False, None, True),
    "no_initial_state": (3, 5, 4, 3, 1, False, None, False),
    "both_directions": (3, 5, 4, 3, 1, True, None, True),
    "two_layers": (3, 5, 4, 3, 2, False, None, True),
    "two_layers_both_directions": (3, 5, 4, 3, 2, True, None, True),
    "wide": (2, 3, 7, 9, 1, False, None, True),
    "lengths": (3, 5, 4, 3, 1, False, [3, 5, 1], True),
    "lengths_both_directions": (3, 5, 4, 3, 1, True, [2, 1, 5], True),
    "lengths_last_step_unused": (3, 5, 4, 3, 1, True, [3, 4, 1], True),
    "lengths_two_layers_both_directions": (4, 5, 4, 3, 2, True, [1, 5, 2, 4], True),
    "lengths_wide": (3, 4, 7, 9, 1, True, [4, 1, 3], True),
}

GATES = {"rnn": "one", "gru": "r, z, n", "lstm": "i, f, g, o"}
MODULES = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}


def parameters_of(module, draw):
    scale = module.hidden_size**-0.5
    return {name: draw.normal(*value.shape, scale=scale) for name, value in module.named_parameters()}


def sequence_case(golden, kind, case):
    batch, time, width, hidden, layers, both, lengths, given = CASES[case]
    draw = golden.draw(case)
    module = MODULES[kind](width, hidden, layers, batch_first=True, bidirectional=both).double()
    weights = parameters_of(module, draw)
    states = layers * (2 if both else 1)
    inputs = {"input": draw.normal(batch, time, width), **weights}
    if given:
        inputs["initial.h"] = draw.normal(states, batch, hidden, scale=0.5)
        if kind == "lstm":
            inputs["initial.c"] = draw.normal(states, batch, hidden, scale=0.5)

    def run(x):
        state = None
        if given:
            state = (x["initial.h"], x["initial.c"]) if kind == "lstm" else x["initial.h"]
        sequence = x["input"]
        if lengths is not None:
            counts = torch.tensor(lengths)
            sequence = pack_padded_sequence(sequence, counts, batch_first=True, enforce_sorted=False)
        own = {name: x[name] for name in weights}
        output, final = torch.func.functional_call(module, own, (sequence, state))
        if lengths is not None:
            output, _ = pad_packed_sequence(output, batch_first=True, total_length=time)
        if kind == "lstm":
            return {"output": output, "final.h": final[0], "final.c": final[1]}
        return {"output": output, "final.h": final}

    golden.record(case, inputs, run, {"lengths": lengths} if lengths else None)


def cell_case(golden, kind):
    batch, width, hidden = 3, 4, 5
    draw = golden.draw("cell")
    cell = CELLS[kind](width, hidden).double()
    weights = parameters_of(cell, draw)
    inputs = {"input": draw.normal(batch, width), **weights, "state.h": draw.normal(batch, hidden, scale=0.5)}
    if kind == "lstm":
        inputs["state.c"] = draw.normal(batch, hidden, scale=0.5)

    def run(x):
        state = (x["state.h"], x["state.c"]) if kind == "lstm" else x["state.h"]
        own = {name: x[name] for name in weights}
        result = torch.func.functional_call(cell, own, (x["input"], state))
        return {"next.h": result[0], "next.c": result[1]} if kind == "lstm" else {"next.h": result}

    golden.record("cell", inputs, run)


def subject(kind):
    def build():
        golden = Golden(kind, f"{kind} over (batch, time, width); gates stacked in a weight: {GATES[kind]}")
        golden.note("states", "(layers * directions, batch, hidden), layer by layer, forward before reverse")
        golden.note("lengths", "output is 0 after a row's length; its final state is the one at that length")
        for case in CASES:
            sequence_case(golden, kind, case)
        cell_case(golden, kind)
        return golden

    return build


SUBJECTS = tuple(subject(kind) for kind in MODULES)
