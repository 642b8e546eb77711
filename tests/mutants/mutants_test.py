#!/usr/bin/env python3
"""The mutant makers: what they change, and what they leave alone."""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import generate  # noqa: E402
import known  # noqa: E402
import report  # noqa: E402
import sources  # noqa: E402
import trial  # noqa: E402


def runner():
    """tests/mutants/run as a module."""
    loader = importlib.machinery.SourceFileLoader("run", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


TEXT = """#include <a + b>
// a + b
int f(int n, std::vector<int>& x) {
  if (n < 10) fail("[f] {} + {} is wrong", n + 1, "a < b");
  for (int i = 0; i < n; ++i) x[i] += n * 2;
  int y = std::min(n, 3);
  x.clear();
  return g(y, n);
}
"""


class Generator(unittest.TestCase):
    def results(self, text=TEXT):
        return [m.apply(text) for m in generate.mutants_of("core/f.cpp", text)]

    def test_what_is_no_code_is_left_alone(self):
        code = sources.code(TEXT)
        self.assertEqual(len(code), len(TEXT))
        self.assertEqual(code.count("\n"), TEXT.count("\n"))
        self.assertNotIn("a", code[:code.index("int f")])
        self.assertNotIn("wrong", code)
        self.assertNotIn("n + 1", code)  # in a message
        self.assertEqual(sources.code('x = R"(a " + b)" + \'"\' + 1\'000;').split(), ["x", "=", "+", "+", "1'000;"])

    def test_each_kind_of_mistake(self):
        results = self.results()
        for line in ("if (n <= 10)", "if (!(n < 10))", "if (n < 11)", "if (n < 0)", "i < n; --i)", "i <= n;", "int i = 1;",
                     "x[i] = n * 2", "x[i] += n / 2", "n * 3", "std::max(n, 3)", "int y = (n)", "int y = (3)", "g(n, y)",
                     "\n  ;\n"):
            self.assertTrue(any(line in result for result in results), line)

    def test_every_mutant_is_a_change_of_one_place(self):
        for result in self.results():
            self.assertNotEqual(result, TEXT)
            self.assertEqual(result.count("\n"), TEXT.count("\n"))
            self.assertTrue(result.startswith(TEXT[:TEXT.index("  if")]) or "core" in result)

    def test_declarations_stay(self):
        for text in ("  const int a = b();\n", "  Size n{3};\n", "  int f(int a);\n", "  std::vector<int> x(4);\n"):
            self.assertFalse([m for m in generate.mutants_of("core/f.cpp", text) if "statement" in m.what], text)

    def test_a_longer_sample_begins_with_the_shorter(self):
        files = ["optim/clip.cpp", "optim/sgd.cpp"]
        short, long = (generate.sample(ROOT, files, n, 5) for n in (4, 9))
        self.assertEqual(short, long[:4])
        self.assertNotEqual(short, generate.sample(ROOT, files, 4, 6))


class Planted(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "list.txt")
            path.write_text(text, encoding="utf-8")
            return known.read(ROOT, path)

    def test_an_entry(self):
        (mutant,) = self.read("optim/sgd.cpp: none\n- #include \"optim/sgd.hpp\"\n+ #include \"optim/adam.hpp\"\n")
        self.assertEqual((mutant.file, mutant.what, mutant.line), ("optim/sgd.cpp", "none", 2))

    def test_bad_entries(self):
        for text in ("optim/sgd.cpp: is not there\n- no such text\n+ x\n", "optim/sgd.cpp: twice\n- (\n+ x\n",
                     "optim/none.cpp: no file\n- a\n+ b\n", "optim/sgd.cpp: no change\n- SGD\n+ SGD\n", "- a\n+ b\n",
                     "a line without a file\n- a\n+ b\n"):
            with self.assertRaises(known.BadEntry, msg=text):
                self.read(text)

    def test_the_lists_fit_the_sources(self):
        self.assertGreater(len(known.all_known(ROOT)), 100)
        known.equivalents(ROOT)


class Trial(unittest.TestCase):
    def test_the_nearest_tests_come_first(self):
        self.assertIn("[#byte_pairs_test]~[long]", trial.nearest_tests(ROOT, "tests_nn", "nn/text/byte_pairs.cpp"))
        self.assertIn("[#threads_test]~[long]", trial.nearest_tests(ROOT, "tests_simd", "core/simd/runtime/threads.cpp"))
        self.assertEqual(trial.floor_of("core/simd/runtime/threads.cpp"), "core/simd")
        self.assertEqual(trial.floor_of("core/tape/tape.cpp"), "core")

    def test_the_failing_case_is_named(self):
        line = "-" * 79
        text = f"~~~\nx is a Catch v2 host application.\n\n{line}\nsums are right\n  a section\n{line}\na.cpp:3\n"
        self.assertEqual(trial.CASE.search(text)[1], "sums are right")

    def test_a_sample_is_judged_by_what_chance_allows(self):
        self.assertFalse(report.too_few(60, 60, 100))
        self.assertTrue(report.too_few(59, 60, 100))
        self.assertFalse(report.too_few(45, 50, 90))
        self.assertFalse(report.too_few(40, 50, 90))
        self.assertTrue(report.too_few(39, 50, 90))
        self.assertTrue(report.too_few(435, 500, 90.5))
        self.assertTrue(report.too_few(0, 50, 90))
        self.assertFalse(report.too_few(1, 1, 90))

    def test_totals(self):
        def entry(outcome, file):
            return {"outcome": outcome, "file": file}
        text, noticed, survived = report.totals([entry("noticed", "nn/a.cpp"), entry("survived", "nn/b.cpp"),
                                                 entry("equivalent", "nn/a.cpp"), entry("same", "core/a.cpp")])
        self.assertEqual((noticed, survived), (1, 1))
        self.assertTrue(text.splitlines()[-1].endswith("50"))


class Time(unittest.TestCase):
    def test_it_counts_from_the_first_mutant(self):
        module = runner()
        asked = argparse.Namespace(sample=100, seconds=300, again=True, dependents=6)
        shop = unittest.mock.Mock(**{"dependents.return_value": 1})
        mutants = generate.sample(ROOT, ["optim/sgd.cpp"], 10, 1)
        with unittest.mock.patch.object(module.time, "monotonic", return_value=1) as clock:
            campaign = module.Campaign(asked, mutants, report.Results(ROOT / "none", ""))
            begun = []
            for clock.return_value in (500, 799, 801):  # the copies are built after 500 s
                begun.append(campaign.next(shop) is not None)
        self.assertEqual(begun, [True, True, False])


if __name__ == "__main__":
    unittest.main()
