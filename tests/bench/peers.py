#!/usr/bin/env python3
# Measures PyTorch on the cases of tests/bench: f32, CPU, a fresh process a measurement. Needs PyTorch.
"""The peer of our benchmarks: the same work, the same names, in PyTorch.

    peers.py                               all cases, 1 and 2 threads, both allocator settings, the best
    peers.py --filter adam --threads 1     cases whose name contains "adam"
    peers.py --case tanh_1M --threads 2 --malloc tuned       one measurement, in this process

Output: a JSON line a case and thread count: name, threads, median_ms, variant, malloc, torch.

Allocator: glibc gives big blocks back to the system and faults them in again; "tuned" tells it to keep them,
which is up to four times faster on large tensors and sometimes slower. Both are tried. A case may also be
written in several ways (variants, such as Adam's fused kernel); the fastest counts, variants_ms has them all.

What is timed ("1M" is 2^20; all values standard normal; f+b: forward and backward with a given cotangent,
old gradients dropped first):
    tanh_1M, exp_1M, sigmoid_1M, gelu_tanh_1M    forward
    softmax_4096x512, layer_norm_4096x256        f+b over the last axis; layer norm with weight and bias
    cross_entropy_4096x10000, _4096x64           f+b, mean over the rows
    adam_26M, adam_0.79M                         one step over ADAM_SHAPES
    additive_Tq20, additive_Tq1                  f+b, batch 64, 20 keys, all widths 256, both projections
                                                 included, gradients of query, key, value and weights
    gru_B64_T20_256                              f+b, 256 -> 256, gradients of input and weights, zero state
    seq2seq_tiny_step                            one training step: GRU encoder (one direction, 32 -> 64),
                                                 decoder of a GRU cell (32 + 64 -> 64) and additive attention
                                                 (all widths 64), keys projected once, linear of
                                                 [state; context] to 40 words, batch 64, 12 words in and out,
                                                 cross-entropy, backward, Adam
"""
import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time

ADAM_SHAPES = {
    "adam_26M": [(512, 512)] * 30 + [(2048, 512)] * 8 + [(10000, 512)] * 2 + [(512,)] * 20,
    "adam_0.79M": [(128, 128)] * 16 + [(512, 128)] * 8 + [(128,)] * 26,
}
TUNED = {
    "MALLOC_MMAP_THRESHOLD_": "8589934592",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
    "MALLOC_TOP_PAD_": "268435456",
}
MALLOCS = ("default", "tuned")


def leaf(*shape):
    import torch

    return torch.randn(*shape).requires_grad_()


def forward(function):
    """The forward pass of an element-wise function on 2^20 values, without a graph."""
    import torch

    x = torch.randn(1 << 20)

    def run():
        with torch.no_grad():
            function(x)

    return run


def forward_backward(function, leaves, shape):
    """One forward and backward pass with a given cotangent; old gradients are dropped, not added to."""
    import torch

    cotangent = torch.randn(shape)

    def run():
        for tensor in leaves:
            tensor.grad = None
        function().backward(cotangent)

    return run


def elementwise(name):
    def make():
        import torch

        functions = {
            "tanh_1M": torch.tanh,
            "exp_1M": torch.exp,
            "sigmoid_1M": torch.sigmoid,
            "gelu_tanh_1M": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        }
        yield "eager", forward(functions[name])

    return make


def softmax():
    x = leaf(4096, 512)
    yield "eager", forward_backward(lambda: x.softmax(-1), [x], (4096, 512))


def layer_norm():
    import torch

    x, weight, bias = leaf(4096, 256), leaf(256), leaf(256)

    def run():
        return torch.nn.functional.layer_norm(x, (256,), weight, bias)

    yield "eager", forward_backward(run, [x, weight, bias], (4096, 256))


def cross_entropy(classes):
    def make():
        import torch

        loss = torch.nn.functional.cross_entropy
        logits, targets = leaf(4096, classes), torch.randint(classes, (4096,))
        yield "eager", forward_backward(lambda: loss(logits, targets), [logits], ())

    return make


