# Measuring PyTorch: tests/bench/peers/main.py in fresh processes, in every way in which it may be fastest.
import itertools
import json
import os
import pathlib
import subprocess
from dataclasses import dataclass

from .processes import Failure, TooSlow, complain, json_of

MAIN = pathlib.Path(__file__).resolve().parent.parent / "peers" / "main.py"
MALLOCS = ("default", "tuned")
JAX = MAIN.with_name("jax_steps.py")
LONGEST = 900  # seconds that a process which also compiles may take
BEHIND = 1.3  # a way that took this many times the best time in the first round is not measured again


def version(python, package="torch"):
    """The package's version, or None where that Python has none."""
    command = [python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{python} does not start: {error.strerror}; give --python PATH") from None
    return done.stdout.strip() if done.returncode == 0 else None


@dataclass(frozen=True)
class Way:
    """How a peer's process runs. name: the release, where there are several, and MKL's path, where it is not its own
    choice. preload: a library that answers MKL's question about the processor."""

    python: str
    malloc: str
    name: str = ""
    preload: str = ""
    program: pathlib.Path = MAIN

    def command(self, *arguments):
        return [self.python, "-B", self.program, *arguments, "--malloc", self.malloc]

    def environment(self):
        if not self.preload:
            return None
        return dict(os.environ, LD_PRELOAD=" ".join(filter(None, (self.preload, os.environ.get("LD_PRELOAD")))))


def ways(versions, preload):
    """All of them. versions: Python → release of PyTorch; preload: the library of mkl.py, or None."""
    found = []
    for (python, release), library in itertools.product(versions.items(), filter(None, ("own", preload))):
        intel = library != "own"
        parts = ([f"PyTorch {release}"] if len(versions) > 1 else []) + (["MKL's path for Intel"] if intel else [])
        found += [Way(python, malloc, ", ".join(parts), library if intel else "") for malloc in MALLOCS]
    return found


def jax_ways(python):
    """The ways of JAX, whose steps are always compiled."""
    return [Way(python, malloc, f"JAX {version(python, 'jax')}", program=JAX) for malloc in MALLOCS]


class Peer:
    """One case at one thread count; each round() adds what its processes measured."""

    def __init__(self, its_ways, name, threads, budget, compiled):
        self.arguments = ["--case", name, "--threads", str(threads), "--budget", str(budget)]
        self.ways, self.compiled = its_ways, compiled
        self.rows = []
        self.trouble = ""

    def round(self):
        first = not self.rows
        for way in self.ways:
            if self.rows and not self.best():
                return  # what did not run once does not run
            self.rows.append({**self.measure(way, first), "way": way.name})
        if first and self.best():
            longest = BEHIND * self.best()["median_ms"]
            self.ways = [way for way, row in zip(self.ways, self.rows) if row.get("median_ms", longest) <= longest]

    def measure(self, way, first):
        command = way.command(*self.arguments)
        # Compiling takes long: after the first round only where it won there.
        if self.compiled and (first or self.best()["variant"].startswith("compiled")):
            try:
                return json_of([*command, "--compile"], way.environment(), LONGEST)
            except Failure as failure:
                complain(failure)
                slow = isinstance(failure, TooSlow)
                self.trouble = "compiling takes too long" if slow else "its process fails"
                self.compiled = False
        return json_of(command, way.environment())

    def best(self):
        """None where nothing runs: why() says what is in the way."""
        return min((row for row in self.rows if row["variants_ms"]), key=lambda row: row["median_ms"], default=None)

    def why(self):
        return self.trouble or self.rows[-1]["why"]

    def how(self):
        """The fastest way, and the times of the other variants."""
        best = self.best()
        if not best:
            return f"does not run: {self.why()}"
        text = ", ".join(filter(None, (best["variant"], f"{best['malloc']} malloc", best["way"])))
        return text + "".join(f"; {variant} {value:.4g}" for variant, value in self.others_ms().items())

    def others_ms(self):
        """What the other ways of writing it took, the best of each."""
        slower = {}
        for row in self.rows:
            for variant, value in row["variants_ms"].items():
                if variant != self.best()["variant"]:
                    slower[variant] = min(value, slower.get(variant, value))
        return slower


def products_ms(its_ways, shapes, threads, budget):
    """PyTorch's own matrix products: for each of the shapes (milliseconds, name) of the fastest way."""
    arguments = ["--case", "matmul", "--threads", str(threads), "--budget", str(budget), "--shapes", json.dumps(shapes)]
    results = []
    for way in its_ways:
        times = json_of(way.command(*arguments), way.environment())["shapes_ms"]
        results.append([(value, way.name) for value in times])
    return [min(values) for values in zip(*results)]


def memory_mib(pythons, name):
    """Peak above the inputs of a fresh process, at one thread; the least of these Pythons."""
    command = ["-B", MAIN, "--memory", name, "--threads", "1"]
    return min(json_of([python, *command])["peak_mib"] for python in pythons)
