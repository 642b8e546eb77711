# What the campaigns share: running a lesson under a limit, small texts, time, and the last line.
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from arguments import Parser, at_least  # noqa: E402

LIMIT = 60  # seconds that a single run may take
MEMORY = 3 << 30  # bytes that a single run may map

ENGLISH = "the a small old red boy girl dog cat house tree sees takes finds runs sleeps near under with and".split()
FRENCH = (
    "le la petit vieux rouge garçon fille chien chat maison arbre " "voit prend trouve court dort près sous avec et"
).split()


class Run:
    """What became of a lesson: exit code (negative: the signal that ended it), what it printed, how long it took."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.seconds = command, code, seconds
        self.out_bytes, self.err_bytes = out, err
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def complaints(self):
        """The sentences on standard error that come from the lesson itself; its progress lines begin with spaces."""
        return [line for line in self.err.splitlines() if not line.startswith("  ") and line.strip()]


class Campaign:
    """One campaign: its command line, its lessons, its scratch folder, its failures."""

    def __init__(self, name, about):
        parser = Parser(description=about)
        parser.add_argument("--lessons", required=True, help="folder of the built lessons: NN_slug/lesson")
        parser.add_argument("--faults", default="", help="the library that spoils system calls; empty: there is none")
        parser.add_argument("--mpirun", default="", help="what starts ranks; empty: there is none")
        parser.add_argument("--rounds", type=at_least(0), default=0, help="so many seeded rounds; 0: until the time is up")
        parser.add_argument("--seconds", type=at_least(0, float), default=1e9, help="no round begins later than this")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--fast", action="store_true", help="fewer lessons and places")
        parser.add_argument("--sanitized", action="store_true", help="the lessons map much more than they use")
        self.options = parser.parse_args()
        self.name, self.started, self.failures, self.figures = name, time.monotonic(), [], {}
        self.lessons = {p.parent.name: p for p in sorted(pathlib.Path(self.options.lessons).resolve().glob("*/lesson"))}
        if not self.lessons:
            sys.exit(f"{name}: no lesson in {self.options.lessons}")
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"campaign-{name}-")).resolve()

    def lesson(self, number):
        return next(path for slug, path in self.lessons.items() if slug.startswith(number))

    def random(self, *what):
        """A stream of its own for each round."""
        return random.Random(f"{self.name} {self.options.seed} {what}")

    def rounds(self, at_most=None):
        """0, 1, …: the rounds that options and time allow."""
        number = 0
        while self.more() and number < (self.options.rounds or at_most or 1 << 60):
            yield number
            number += 1

    def more(self):
        return time.monotonic() - self.started < self.options.seconds

    def folder(self, name):
        """scratch/name, empty."""
        path = self.scratch / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def run(self, number, arguments, env={}, cwd=None, kill_after=None):
        """Runs lesson `number` with arguments, which may be bytes; kill_after: seconds until it is killed."""
        command = [str(self.lesson(number)), *(a if isinstance(a, bytes) else str(a) for a in arguments)]
        return self.run_command(command, env, cwd, kill_after)

    def run_command(self, command, env={}, cwd=None, kill_after=None):
        """Runs a program under the limits of a lesson."""
        started = time.monotonic()

        def limit():
            if not self.options.sanitized:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        process = subprocess.Popen(
            command,
            cwd=cwd or self.scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**plain_environment(), **env},
            preexec_fn=limit,
        )
        try:
            out, err = process.communicate(timeout=LIMIT if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            if kill_after is None:
                self.fail(f"took more than {LIMIT} s: {shown(command)}")
        return Run(command, process.returncode, out, err, time.monotonic() - started)

    def count(self, figure, more=1):
        self.figures[figure] = self.figures.get(figure, 0) + more

    def check(self, good, why, run=None):
        """Counts a failure, with the run's command and the ends of what it printed; returns `good`."""
        if not good:
            self.fail(why, run)
        return good

    def fail(self, why, run=None):
        self.failures.append(why)
        if len(self.failures) > 10:
            return
        print(f"FAILED: {why}")
        if run:
            print(f"  {shown(run.command)}\n  exit code {run.code}, {run.seconds:.2f} s")
            for name, text in (("out", run.out), ("err", run.err)):
                print("".join(f"  {name}: {line!r}\n" for line in text.splitlines()[-3:]), end="")

    def needs_faults(self):
        """Ends the campaign where no library can be preloaded, and says so: CTest looks for "skipped:"."""
        if not self.options.faults:
            self.skip("there is no library of faults here (a sanitizer, or not Linux)")
        log = self.scratch / "calls"
        out = self.folder("probe")
        self.run("01", ["--smoke", "--out", out], faults(self, out, log=log))
        if not log.exists():
            self.skip("LD_PRELOAD does not reach the lessons")

    def skip(self, why):
        print(f"skipped: {why}")
        shutil.rmtree(self.scratch, ignore_errors=True)
        sys.exit(0)

    def finish(self):
        """The figures and the exit code. What failed keeps its scratch folder."""
        seconds = time.monotonic() - self.started
        print(
            f"{self.name}: "
            + ", ".join(f"{n} {what}" for what, n in self.figures.items())
            + f"; {len(self.failures)} failures; seed {self.options.seed}, {seconds:.1f} s"
        )
        if not self.figures:
            print("FAILED: nothing was tried")
        if not self.failures:
            shutil.rmtree(self.scratch, ignore_errors=True)
        else:
            print(f"the files are in {self.scratch}")
        sys.exit(1 if self.failures or not self.figures else 0)


def shown(command):
    """A command for a message: no argument longer than it is worth."""
    return " ".join(repr(argument)[:120] for argument in command)


def plain_environment():
    kept = ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"NO_COLOR": "1", "COLUMNS": "100"}


def faults(campaign, under, log=None, at=0, do="", stays=False, tick=0.0, threads=1):
    """The environment of a spoiled run; see faults.cpp."""
    return {
        "LD_PRELOAD": str(pathlib.Path(campaign.options.faults).resolve()),
        "TAPESTRY_FAULT_UNDER": str(under),
        "TAPESTRY_FAULT_LOG": str(log or ""),
        "TAPESTRY_FAULT_AT": str(at),
        "TAPESTRY_FAULT_DO": str(do),
        "TAPESTRY_FAULT_STAYS": "1" if stays else "",
        "TAPESTRY_FAULT_TICK": str(tick),
        "TAPESTRY_THREADS": str(threads),
    }


def was_killed(run):
    return run.code == -signal.SIGKILL


def small_text(random, lines=120):
    """Lines of either language, by chance."""
    return "".join(
        " ".join(random.choices(random.choice((ENGLISH, FRENCH)), k=random.randint(2, 9))) + "\n" for _ in range(lines)
    )


def write_pairs(folder, random, sentences=60):
    """A folder as lessons 15 and 22 read one: train, val and test_2016_flickr in two languages, word by word alike."""
    for name, count in (("train", sentences), ("val", 6), ("test_2016_flickr", 6)):
        rows = [random.choices(range(len(ENGLISH)), k=random.randint(2, 8)) for _ in range(count)]
        for ending, words in (("en", ENGLISH), ("fr", FRENCH)):
            text = "".join(" ".join(words[i] for i in row) + "\n" for row in rows)
            (folder / f"{name}.{ending}").write_text(text)
    return folder


def one_sentence(run):
    """Whether it ended as bad input has to: exit code 2 and one sentence, which begins with the lesson's name."""
    said = run.complaints()
    slug = pathlib.Path(run.command[0]).parent.name
    return run.code == 2 and len(said) == 1 and re.match(rf"{slug}: \S", said[0]) is not None
