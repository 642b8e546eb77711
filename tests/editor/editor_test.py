#!/usr/bin/env python3
"""usage: editor_test.py [BUILD]

Tests that what editors are told (.vscode, .clangd, .cmake/editor) is true of this project, whose build folder is BUILD,
by default build/release.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ROOT / "build/release").resolve()
LESSONS = sorted(path.parent.name for path in ROOT.glob("lessons/[0-9][0-9]_*/lesson.cpp"))


def read(name):
    def once(pairs):
        keys = [key for key, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError(f"{name}: a key twice among {keys}")
        return dict(pairs)

    return json.loads((ROOT / name).read_text(), object_pairs_hook=once)


def texts(tree):
    """Every text in a JSON value."""
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    return [text for part in parts for text in texts(part)]


def preset(name):
    presets = {preset["name"]: preset for preset in read("CMakePresets.json")["configurePresets"]}
    folder = presets[presets[name]["inherits"]]["binaryDir"].replace("${presetName}", name)
    return folder.replace("${sourceDir}/", "")


def show(file, where=ROOT):
    """What .cmake/editor says of a file: (lesson or None, tests)."""
    run = subprocess.run([ROOT / ".cmake/editor", "show", file], cwd=where, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    return next((name for kind, name in lines if kind == "lesson"), None), [n for k, n in lines if k == "tests"]


class VsCode(unittest.TestCase):
    def test_files_parse_and_name_only_variables_that_vs_code_has(self):
        for name in ("tasks", "launch", "settings", "extensions"):
            for text in texts(read(f".vscode/{name}.json")):
                for variable in re.findall(r"\$\{([^}]*)\}", text):
                    self.assertIn(variable, ("workspaceFolder", "file", "fileDirnameBasename"), text)

    def test_paths_exist_or_are_what_is_built(self):
        built = preset("debug") + "/lessons/${fileDirnameBasename}/lesson"
        found = []
        for name in ("tasks", "launch"):
            for text in texts(read(f".vscode/{name}.json")):
                for path in re.findall(r"\$\{workspaceFolder\}/(\S+)", text):
                    found.append(path)
                    self.assertTrue(path == built or (ROOT / path).is_file(), f"{name}.json: there is no {path}")
        self.assertEqual(found.count(built), 2)

    def test_tasks_run_programs_in_ways_that_these_know(self):
        usage = subprocess.run([ROOT / ".cmake/editor", "--help"], capture_output=True, text=True).stdout
        for task in read(".vscode/tasks.json")["tasks"]:
            program = pathlib.Path(task["command"].replace("${workspaceFolder}", str(ROOT)))
            self.assertTrue(os.access(program, os.X_OK), f"{program} can't be run")
            if program.name == "editor":
                self.assertEqual(task["args"][1:], ["${file}"])
                self.assertIn(f".cmake/editor {task['args'][0]} FILE", usage)
            else:
                self.assertNotIn("args", task)

    def test_launches_build_first_with_a_task_that_there_is(self):
        tasks = {task["label"]: task for task in read(".vscode/tasks.json")["tasks"]}
        self.assertEqual(len(tasks), len(read(".vscode/tasks.json")["tasks"]))
        launches = read(".vscode/launch.json")["configurations"]
        self.assertEqual(sorted(launch.get("MIMode", launch["type"]) for launch in launches), ["gdb", "lldb"])
        for launch in launches:
            self.assertEqual(tasks[launch["preLaunchTask"]]["args"][0], "debug")
            kind = launch.get("MIMode", launch["type"])
            self.assertTrue(any(f"{kind}_printers.py" in text for text in texts(launch)), "no printers are loaded")

    def test_extensions_of_launches_and_settings_are_recommended(self):
        recommended = read(".vscode/extensions.json")["recommendations"]
        of_type = {"cppdbg": "ms-vscode.cpptools", "lldb": "vadimcn.vscode-lldb"}
        for launch in read(".vscode/launch.json")["configurations"]:
            self.assertIn(of_type[launch["type"]], recommended)
        settings = read(".vscode/settings.json")
        self.assertIn(settings["[cpp]"]["editor.defaultFormatter"], recommended)
        self.assertEqual(settings["C_Cpp.intelliSenseEngine"], "disabled")  # beside clangd, everything twice
        self.assertTrue((ROOT / ".clang-format").is_file())

    @unittest.skipUnless((BUILD / "build.ninja").is_file() and (BUILD / "lessons").is_dir(), "no build of the lessons")
    def test_a_lesson_is_built_where_the_debugger_looks(self):
        rules = (BUILD / "build.ninja").read_text()
        for slug in LESSONS:
            self.assertRegex(rules, rf"\nbuild lessons/{slug}/lesson: ")


class Files(unittest.TestCase):
    @unittest.skipUnless((BUILD / "CTestTestfile.cmake").is_file() and (BUILD / "lessons").is_dir(), "no build")
    def test_every_test_file_has_the_name_that_ctest_gives_it(self):
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=BUILD, capture_output=True, text=True).stdout
        missing = {}  # names of tests by the tag of their file
        for test in json.loads(listed)["tests"]:
            tag = re.search(r"\[#(\w+)\]~\[long\]", " ".join(test.get("command", [])))
            if tag:
                missing[test["name"]] = tag[1]
        self.assertGreater(len(missing), 50)
        for file in ROOT.glob("tests/**/*_test.cpp"):
            for name in show(file.relative_to(ROOT))[1]:
                self.assertEqual(missing.pop(name, None), file.stem, f"{file}: {name}")
        self.assertEqual([name for name, tag in missing.items() if tag.endswith("_test")], [])

    def test_files_of_a_lesson_name_it(self):
        self.assertEqual(show("lesson.cpp", ROOT / "lessons" / LESSONS[0]), (LESSONS[0][:2], [f"smoke/{LESSONS[0]}"]))
        for slug in LESSONS:
            self.assertEqual(show(f"lessons/{slug}/lesson.cpp")[0], slug[:2])
        self.assertEqual(show("core/tape/tape.hpp")[0], None)

    def test_a_source_has_the_tests_named_after_it(self):
        self.assertEqual(show("core/tape/tape.hpp")[1], ["core/tape_gradients", "core/tape", "core/tape_trouble"])

    def test_a_source_without_such_tests_has_those_of_its_room(self):
        room = sorted(path for path in (ROOT / "tests/core/ops").glob("*.cpp") if "TEST_CASE" in path.read_text())
        self.assertGreater(len(room), 3)
        self.assertEqual(show("core/ops/norm.cpp")[1], [f"core/{path.stem.removesuffix('_test')}" for path in room])

    def test_bad_uses_are_told_in_one_sentence(self):
        for arguments, told in ((["show"], "wants one file"), (["show", "none.cpp"], 'there is no file "none.cpp"'),
                                (["run", "README.md"], "say lesson"), (["show", "/etc/passwd"], "must be in"),
                                (["lesson", "README.md"], "not part of a lesson"),
                                (["tests", "README.md"], "no test is named after")):
            run = subprocess.run([ROOT / ".cmake/editor", *arguments], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(run.returncode, 2)
            self.assertIn(told, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1)


class Clangd(unittest.TestCase):
    settings = (ROOT / ".clangd").read_text()

    def test_reads_the_commands_of_the_release_build(self):
        folder = re.search(r"CompilationDatabase: (\S+)", self.settings)[1]
        self.assertEqual(folder, preset("release"))
        self.assertTrue((BUILD / "compile_commands.json").is_file())  # as in each build of this project

    def test_finds_no_error(self):
        clangd = next(filter(None, map(shutil.which, ("clangd", *(f"clangd-{n}" for n in range(19, 13, -1))))), None)
        if not clangd or BUILD != ROOT / preset("release"):
            self.skipTest("there is no clangd here, or the build is another than the one that it reads")
        for file in ("core/ops/matmul.cpp", "core/simd/rows/softmax.cpp", "nn/recurrent.cpp", "core/tape/graph.hpp",
                     "lessons/01_tape/lesson.cpp", "tests/core/tape/tape_test.cpp"):
            before, checked = [], False
            with subprocess.Popen([clangd, f"--check={file}"], cwd=ROOT, stderr=subprocess.PIPE, text=True) as run:
                for line in run.stderr:
                    checked = "Testing features at each token" in line
                    if checked:  # what follows tries refactorings, and says where one can't be done
                        break
                    before.append(line)
                run.kill()
            before = "".join(before)
            self.assertTrue(checked, before)
            self.assertEqual(re.findall(r"(?m)^E\[.*", before), [], file)
            command = re.search(r"Compile command from CDB is: .*|inferred.*", before)
            self.assertTrue(command, before)
            self.assertNotRegex(command[0], r"-include |-Winvalid-pch|-Wno-restrict|-Wno-stringop")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
