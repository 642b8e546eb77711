#!/usr/bin/env python3
"""The shell scripts: on systems without apt-get they say what to install, and nothing in them needs more than bash 3.2
(macOS has no newer one) or GNU's own options."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# (what it is, how it looks, one that is found, one that is not)
NEWER_THAN_BASH_3_2 = [
    ("arrays by name, or references", r"\b(?:declare|local|typeset)\s+-\w*[Angul]", "declare -gA a", "local -a a"),
    ("mapfile", r"\b(?:mapfile|readarray)\b", "mapfile -t a", "map file"),
    ("case of letters", r"\$\{\w+(?:\[[^]]*\])?(?:,|\^)", "${x,,}", "${x:-,}"),
    ("${x@Q}", r"\$\{\w+(?:\[[^]]*\])?@[A-Za-z]\}", "${x@Q}", "${x[@]}"),
    ("|&", r"\|&", "make |& tee", "a | b &"),
    ("&>>", r"&>>", "a &>>b", "a >>b 2>&1"),
    (";& and ;;&", r";&", ";;&", ";; # &"),
    ("coproc", r"\bcoproc\b", "coproc cat", "processes"),
    ("wait -n", r"\bwait\s+-\w*[np]", "wait -n", "wait $!"),
    ("[ -v name ]", r"\[\s+-v\s", "[ -v x ]", "tool -v x"),
    ("a negative index or length", r"\[-\d+\]\}|\$\{\w+:[^}:]*:-", "${a[-1]}", "${x:-1}"),
    ("{fd}>", r"\{\w+\}[<>]", "exec {log}>x", "${log}"),
    ("printf's %(…)T", r"%\([^)]*\)T", "printf '%(%s)T'", "printf '(%s)'"),
    ("a variable of newer ones", r"\b(?:BASHPID|EPOCHSECONDS|EPOCHREALTIME|SRANDOM)\b", "$BASHPID", "$$"),
    ("a shopt of newer ones", r"\bshopt\b.*\b(?:globstar|lastpipe|inherit_errexit)\b", "shopt -s globstar",
     "shopt -s nullglob"),
    ("zeros in a range", r"\{0\d+\.\.\d+\}", "{01..10}", "{1..10}"),
    ("brackets in =~ (in a variable they are right)", r"=~\s+[^\s$]*\(", "[[ $x =~ ^(a|b) ]]", "[[ $x =~ $form ]]"),
    ("read's fractions and -N", r"\bread\b[^;|]*\s-(?:N|t\s*\d*\.)", "read -t 0.5 x", "read -t 5 x"),
]
# Fine where something else is done without them, on the same line or after asking for the tool. (readlink -f is on
# macOS, too, from 12.3 on.)
GNU_ONLY = [
    ("nproc", r"\bnproc\b", "n=$(nproc)", "enproc=1"),
    ("flock", r"\bflock\s", "flock 9", "lock 9"),
    ("realpath's options", r"\brealpath\s+--\w", "realpath --relative-to=. a", "realpath a"),
    ("sed -i or -r", r"\bsed\s+(?:-\w+\s+)*-(?:i\b|\w*r)", "sed -i s/a/b/ x", "sed -n s/a-i/b/ x"),
    ("\\| in a pattern of sed's or grep's", r"\b(?:sed|grep)\s[^|;]*\\\|", r"sed 's/a\|b//'", "grep -E 'a|b'"),
    ("date -d or %N", r"\bdate\s+(?:-d|--date|.*%\d?N)", "date +%s%N", "date +%Y%m%d"),
    ("stat -c", r"\bstat\s+(?:-c|--)", "stat -c %s x", "status -c"),
    ("setarch", r"\bsetarch\b", "setarch x86_64 -R a", "arch"),
    ("grep -P", r"\bgrep\s+-\w*P", "grep -oP a", "grep -o P"),
    ("xargs -d or -r", r"\bxargs\s+(?:-\w+\s+)*-(?:d|r)\b", "xargs -d '\\n' a", "xargs -0 a"),
    ("tac, shuf, timeout or numfmt", r"(?:^|[|;&(]\s*|\s)(?:tac|shuf|timeout|numfmt)\s", "timeout 5 a", "-timeout=20"),
    ("sums of its own", r"\b(?:md5|sha\d+)sum\b", "sha1sum a", "checksum a"),
    ("find -printf", r"\bfind\b.*-printf", "find . -printf %p", "find . -print"),
    ("head -n -N", r"\bhead\s+-(?:n|c)\s*-", "head -n -1 a", "head -n 1 a"),
    ("paste without its operand", r"\bpaste\s+-\w+\s+'[^']*'\s*(?:$|[;)])", "paste -sd '|')", "paste -sd '|' -)"),
    ("sort -V", r"\bsort\s+-\w*V", "sort -V", "sort -u"),
    ("/proc", r"/proc/", "cat /proc/cpuinfo", "out/process"),
]
SOMETHING_ELSE = re.compile(r"2>/dev/null\)?\s*(?:\|\||&&)")


def listed_files():
    listed = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() or [str(path.relative_to(ROOT)) for folder in (".cmake", ".ci", "lessons", "tests")
                                      for path in (ROOT / folder).rglob("*")]
    return [path for path in map(ROOT.joinpath, names) if path.is_file() and not path.is_symlink()]


def scripts():
    """Every script that bash or sh reads: the hidden folders' and the others' alike."""
    found = []
    for path in listed_files():
        with open(path, "rb") as file:
            first = file.readline()
        if re.match(rb"#!.*\b(?:ba)?sh\b", first) or path.suffix == ".sh":
            found.append(path)
    return found


def executables():
    """Every file that the system starts by its first line."""
    found = []
    for path in listed_files():
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                found.append(path)
    return found


def lines(text):
    """(number, line) of a script, without comments."""
    return [(number, re.sub(r"(?:^|\s)#\s.*", "", line)) for number, line in enumerate(text.split("\n"), 1)]


def gnu_only(text):
    found = []
    for number, line in lines(text):
        for what, form, *_ in GNU_ONLY:
            match = re.search(form, line)
            if match and not SOMETHING_ELSE.search(line) and f"command -v {match.group().split()[0]}" not in text:
                found.append((number, what))
    return found


def newer(text):
    return [(number, what) for number, line in lines(text) for what, form, *_ in NEWER_THAN_BASH_3_2
            if re.search(form, line)]


class Words(unittest.TestCase):
    def test_forms_find_what_they_are_for_and_nothing_beside_it(self):
        for what, form, wrong, right in NEWER_THAN_BASH_3_2 + GNU_ONLY:
            self.assertTrue(re.search(form, wrong), what)
            self.assertFalse(re.search(form, right), what)
        self.assertEqual(gnu_only("n=$(nproc)"), [(1, "nproc")])
        self.assertEqual(gnu_only("n=$(nproc 2>/dev/null || echo 1)"), [])
        self.assertEqual(gnu_only("command -v flock >/dev/null || return 0\nflock 9"), [])
        self.assertEqual(newer("# mapfile\na=1 # of ${x,,}"), [])

    def test_scripts_that_learners_start_are_among_those_that_are_read(self):
        names = {str(path.relative_to(ROOT)) for path in scripts()}
        self.assertLessEqual({"lessons/run", "lessons/practise", "lessons/book", "tests/run", ".cmake/setup.sh"}, names)

    def test_nothing_needs_a_newer_bash_or_gnu(self):
        for path in scripts():
            text = path.read_text()
            for number, what in newer(text):
                self.fail(f"{path.relative_to(ROOT)}:{number}: bash 3.2 has no {what}")
            for number, what in gnu_only(text):
                self.fail(f"{path.relative_to(ROOT)}:{number}: only GNU has {what}, and nothing else is tried")


class Systems(unittest.TestCase):
    """.cmake/setup.sh with nothing on its way but what is put there."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-scripts-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / ".cmake").mkdir()
        (self.folder / "build").mkdir()
        shutil.copy(ROOT / ".cmake/setup.sh", self.folder / ".cmake")
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for tool in ("bash", "dirname", "awk", "env", "tail", "cat", "mkdir"):
            os.symlink(shutil.which(tool), self.bin / tool)
        self.has("uname", "echo Linux")

    def has(self, tool, text="exit 0"):
        path = self.bin / tool
        path.write_text(f"#!{self.bin}/bash\n{text}\n")
        path.chmod(0o755)

    def need(self, *packages):
        script = f'program=test; source .cmake/setup.sh; need {" ".join(packages)}; echo "went on"'
        return subprocess.run([str(self.bin / "bash"), "-c", script], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": str(self.bin)}, timeout=60)

    def stops(self, said):
        done = self.need("g++", "cmake")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        said_there = [line for line in done.stderr.splitlines() if "setlocale" not in line]  # a Mac's locale, here
        self.assertEqual(len(said_there), 1, done.stderr)
        self.assertIn(said, said_there[0])

    def test_each_package_manager_is_told_its_own_names(self):
        for tool, said in (("dnf", "dnf install gcc-c++ cmake ninja-build "), ("pacman", "pacman -S base-devel cmake ninja "),
                           ("zypper", "zypper install gcc-c++ cmake ninja "), ("apk", "apk add g++ cmake samurai "),
                           ("brew", "brew install cmake ninja ")):
            with self.subTest(tool):
                self.has(tool)
                self.stops(said)
                (self.bin / tool).unlink()

    def test_a_mac_without_homebrew_is_told_where_to_start(self):
        self.has("uname", "echo Darwin")
        self.stops("xcode-select --install")

    def test_an_unknown_system_is_told_debians_names(self):
        self.stops("install what Debian calls g++ cmake and start again")

    def test_tools_that_are_there_are_enough(self):
        for tool in ("cmake", "ninja"):
            self.has(tool)
        self.stops("a compiler, CMake or Ninja is missing")
        self.has("c++")
        done = self.need("g++")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "went on\n", ""))

    def debian(self, user):
        self.has("apt-get", f'echo "$*" >>{self.folder}/apt.log')
        self.has("dpkg-query", "echo cmake installed; echo ninja-build config-files")  # one that was removed
        self.has("id", f"echo {user}")

    def test_debian_gets_what_it_lacks(self):
        self.debian(0)
        done = self.need("g++", "cmake", "ninja-build")
        self.assertEqual((done.returncode, done.stdout), (0, "installing with apt-get: g++ ninja-build\nwent on\n"), done)
        self.assertIn("install -q -y --no-install-recommends g++ ninja-build", (self.folder / "apt.log").read_text())

    def test_a_user_goes_through_sudo_or_is_told_what_root_has_to_do(self):
        self.debian(1000)
        self.stops('run "apt-get install g++" as root')
        self.has("sudo", 'echo sudo "$@" >>' + f'{self.folder}/sudo.log; exec "$@"')
        done = self.need("g++", "cmake")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual((self.folder / "sudo.log").read_text().count("apt-get"), 2)

    def test_an_install_that_fails_is_told_with_its_last_lines(self):
        self.debian(0)
        self.has("apt-get", "echo no such package >&2; exit 100")
        done = self.need("g++")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such package\n", done.stderr)
        self.assertIn("apt-get could not install g++", done.stderr)


