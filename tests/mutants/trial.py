"""One mutant: compiled, and the test programs run until one notices it."""
import dataclasses
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

from workshop import BuildFailed

ORDER = {  # the programs nearest to a folder, first
    "core/simd": ("tests_simd", "tests_core", "tests_optim", "tests_nn"),
    "core": ("tests_core", "tests_nn", "tests_optim", "tests_properties"),
    "nn": ("tests_nn", "tests_readme", "tests_lessons"),
    "optim": ("tests_optim", "tests_properties", "tests_lessons"),
    "lessons": ("tests_lessons", "tests_programs"),
}
USES = {  # who can see a folder at all
    "nn": ("tests_nn", "tests_golden", "tests_properties", "tests_readme", "tests_lessons"),
    "optim": ("tests_optim", "tests_golden", "tests_properties", "tests_readme", "tests_lessons"),
    "lessons": ("tests_lessons", "tests_programs"),
}
MEMORY, FILE = 12 << 30, 2 << 30
CASE = re.compile(r"^-{79}\n(.+?)\n(?:  .*\n)*-{79}$", re.MULTILINE)


@dataclasses.dataclass
class Normal:
    """What the unchanged programs take."""
    wall: float
    cpu: float


def floor_of(file):
    return max((folder for folder in (*ORDER,) if file.startswith(folder + "/")), key=len)


def programs_for(shop, file):
    floor = floor_of(file)
    near = list(ORDER[floor])
    seen = USES.get(floor, shop.programs)
    return [p for p in near if p in shop.programs] + [p for p in shop.programs if p in seen and p not in near]


def nearest_tests(root, program, file):
    """Catch2's tags of the test files of `program` that include the changed file's header or have its name."""
    folder = pathlib.Path(root, "tests", program.removeprefix("tests_"))
    if program == "tests_simd":
        folder = pathlib.Path(root, "tests", "core", "simd")
    header, stem, tags = file.removesuffix(".cpp").removesuffix(".hpp") + ".hpp", pathlib.Path(file).stem, []
    for path in sorted(folder.rglob("*_test.cpp")):
        if program == "tests_core" and "simd" in path.parts:
            continue
        name = path.stem.removesuffix("_test")
        if name == stem or stem.startswith(name + "_") or f'"{header}"' in path.read_text(encoding="utf-8"):
            tags.append(f"[#{path.stem}]~[long]")
    return ",".join(tags)


def _limits(cpu):
    def set_limits():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def run_program(shop, program, tests, normal=None):
    """"" if all tests pass, else what failed."""
    wall = 60 + 10 * normal.wall if normal else 1200  # other work may hold the machine
    cpu = int(10 + 3 * normal.cpu) if normal else 1200
    log = shop.folder / "test.log"
    with open(log, "wb") as output:
        process = subprocess.Popen([shop.path_of(program), "-#", "-a", tests], cwd=shop.source, env=shop.environment,
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   preexec_fn=_limits(cpu))
        try:
            status = process.wait(wall)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)  # itself, or what it started and left
        except ProcessLookupError:
            pass
        process.wait()
    if status == 0:
        return ""
    text = log.read_text(encoding="utf-8", errors="replace")
    case = CASE.search(text)
    name = case[1].strip() if case else ""
    if status is None or status == -signal.SIGXCPU:
        return f"{name} time-out".strip()
    return name or f"ends with {status}"


def measure(shop):
    """Runs every program unchanged: {program: Normal}; one that fails can't judge mutants."""
    normal = {}
    for program in shop.programs:
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        failed = run_program(shop, program, "~[long]")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if failed:
            raise BuildFailed(f"{program} fails without any change: {failed} (see {shop.folder}/test.log)")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        normal[program] = Normal(time.monotonic() - begin, cpu)
    return normal


def attempt(shop, normal, mutant):
    """(outcome, by whom, seconds to compile, seconds to link, seconds to run); the outcome is noticed, survived,
    same (the object code is), or unbuildable."""
    spent = [0.0, 0.0, 0.0]

    def timed(part, function, *arguments):
        begin = time.monotonic()
        try:
            return function(*arguments)
        finally:
            spent[part] += time.monotonic() - begin

    shop.fresh_scratch()
    shop.write(mutant.file, mutant.apply(shop.original(mutant.file)))
    try:
        if not timed(0, shop.compile, mutant.file):
            return "same", "", spent
        for program in programs_for(shop, mutant.file):
            timed(1, shop.link, program)
            near = nearest_tests(shop.source, program, mutant.file)
            for tests in ([near] if near else []) + ["~[long]"]:
                failed = timed(2, run_program, shop, program, tests, normal[program])
                if failed:
                    return "noticed", f"{program}: {failed}", spent
        return "survived", "", spent
    except BuildFailed:
        return "unbuildable", "", spent
    finally:
        shop.write(mutant.file, shop.original(mutant.file))