def adam(name):
    def make():
        import torch

        weights = [leaf(*shape) for shape in ADAM_SHAPES[name]]
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        for variant in ("default", "fused", "foreach"):
            settings = {} if variant == "default" else {variant: True}
            try:
                optimiser = torch.optim.Adam(weights, lr=1e-3, **settings)
                optimiser.step()
            except (RuntimeError, TypeError):  # this PyTorch has no such kernel for the CPU
                continue
            yield variant, optimiser.step

    return make


def additive_parts(width):
    import torch

    return [torch.nn.Linear(width, outputs, bias=False) for outputs in (width, width, 1)]


def additive_attend(query, projected, value, score, vector):
    """(batch, queries, width) from projected query and keys; `vector`: v as a vector instead of a matrix."""
    hidden = (query[:, :, None] + projected[:, None]).tanh()
    scores = hidden @ score.weight[0] if vector else score(hidden)[..., 0]
    return scores.softmax(-1) @ value


def additive(queries):
    def make():
        width = 256
        for variant in ("linear", "vector"):
            query, key, value = leaf(64, queries, width), leaf(64, 20, width), leaf(64, 20, width)
            to_query, to_key, score = additive_parts(width)

            def run():
                return additive_attend(to_query(query), to_key(key), value, score, variant == "vector")

            leaves = [query, key, value, to_query.weight, to_key.weight, score.weight]
            yield variant, forward_backward(run, leaves, (64, queries, width))

    return make


def gru():
    import torch

    for variant, batch_first in (("time first", False), ("batch first", True)):
        layer = torch.nn.GRU(256, 256, batch_first=batch_first)
        shape = (64, 20, 256) if batch_first else (20, 64, 256)
        x = leaf(*shape)
        yield variant, forward_backward(lambda: layer(x)[0], [x, *layer.parameters()], shape)


def seq2seq():
    import torch

    nn, words, width, hidden, batch, length = torch.nn, 40, 32, 64, 64, 12
    for variant, vector, settings in (
        ("linear, Adam default", False, {}),
        ("linear, Adam fused", False, {"fused": True}),
        ("vector, Adam fused", True, {"fused": True}),
    ):
        source_table, target_table = nn.Embedding(words, width), nn.Embedding(words, width)
        encoder = nn.GRU(width, hidden, batch_first=True)
        cell = nn.GRUCell(width + hidden, hidden)
        to_query, to_key, score = additive_parts(hidden)
        output = nn.Linear(2 * hidden, words)
        parts = nn.ModuleList([source_table, target_table, encoder, cell, to_query, to_key, score, output])
        try:
            optimiser = torch.optim.Adam(parts.parameters(), lr=1e-3, **settings)
        except (RuntimeError, TypeError):
            continue
        source, previous, target = (torch.randint(words, (batch, length)) for _ in range(3))

        def step():
            memory, state = encoder(source_table(source))
            state, projected, outputs = state[0], to_key(memory), []
            for word in target_table(previous).unbind(1):
                query = to_query(state)[:, None]
                context = additive_attend(query, projected, memory, score, vector)[:, 0]
                state = cell(torch.cat((word, context), 1), state)
                outputs.append(torch.cat((state, context), 1))
            logits = output(torch.stack(outputs, 1)).flatten(0, 1)
            optimiser.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(logits, target.flatten()).backward()
            optimiser.step()

        yield variant, step


# Each makes (variant, function to time) pairs; only the one that is measured is built.
CASES = {
    **{name: elementwise(name) for name in ("tanh_1M", "exp_1M", "sigmoid_1M", "gelu_tanh_1M")},
    "softmax_4096x512": softmax,
    "layer_norm_4096x256": layer_norm,
    "cross_entropy_4096x10000": cross_entropy(10000),
    "cross_entropy_4096x64": cross_entropy(64),
    "adam_26M": adam("adam_26M"),
    "adam_0.79M": adam("adam_0.79M"),
    "additive_Tq20": additive(20),
    "additive_Tq1": additive(1),
    "gru_B64_T20_256": gru,
    "seq2seq_tiny_step": seq2seq,
}


