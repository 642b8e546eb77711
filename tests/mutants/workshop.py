"""A worker's own copy of the sources and its build: files are changed there, never in the project."""
import hashlib
import os
import pathlib
import shutil
import subprocess

import sources

# In the order in which they are linked and run when nothing says which is nearest.
PROGRAMS = ("tests_simd", "tests_core", "tests_nn", "tests_optim", "tests_golden", "tests_properties", "tests_readme",
            "tests_lessons", "tests_programs")
COPIED = ("core", "nn", "optim", "lessons", "tests", ".cmake", "CMakeLists.txt", "CMakePresets.json", "README.md",
          "LICENSE")
LEFT_OUT = shutil.ignore_patterns("__pycache__")


class BuildFailed(Exception):
    pass


class Workshop:
    def __init__(self, root, folder):
        self.root, self.folder = pathlib.Path(root), pathlib.Path(folder).resolve()
        self.source, self.build, self.scratch = self.folder / "source", self.folder / "build", self.folder / "scratch"
        self.programs, self.objects, self.users = [], {}, {}
        # ccache then finds what another worker has compiled, wherever that one stands.
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(self.folder), CCACHE_NOHASHDIR="1", LC_ALL="C.UTF-8",
                                TMPDIR=str(self.scratch))

    def set_up(self, jobs):
        """Brings the copy up to date, and builds it unchanged."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.fresh_scratch()
        self._copy()
        linker = next((name for name in ("lld", "gold") if shutil.which(f"ld.{name}")), "")
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DTAPESTRY_BUILD_BENCHMARKS=OFF", "-DTAPESTRY_BUILD_TESTS=ON",
                   f"-DCMAKE_EXE_LINKER_FLAGS={'-fuse-ld=' + linker if linker else ''}"]
        self._call(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, *options])
        known = self._call(["ninja", "-C", self.build, "-t", "targets", "all"])
        self.programs = [name for name in PROGRAMS if f"\n{name}: phony" in known]
        self._call(["ninja", "-C", self.build, "-j", str(jobs), *self.programs])
        self._find_objects()

    def _copy(self):
        """Copies what differs, and keeps the times of what does not: ninja then compiles little."""
        wanted = set()
        for name in COPIED:
            start = self.root / name
            paths = [start] if start.is_file() else [
                pathlib.Path(folder, file) for folder, folders, names in os.walk(start) for file in names
                if "__pycache__" not in folder]
            for path in paths:
                to = self.source / path.relative_to(self.root)
                wanted.add(to)
                data = path.read_bytes()
                if not to.is_file() or to.read_bytes() != data:
                    to.parent.mkdir(parents=True, exist_ok=True)
                    to.write_bytes(data)
                    shutil.copymode(path, to)
        for path in list(self.source.rglob("*")):
            if path.is_file() and path not in wanted:
                path.unlink()

    def _call(self, command):
        run = subprocess.run([str(word) for word in command], env=self.environment, text=True, errors="replace",
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if run.returncode:
            raise BuildFailed(run.stdout)
        return "\n" + run.stdout

    def _find_objects(self):
        """Which object files each source and header goes into."""
        self.users, object = {}, None
        for line in self._call(["ninja", "-C", self.build, "-t", "deps"]).splitlines():
            if line and not line.startswith(" "):
                object = line.partition(":")[0]
            elif line.strip() and (self.build / object).exists():
                path = os.path.relpath(os.path.join(self.build, line.strip()), self.source)
                if path.startswith(sources.FOLDERS):
                    self.users.setdefault(path, set()).add(object)
        self.objects = {o: self._digest(o) for o in set().union(*self.users.values())}

    def _digest(self, object):
        return hashlib.sha1((self.build / object).read_bytes()).hexdigest()

    def dependents(self, file):
        """How many object files are compiled anew when `file` changes."""
        return len(self.users.get(file, ()))

    def write(self, file, text):
        path = self.source / file
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def original(self, file):
        return (self.root / file).read_text(encoding="utf-8")

    def compile(self, file):
        """Compiles all that `file` goes into; False if every object file is as it was: the change changes nothing."""
        objects = sorted(self.users[file])
        self._call(["ninja", "-C", self.build, "-j", "1", *objects])
        return any(self._digest(o) != self.objects[o] for o in objects)

    def link(self, program):
        self._call(["ninja", "-C", self.build, "-j", "1", program])

    def path_of(self, program):
        return self.build / "tests" / program

    def fresh_scratch(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
