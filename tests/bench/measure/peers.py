# Measuring PyTorch: tests/bench/peers/main.py in fresh processes, under every setting that may be its best.
import json
import pathlib
import subprocess

from .processes import Failure, TooSlow, complain, json_of

MAIN = pathlib.Path(__file__).resolve().parent.parent / "peers" / "main.py"
MALLOCS = ("default", "tuned")
LONGEST = 900  # seconds that a process which also compiles may take


def version(python):
    """PyTorch's version, or None where that Python has none."""
    command = [python, "-c", "import importlib.metadata as m; print(m.version('torch'))"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{python} does not start: {error.strerror}; give --python PATH") from None
    return done.stdout.strip() if done.returncode == 0 else None


class Peer:
    """One case at one thread count; each round() adds what its processes measured."""

    def __init__(self, python, name, threads, budget, compiled):
        self.command = [python, "-B", MAIN, "--case", name, "--threads", str(threads), "--budget", str(budget)]
        self.compiled = compiled
        self.rows = []
        self.trouble = ""

    def round(self):
        first = not self.rows
        for malloc in MALLOCS:
            if self.rows and not self.best():
                return  # what did not run once does not run
            command = [*self.command, "--malloc", malloc]
            # Compiling takes long: after the first round only where it won there.
            if self.compiled and (first or self.best()["variant"].startswith("compiled")):
                try:
                    self.rows.append(json_of([*command, "--compile"], timeout=LONGEST))
                    continue
                except Failure as failure:
                    complain(failure)
                    slow = isinstance(failure, TooSlow)
                    self.trouble = "compiling takes too long" if slow else "its process fails"
                    self.compiled = False
            self.rows.append(json_of(command))

    def best(self):
        """None where nothing runs: why() says what is in the way."""
        return min((row for row in self.rows if row["variants_ms"]), key=lambda row: row["median_ms"], default=None)

    def why(self):
        return self.trouble or self.rows[-1]["why"]

    def others_ms(self):
        """What the other ways of writing it took, the best of each."""
        slower = {}
        for row in self.rows:
            for variant, value in row["variants_ms"].items():
                if variant != self.best()["variant"]:
                    slower[variant] = min(value, slower.get(variant, value))
        return slower


def products_ms(python, shapes, threads, budget):
    """PyTorch's own matrix products: milliseconds for each of the shapes, the faster allocator's."""
    results = []
    for malloc in MALLOCS:
        command = [python, "-B", MAIN, "--case", "matmul", "--threads", str(threads), "--malloc", malloc]
        command += ["--budget", str(budget), "--shapes", json.dumps(shapes)]
        results.append(json_of(command)["shapes_ms"])
    return [min(values) for values in zip(*results)]


def memory_mib(python, name):
    """Peak above the inputs of a fresh process, at one thread."""
    return json_of([python, "-B", MAIN, "--memory", name, "--threads", "1"])["peak_mib"]
