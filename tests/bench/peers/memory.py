# Peers of memory.cpp: what a fresh process takes above its inputs, at its highest.
"""VmHWM, set back when the inputs (and weights) exist, less what was resident then, in MiB. (ru_maxrss is of no
use: a child inherits it.) A first small run loads what is loaded at first use. Training steps: the first two."""

import torch
from attention import hidden_pairs, plain
from blocks import BABYGPT, TRANSFORMER, Decoder, EncoderDecoder
from common import adam, leaf, training_step
from lengths import SIZES, WAYS, inputs_of, ways
from programmed import TIME, bias_of, biased, hidden_of, masked
from recurrent import Translator


def resident(field):
    with open("/proc/self/status", encoding="utf8") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(field + ":"))


def peak(run):
    """MiB above what is resident now."""
    with open("/proc/self/clear_refs", "w", encoding="utf8") as file:
        file.write("5")
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def attention(time, causal):
    def run(time):
        inputs = [leaf(1, 8 if time > 64 else 1, time, 64) for _ in range(3)]
        hidden = hidden_pairs(time) if causal else None
        cotangent = torch.randn(inputs[0].shape)
        return peak(lambda: plain(*inputs, hidden).backward(cotangent))

    run(32)
    return run(time)


def length(way, time):
    def run(time):
        inputs = inputs_of(way, time)
        call = list(ways(way).values())[-1]  # the longest chunks keep the fewest states
        cotangent = torch.randn(inputs[0].shape)
        return peak(lambda: call(*inputs).backward(cotangent))

    run(64)
    return run(time)


def programmed(kinds, way, hidden):
    """Of the ways that are in place, which take the least. Mask and bias count as inputs."""

    def run(heads, time):
        inputs = [leaf(1, heads, time, 64) for _ in range(3)]
        call = kinds(hidden()[..., :time, :time])[way]
        cotangent = torch.randn(inputs[0].shape)
        return peak(lambda: call(*inputs).backward(cotangent))

    run(8, 32)
    return run(8, TIME)


def training(model, words, shapes):
    inputs, targets = [torch.randint(words, shape) for shape in shapes], torch.randint(words, shapes[-1])
    small = torch.nn.Linear(4, 4)
    training_step(small, adam(small.parameters(), True), [torch.randn(2, 3, 4)], torch.randint(4, (2, 3)))()
    step = training_step(model, adam(model.parameters(), True) or adam(model.parameters(), False), inputs, targets)
    return peak(lambda: [step() for _ in range(2)])


CASES = {
    "attention_T4096_full": lambda: attention(4096, False),
    "attention_T4096_causal": lambda: attention(4096, True),
    "programmed_window": lambda: programmed(masked, "masked in place", lambda: hidden_of("window")),
    "programmed_alibi": lambda: programmed(biased, "bias added in place", lambda: bias_of("alibi")),
    **{f"length_{way}_{time}": lambda w=way, t=time: length(w, t) for way in WAYS for time in SIZES},
    "babygpt_step": lambda: training(Decoder(*BABYGPT), 65, [(12, 64)]),
    "transformer_10k_step": lambda: training(EncoderDecoder(*TRANSFORMER), 10000, [(8, 64)] * 2),
    "seq2seq_10k_step": lambda: training(Translator(10000, 300, 500), 10000, [(32, 30)] * 2),
}
