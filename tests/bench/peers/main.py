#!/usr/bin/env python3
# Measures PyTorch on one case of tests/bench, in this process: f32, CPU. Needs PyTorch.
"""The peer of our benchmarks: the same work under the same names. What a case is, the files beside this one say.

    main.py --list                                          the cases
    main.py --case tanh_1M --threads 2 --malloc tuned       one measurement
    main.py --memory babygpt_step --threads 1               peak memory above the inputs

Output: a JSON object: name, threads, median_ms, variant, variants_ms, malloc, torch; or name, peak_mib. Where no
variant runs: variants_ms without any, and why.

Allocator: glibc gives big blocks back to the system and faults them in again; "tuned" tells it to keep them,
which is up to four times faster on large tensors and sometimes slower. Denormal numbers are taken for 0 there, too:
a bias that hides far keys makes many, and products with them are slow. Both are to be tried. A case may be written
in several ways (variants, such as Adam's fused kernel); the fastest counts."""
import argparse
import gc
import json
import math
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True
MODULES = ("kernels", "attention", "recurrent", "blocks", "translators", "generation", "programmed", "flex", "lengths")
TUNED = {
    "MALLOC_MMAP_THRESHOLD_": "8589934592",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
    "MALLOC_TOP_PAD_": "268435456",
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
    wanted["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # no workers that stay beside what is timed
    if malloc == "tuned":
        wanted.update(TUNED)
    if capability == "best":
        with open("/proc/cpuinfo", encoding="utf8") as file:
            capability = "avx512" if "avx512bw" in file.read() else "auto"
    if capability != "auto":
        wanted["ATEN_CPU_CAPABILITY"] = capability
    return wanted


def find_case(name):
    for module in MODULES:
        loaded = __import__(module)
        if name in loaded.CASES:
            return loaded.CASES[name], getattr(loaded, "PER", {}).get(name, 1)
    sys.exit(f"no case {name}: --list shows them")


def phrase(error):
    """The heart of a message that may have pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}"[:120] if lines else type(error).__name__


def measure_variants(options):
    make, per = find_case(options.case)
    results, why = {}, "only with --compile"
    for variant, function in make():
        try:
            results[variant] = median_ms(function, options.budget) / per
        except Exception as error:  # compiling fails in more ways than can be named
            if not variant.startswith("compiled"):
                raise
            print(f"{options.case}, {variant}: {type(error).__name__}", file=sys.stderr)
            why = phrase(error)
    if not results:
        return {"variants_ms": {}, "why": why}
    variant = min(results, key=results.get)
    rounded = {name: float(f"{value:.5g}") for name, value in results.items()}
    return {"median_ms": rounded[variant], "variant": variant, "variants_ms": rounded}


def measure_products(options):
    from kernels import products

    times = [median_ms(function, options.budget / 4) for function in products(json.loads(options.shapes))]
    return {"median_ms": math.exp(sum(map(math.log, times)) / len(times)), "shapes_ms": times}


def measure(options):
    """One case, one thread count and one allocator setting, in this process or the one that replaces it."""
    wanted = environment(options.threads, options.malloc, options.capability)
    if wanted != dict(os.environ):
        arguments = [sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]]
        os.execve(sys.executable, arguments, wanted)
    import torch
    from common import settings

    settings.compile = options.compile
    if options.malloc == "tuned":
        torch.set_flush_denormal(True)  # before there are threads: they take it over
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    row = {"name": options.case or options.memory, "threads": options.threads, "malloc": options.malloc}
    row["torch"] = torch.__version__
    if options.memory:
        from memory import CASES

        if options.memory not in CASES:
            sys.exit(f"no memory case {options.memory}: there are {', '.join(CASES)}")
        row["peak_mib"] = round(CASES[options.memory](), 1)
    else:
        row.update(measure_products(options) if options.case == "matmul" else measure_variants(options))
    print(json.dumps(row), flush=True)


def main():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    add = parser.add_argument
    add("--case", help="measure this one")
    add("--memory", help="measure the memory of this one")
    add("--threads", type=int, default=1)
    add("--malloc", choices=("default", "tuned"), default="default")
    add("--budget", type=float, default=0.6, help="seconds of measuring a variant")
    add("--capability", default="best", help="ATEN_CPU_CAPABILITY; best: avx512 if any")
    add("--compile", action="store_true", help="the compiled variants, too")
    add("--shapes", help="with --case matmul: the shapes as JSON")
    add("--list", action="store_true", help="show the cases")
    options = parser.parse_args()
    if options.threads < 1 or options.budget <= 0:
        parser.error("--threads wants a number from 1, --budget one above 0")
    if options.list:
        print(*(name for module in MODULES for name in __import__(module).CASES), sep="\n")
    elif bool(options.case) == bool(options.memory):
        parser.error("give one of --case and --memory")
    elif options.case == "matmul" and not options.shapes:
        parser.error("--case matmul wants --shapes")
    else:
        measure(options)


if __name__ == "__main__":
    main()
