# Measuring ours: the bench_* programs of a build folder.
import os
import pathlib
import re

from .processes import Failure, json_of

REPETITIONS = 7  # timings within one process, whose median is taken
TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


def environment(threads):
    count = str(threads)
    return dict(os.environ, TAPESTRY_THREADS=count, OPENBLAS_NUM_THREADS=count, OMP_NUM_THREADS=count)


class Ours:
    """The programs that are there, by what follows "bench_" in their names."""

    def __init__(self, build):
        self.programs = {}
        for path in (pathlib.Path(build) / "tests").glob("bench_*"):
            if path.is_file() and os.access(path, os.X_OK):
                self.programs[path.name.removeprefix("bench_")] = path

    def has(self, program):
        return program in self.programs

    def json(self, program, *arguments, threads=1):
        return json_of([self.programs[program], *arguments], environment(threads))

    def milliseconds(self, case, threads, budget):
        """The median of one fresh process."""
        rows = self.json(
            case.program,
            f"--benchmark_filter=^{re.escape(case.benchmark)}(/|$)",
            "--benchmark_format=json",
            f"--benchmark_repetitions={REPETITIONS}",
            f"--benchmark_min_time={budget / REPETITIONS}",
            f"--benchmark_min_warmup_time={min(0.2, budget)}",
            "--benchmark_report_aggregates_only=true",
            threads=threads,
        )["benchmarks"]
        for row in rows:
            if row.get("error_occurred"):
                raise Failure(f"bench_{case.program}: {case.benchmark}: {row.get('error_message', 'failed')}")
            if row.get("aggregate_name") == "median":
                return row["real_time"] * TO_MS[row["time_unit"]] / case.per
        raise Failure(f"bench_{case.program} gave no median for {case.benchmark}")