def median_ms(function, budget):
    """Warms up, then the median of many timings of short bursts within `budget` seconds, at least five."""
    clock = time.perf_counter
    begin, calls = clock(), 0
    while calls < 3 or (clock() - begin < min(0.2, budget) and calls < 1000):
        function()
        calls += 1
    start = clock()
    function()
    burst = max(1, int(0.003 / max(clock() - start, 1e-7)))
    times = []
    gc.collect()
    gc.disable()
    begin = clock()
    while len(times) < 5 or clock() - begin < budget:
        start = clock()
        for _ in range(burst):
            function()
        times.append((clock() - start) / burst)
    gc.enable()
    return statistics.median(times) * 1e3


def environment(threads, malloc, capability):
    """What this process must see before PyTorch and glibc start."""
    wanted = {name: value for name, value in os.environ.items() if name not in TUNED}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        wanted[name] = str(threads)
    if malloc == "tuned":
        wanted.update(TUNED)
    if capability == "best":
        with open("/proc/cpuinfo", encoding="utf8") as file:
            capability = "avx512" if "avx512bw" in file.read() else "auto"
    if capability != "auto":
        wanted["ATEN_CPU_CAPABILITY"] = capability
    return wanted


def measure(options):
    """One case, one thread count and one allocator setting, in this process or the one that replaces it."""
    wanted = environment(options.threads[0], options.malloc, options.capability)
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, os.path.abspath(__file__), *sys.argv[1:]], wanted)
    import torch

    torch.set_num_threads(options.threads[0])
    torch.manual_seed(1)
    results = {variant: median_ms(function, options.budget) for variant, function in CASES[options.case]()}
    variant = min(results, key=results.get)
    row = {"name": options.case, "threads": options.threads[0], "median_ms": round(results[variant], 5)}
    row.update({"variant": variant, "malloc": options.malloc, "torch": torch.__version__})
    if len(results) > 1:
        row["variants_ms"] = {name: round(value, 5) for name, value in results.items()}
    print(json.dumps(row), flush=True)


def measure_all(options):
    names = [name for name in CASES if options.filter in name]
    for threads in options.threads:
        for name in names:
            rows = []
            for _ in range(options.rounds):
                for malloc in MALLOCS:
                    command = [sys.executable, os.path.abspath(__file__), "--case", name, "--malloc", malloc]
                    command += ["--threads", str(threads), "--budget", str(options.budget)]
                    command += ["--capability", options.capability]
                    rows.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
            print(json.dumps(min(rows, key=lambda row: row["median_ms"])), flush=True)


def main():
    parser = argparse.ArgumentParser(description="PyTorch on the cases of tests/bench.")
    parser.add_argument("--threads", default="1,2", help="thread counts, by commas")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes per allocator setting")
    parser.add_argument("--budget", type=float, default=0.6, help="seconds of measuring a variant")
    parser.add_argument("--capability", default="best", help="ATEN_CPU_CAPABILITY; best: avx512 if any")
    parser.add_argument("--case", choices=CASES, help="measure this one, in this process")
    parser.add_argument("--malloc", choices=MALLOCS, default="default", help="with --case")
    options = parser.parse_args()
    try:
        options.threads = [int(count) for count in options.threads.split(",")]
    except ValueError:
        options.threads = []
    if not options.threads or min(options.threads) < 1:
        parser.error("--threads wants whole numbers from 1, such as 1,2")
    if options.rounds < 1:
        parser.error("--rounds wants a number from 1")
    if options.case:
        if len(options.threads) != 1:
            parser.error("--case measures at one thread count: add --threads 1")
        measure(options)
    else:
        measure_all(options)


if __name__ == "__main__":
    main()
