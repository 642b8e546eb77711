# What a case is.
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    goals: tuple  # (one thread, two threads); None: measured without a goal
    program: str  # bench_<program> of the build folder
    work: tuple = ()
    ours: str = ""  # the benchmark's name, where it is not the case's
    per: int = 1  # times that one run of the benchmark does the thing
    longest_ns: float = None  # a goal for our own time instead of a ratio
    jax: bool = False  # the peer is JAX, which runs only with --jax
    beside: "Case" = None  # a benchmark of ours in the place of the peer's

    @property
    def benchmark(self):
        return self.ours or self.name

    def goal(self, threads):
        return self.goals[min(threads, 2) - 1] if self.goals else None