class Arguments(unittest.TestCase):
    """Scripts read their arguments before they install or build: in a copy where each tool that does so is noticed."""

    SCRIPTS = (".cmake/setup.sh", ".cmake/editor", ".cmake/package_sources", ".ci/consumer", ".ci/fuzz",
               ".ci/one_definition", ".ci/run", "lessons/run", "lessons/book", "lessons/practise", "tests/run",
               "tests/bench/run", "tests/targets/compare")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-arguments-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in self.SCRIPTS + ("lessons/grader/main.cpp", "tests/bench/compare.py", "tests/arguments.py"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.folder / name)
        shutil.copytree(ROOT / "tests/bench/measure", self.folder / "tests/bench/measure")
        for name in ("11_bahdanau", "12_luong"):
            (self.folder / "lessons" / name).mkdir()
            (self.folder / "lessons" / name / "lesson.cpp").write_text(f"// {name[:2]} {name[3:]}: an idea\n")
        self.log = self.folder / "started.log"
        (self.folder / "bin").mkdir()
        for tool in ("apt-get", "dpkg-query", "cmake", "ninja", "ctest", "sudo"):
            path = self.folder / "bin" / tool
            path.write_text(f'#!/bin/sh\necho "{tool} $*" >>"{self.log}"\nexit 1\n')
            path.chmod(0o755)

    def start(self, script, *arguments, root=None):
        done = subprocess.run([str((root or self.folder) / script), *arguments], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})
        self.assertFalse(self.log.exists(), (script, arguments, self.log.exists() and self.log.read_text()))
        self.assertFalse((self.folder / "build").exists(), (script, arguments))
        return done

    def test_help_in_any_place_prints_help_and_does_nothing_else(self):
        for script, *arguments in (
                ("lessons/run", "--help"), ("lessons/run", "-h"), ("lessons/run", "list", "--help"),
                ("lessons/run", "11", "--help"), ("lessons/run", "11", "--smoke", "-h"), ("lessons/run", "all", "--help"),
                ("lessons/book", "--help"), ("lessons/book", "--serve", "--help"), ("lessons/book", "--record", "11", "-h"),
                ("lessons/practise", "--help"), ("lessons/practise", "11", "--help"),
                ("tests/run", "--help"), ("tests/run", "core", "--help"), ("tests/run", "--all", "--help"),
                ("tests/run", "--list", "-h"), ("tests/bench/run", "--help"), ("tests/bench/run", "--quick", "-h")):
            with self.subTest(f"{script} {arguments}"):
                done = self.start(script, *arguments)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(script.rsplit("/", 1)[-1], done.stdout)

    def test_the_benchmarks_list_needs_nothing(self):
        done = self.start("tests/bench/run", "--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tiny_op\n", done.stdout)

    def test_every_program_has_a_help_that_needs_nothing(self):
        compilers = {"tool", "ar", "c++", "cc", "ranlib"}  # of .cmake/macos, which stand in for others
        programs = [path for path in executables() if path.name not in compilers]
        programs += [ROOT / "tests/parallel" / name for name in ("lessons_test.py", "mpi_test.py", "network_test.py")]
        self.assertGreater(len(programs), 30)
        for path in programs:
            with self.subTest(str(path.relative_to(ROOT))):
                start = [sys.executable, "-B", str(path)] if path.suffix == ".py" else [str(path)]
                done = subprocess.run([*start, "some", "--help"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                      stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                                                                     "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertGreater(len(done.stdout), 20)
                self.assertFalse(self.log.exists())

    def test_a_build_folder_that_cannot_be_written_is_one_sentence(self):
        (self.folder / "build/.lock").mkdir(parents=True)
        for script, *arguments in (("lessons/run", "11"), ("lessons/book",), ("lessons/practise", "list"), ("tests/run",),
                                   ("tests/bench/run",)):
            with self.subTest(script):
                done = subprocess.run([str(self.folder / script), *arguments], cwd=self.folder, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (2, f"{script}: cannot write to {self.folder}/build\n"))

    def test_wrong_arguments_get_one_sentence_and_nothing_else(self):
        for said, script, *arguments in (
                ('there is no lesson ""', "lessons/run", ""), ('there is no lesson "99"', "lessons/run", "99"),
                ('list takes no argument, got "x"', "lessons/run", "list", "x"),
                ('there is no lesson "?[31m"', "lessons/run", "\033[31m"),
                ('there is no lesson "' + "a" * 60 + '…"', "lessons/run", "a" * 100_000),
                ('--check takes no argument, got "x"', "lessons/book", "--check", "x"),
                ('there is no lesson "99"', "lessons/book", "--record", "99"),
                ('unknown option "--nonsense"', "lessons/book", "--nonsense"),
                ("must be followed by a folder", "lessons/book", "--check", "--out"),
                ("NAME must not be empty", "tests/run", ""), ('one NAME at most, got also "x"', "tests/run", "core", "x"),
                ('--list takes no argument, got "x"', "tests/run", "--list", "x"),
                ('--resume takes no argument, got "x"', "tests/run", "--all", "--resume", "x"),
                ('unknown option "--nonsense"', "tests/run", "--nonsense"),
                ("unrecognized arguments: --nonsense", "tests/bench/run", "--nonsense"),
                ("unrecognized arguments: ?[31m", "tests/bench/run", "\033[31m"),
                ("--rounds wants", "tests/bench/run", "--rounds", "0"),
                ("must be add_subdirectory or find_package, got \"\"", ".ci/consumer"),
                ('got "?[31m"', ".ci/consumer", "\033[31m"), ("say build, list, or run", ".ci/fuzz", "\033[31m"),
                ('it takes no argument, got "x"', ".ci/one_definition", "x"), ('it takes no argument, got "x"', ".ci/run", "x"),
                ('it takes no argument, got "x"', ".cmake/package_sources", "x"),
                ("it takes one argument", "tests/targets/compare"), ("it takes one argument", "tests/targets/compare", "a", "b"),
                ('there is no file "?[31m"', ".cmake/editor", "show", "\033[31m"),
                ("needs PART", "tests/book/run.py"), ("needs PART", "tests/book/run.py", "\033[31m", "build")):
            root = ROOT if script == "tests/book/run.py" else None  # it imports what this copy does not have
            with self.subTest(f"{script} {arguments}"[:80]):
                self.refused(self.start(script, *arguments, root=root), said)

    def refused(self, done, said):
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(said, done.stderr)
        self.assertNotIn("\033", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1 + (said == "say build, list, or run"), done.stderr)

    def test_the_maker_of_mistakes_refuses_its_options_before_it_builds(self):
        folder = ("--folder", str(self.folder / "copies"))
        for said, *arguments in (
                ("must be at least 1, got 0", "--known", "--jobs", "0", *folder),
                ("must be at least 1, got -2", "--known", "--jobs", "-2", *folder),
                ("must be at least 1, got 0", "--sample", "0", *folder), ("must be at least 1, got -5", "--sample", "-5", *folder),
                ("must be at least 0, got nan", "--sample", "5", "--seconds", "nan", *folder),
                ("invalid whole number value: '1.5'", "--sample", "1.5", *folder),
                ("--folder must be a folder that can be written", "--known", "--folder", "/proc/x"),
                ("--folder must be a folder that can be written", "--sample", "5", "--folder", "/dev/null"),
                ("--only must fit", "--known", "--only", "nosuchfile", *folder),
                ("--only must fit", "--sample", "5", "--only", "nosuchfile", *folder),
                ("--only must fit", "--sample", "5", "--only", "\033[31m" + "a" * 10_000, *folder),
                ("--third must come with --known", "--sample", "5", "--third", "1", *folder),
                ("one of the arguments --check --known --sample is required",),
                ("unrecognized arguments: ?[31m", "--known", "\033[31m", *folder)):
            with self.subTest(f"{arguments}"[:80]):
                self.refused(self.start("tests/mutants/run", *arguments, root=ROOT), said)


class Passed(unittest.TestCase):
    """lessons/run records a lesson as passed only if this very run has met its targets."""

    def test_a_mark_that_a_killed_run_left_behind_counts_for_nothing(self):
        with tempfile.TemporaryDirectory(prefix="tapestry-passed-") as name:
            folder = pathlib.Path(name)
            for script in (".cmake/setup.sh", "lessons/run"):
                (folder / script).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / script, folder / script)
            lesson = folder / "build/release/lessons/11_bahdanau/lesson"
            lesson.parent.mkdir(parents=True)
            (folder / "lessons/11_bahdanau").mkdir()
            (folder / "lessons/11_bahdanau/lesson.cpp").write_text("// 11 bahdanau: an idea\n")
            # `exec` keeps the process, so the mark of this run can be laid out before it starts.
            script = 'touch build/.passed.$$; program=x; exec lessons/run 11'
            (folder / "bin").mkdir()
            for tool in ("apt-get", "dpkg-query", "cmake", "ninja"):
                (folder / "bin" / tool).write_text("#!/bin/sh\nexit 0\n")
                (folder / "bin" / tool).chmod(0o755)
            (folder / "bin/dpkg-query").write_text(
                "#!/bin/sh\nshift 2\nfor p; do echo \"$p installed\"; done\n")
            (folder / "build/release/build.ninja").touch()
            for text, passed in (("exit 1", False), (': >"$TAPESTRY_PASSED"', True)):
                lesson.write_text(f"#!/bin/sh\n{text}\n")
                lesson.chmod(0o755)
                (folder / "build/release/CMakeCache.txt").unlink(missing_ok=True)
                done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60,
                                      stdin=subprocess.DEVNULL,
                                      env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
                self.assertEqual((folder / ".progress").exists(), passed, done)


class LongTests(unittest.TestCase):
    """Long tests that have passed are not run again by tests/run until something that they depend on changes."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tapestry-long-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "build/release").mkdir(parents=True)
        (self.folder / "build/release/CMakeCache.txt").write_text("option=1\n")
        (self.folder / ".gitignore").write_text("build\n")
        (self.folder / "source").write_text("one\n")
        subprocess.run("git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x", shell=True,
                       cwd=self.folder, check=True)
        functions = re.findall(r"^(?:user_tests|digest_of_sources)\(\) \{\n.*?^\}\n", (ROOT / "tests/run").read_text(), re.S | re.M)
        self.assertEqual(len(functions), 2)
        self.script = "\n".join(functions) + r"""
say() { echo "$*"; }
die() { say "$*"; exit 2; }
lessons_of_today() { echo "02_other"; }
run_ctest() { echo "left out: $3"; echo "$LOG" >"$1/tests.log"; }
user_tests "$1"
"""

    def run_tests(self, how="once", verdicts=(("a/long", "   Passed", 9.25), ("a/quick", "   Passed", 4.99),
                                             ("a/wrong", "***Failed", 30.0), ("b/longer", "   Passed", 130.5))):
        log = "\n".join(f"{i:3}/346 Test {f'#{i}':>4}: {name} {'.' * (30 - len(name))}{verdict} {seconds:7.2f} sec"
                        for i, (name, verdict, seconds) in enumerate(verdicts, 1))
        done = subprocess.run(["bash", "-c", self.script, "run", how], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "LOG": log}, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return set(re.search(r"left out: \^\((.*)\)\$", done.stdout)[1].split("|"))

    def test_only_those_that_passed_are_left_out(self):
        always = {"exercises/(02_other)"}
        self.assertEqual(self.run_tests(), always)
        self.assertEqual(self.run_tests(verdicts=[("c/new", "   Passed", 6.0)]), always | {"a/long", "b/longer"})
        self.assertEqual(self.run_tests(verdicts=[]), always | {"a/long", "b/longer", "c/new"})

    def test_again_runs_all_and_forgets_what_fails_now(self):
        self.run_tests()
        always = {"exercises/(02_other)"}
        self.assertEqual(self.run_tests("again", [("a/long", "***Failed", 9.0), ("b/longer", "   Passed", 9.0)]), always)
        self.assertEqual(self.run_tests(), always | {"b/longer"})

    def test_a_change_of_sources_or_options_runs_all(self):
        def changed_source():
            (self.folder / "source").write_text("two\n")

        def new_source():
            (self.folder / "new").write_text("")

        def changed_option():
            (self.folder / "build/release/CMakeCache.txt").write_text("option=2\n")

        for change in (changed_source, new_source, changed_option):
            with self.subTest(change.__name__):
                self.run_tests()
                self.assertIn("a/long", self.run_tests())
                change()
                self.assertNotIn("a/long", self.run_tests())

    def test_without_git_all_run(self):
        shutil.rmtree(self.folder / ".git")
        self.run_tests()
        self.assertNotIn("a/long", self.run_tests())


if __name__ == "__main__":
    sys.exit(unittest.main())
