#!/usr/bin/env python3
# Tests of the benchmarks' report. Nothing is timed: programs and PyTorch are scripts that say what they took.
import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
from measure import cases, limits, picture, table, work

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = {
    "threads": 1,
    "gflops": 100.0,
    "groots": 2.0,
    "bytes": {"L2": 1 << 20, "L3": 32 << 20},
    "memory_gbs": {"L1": 200.0, "L2": 100.0, "L3": 50.0, "DRAM": 10.0},
    "copy_gbs": {"L1": 100.0, "L2": 50.0, "L3": 25.0, "DRAM": 5.0},
}
# Answers like Google Benchmark: a median of 2 ms for whatever is asked for.
BENCHMARK = """#!/bin/sh
echo '{"benchmarks": [{"run_name": "x/real_time", "aggregate_name": "median", "real_time": 2000, "time_unit": "us"}]}'
"""
# The same, with a time that grows with the size in the benchmark's name: GROWN stands for it.
GROWING = """#!/bin/sh
size=$(echo "$1" | sed 's|.*/\\([0-9]*\\)(.*|\\1|')
echo '{"benchmarks": [{"run_name": "x", "aggregate_name": "median", "real_time": '$((GROWN))', "time_unit": "us"}]}'
"""
# Exact attention's time grows with the square of the words, linear attention's in step with them; level at 256 words.
LENGTHS = GROWING.replace("#!/bin/sh\n", "#!/bin/sh\ntimes=256\n").replace("echo '{", """case "$1" in
  *attend*) times=$size ;;
esac
echo '{""", 1).replace("GROWN", "size * times")
# PyTorch: a version, and for each measurement 8 ms with the default allocator and 6 ms with the tuned one.
TORCH = """#!/bin/sh
case "$*" in
  -c*) echo 2.0 ;;
  *--memory*) echo '{"peak_mib": 90}' ;;
  *_flex*) echo '{"variants_ms": {}, "why": "not on this machine"}' ;;
  *tuned*) [ -z "$LD_PRELOAD" ] || exec echo '{"median_ms": 5, "variant": "fused", "malloc": "tuned", "variants_ms": {"fused": 5}}'
    echo '{"median_ms": 6, "variant": "fused", "malloc": "tuned", "variants_ms": {"fused": 6, "plain": 7}}' ;;
  *) echo '{"median_ms": 8, "variant": "plain", "malloc": "default", "variants_ms": {"fused": 9, "plain": 8}}' ;;
esac
"""
# Processors: one of AMD, on which MKL has two paths, and one of Intel.
PROCESSOR = """vendor_id\t: {vendor}
cpu family\t: 25
model\t\t: 17
model name\t: {name}
flags\t\t: fpu avx2 avx512bw
"""
# Matrix products: 0.1 ms for each of the shapes that are asked for; PyTorch's take 0.2 ms.
PRODUCTS = f"""#!{sys.executable}
import json, sys
shape = dict.fromkeys(("m", "n", "k", "batch", "a_transposed", "b_transposed"), 1)
print(json.dumps([dict(shape, name=name, ms={{"ours": 0.1}}) for name in sys.argv[4:]]))
"""
PEERS_PRODUCTS = """  *matmul*) echo '{"shapes_ms": [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]}' ;;
"""
MEMORY = """#!/bin/sh
case $1 in
  peak) echo '{"peak_mib": 2}' ;;
  *) echo '{"operator_new": 0, "pool_misses": 0.5, "mmap": 0}' ;;
esac
"""


class Rows(unittest.TestCase):
    def test_verdicts(self):
        self.assertEqual(table.verdict(2.0, 2.0), "met")
        self.assertEqual(table.verdict(1.6, 2.0), "close")
        self.assertEqual(table.verdict(1.5, 2.0), "missed")
        self.assertEqual(table.verdict(1.5, 2.0, True, 85), "at floor")
        self.assertEqual(table.verdict(1.6, 2.0, False, 85), "close")
        self.assertEqual(table.verdict(1.6, 2.0, True, 84), "close")
        self.assertEqual(table.verdict(2.0, 2.0, True, 85), "met")
        self.assertEqual(table.verdict(1.5, None), "-")

    def test_ratio_and_share(self):
        row = table.row("a", 1, ours=2.0, peer=5.0, goal=3.0, limit=0.5, binds="FMA", floor=1.5)
        self.assertEqual((row["ratio"], row["verdict"]), (2.5, "close"))
        self.assertEqual((row["percent_of_limit"], row["percent_of_floor"]), (25.0, 75.0))
        self.assertRegex(table.line(row), " 75 %$")
        self.assertIn("2.50", table.line(row))
        self.assertIn("25 % FMA", table.line(row))

    def test_at_the_floor(self):
        """The goal of 3 wants 1.67 ms, which is below a floor of 1.8 but not of 1.6."""
        for floor, expected in ((1.8, "at floor"), (1.6, "close"), (1.69, "close")):
            row = table.row("a", 1, ours=2.0, peer=5.0, goal=3.0, floor=floor)
            self.assertEqual(row["verdict"], expected)

    def test_a_row_without_a_peer_is_not_judged(self):
        row = table.row("a", 1, ours=2.0, goal=3.0)
        self.assertNotIn("ratio", row)
        self.assertEqual(table.summary([row]), "no goal was judged")

    def test_numbers_that_are_to_stay_below(self):
        self.assertEqual(table.at_most("a", 1, 0, 0, "")["verdict"], "met")
        self.assertEqual(table.at_most("a", 1, 0.5, 0, "")["verdict"], "missed")
        self.assertEqual(table.at_most("a", 1, 160, 150, "ns")["verdict"], "close")

    def test_markdown_has_a_line_a_case(self):
        rows = [table.row("a", threads, 1.0, 2.0, goal=threads, limit=0.5, binds="FMA") for threads in (1, 3)]
        rows.append(table.at_most("b", 1, 100.0, 150, "ns"))
        head, under, *lines = table.markdown(rows)
        expected = "| a | 1.000 ms | 2.000 | **2.00** | 1 | 50 % |  | 1.000 ms | 2.000 | 2.00 | 3 | 50 % |  |"
        self.assertEqual(lines[0], expected)
        self.assertEqual(lines[1], "| b | **100.0 ns** |  |  | ≤ 150 |  |  | | | | | | |")
        self.assertEqual({line.count("|") for line in (head, under, *lines)}, {14})

    def test_digits(self):
        self.assertEqual([table.number(x) for x in (None, 0, 0.012343, 12.3456, 1234.6)],
                         ["-", "0", "0.01234", "12.35", "1235"])


class Limits(unittest.TestCase):
    def test_arithmetic_or_memory_binds(self):
        milliseconds, binds = limits.least(LIMITS, (work.Work(flops=1e9),))
        self.assertAlmostEqual(milliseconds, 10.0)
        self.assertEqual(binds, "FMA")
        milliseconds, binds = limits.least(LIMITS, (work.Work(1e6, bytes=1e9, alive=1e9),))
        self.assertAlmostEqual(milliseconds, 100.0)
        self.assertEqual(binds, "DRAM")

    def test_roots_count_for_the_floor_alone(self):
        parts = (work.Work(flops=1e6, bytes=1e6, alive=1000, roots=1e6),)
        self.assertAlmostEqual(limits.least(LIMITS, parts)[0], 0.01)
        self.assertAlmostEqual(limits.least(LIMITS, parts, {})[0], 0.5)

    def test_stretches_add_up(self):
        both = limits.least(LIMITS, (work.Work(flops=1e9), work.Work(bytes=1e9, alive=1e9)))
        self.assertAlmostEqual(both[0], 110.0)
        self.assertEqual(both[1], "DRAM")

    def test_a_limit_is_the_highest_of_several(self):
        first, second = {"gflops": 118.0, "bytes": {"L2": 7, "L3": 9}}, {"gflops": 236.0, "bytes": {"L2": 8, "L3": 3}}
        self.assertEqual(limits.highest([first, second]), {"gflops": 236.0, "bytes": {"L2": 8, "L3": 9}})

    def test_levels(self):
        found = [limits.level(LIMITS, alive) for alive in (1000, 1 << 20, 1 << 24, 1 << 25)]
        self.assertEqual(found, ["L2", "L3", "L3", "DRAM"])

    def test_work_of_known_models(self):
        """FLOPs of the matrix products of three training steps, counted by hand."""
        for parts, billions in (
            (work.seq2seq(32, 30, 10000, 300, 500), 78.7),
            (work.transformer(8, 64, 10000, 512, 2048, 2, 2), 62.0),
            (work.transformer(12, 64, 65, 128, 512, 4), 3.96),
        ):
            self.assertAlmostEqual(parts[0].all_flops * 1e-9 / billions, 1, delta=0.02)

    def test_products_that_were_timed(self):
        """Two steps of 3 ms and one of 4 ms; the rest, 1e8 FLOPs, at the peak."""
        pair = (work.Product(8, 4, 2, b_transposed=True, times=2), work.Product(4, 2, 16, a_transposed=True))
        parts = (work.Work(flops=1e8, products=pair),)
        milliseconds, binds = limits.least(LIMITS, parts, {"8x4x2 bT": 3.0, "4x2x16 aT": 4.0})
        self.assertAlmostEqual(milliseconds, 11.0)
        self.assertEqual(binds, "FMA")
        self.assertEqual(parts[0].all_flops, 1e8 + 2 * 2 * 8 * 4 * 2 + 2 * 4 * 2 * 16)

    def test_copies_are_slower(self):
        for apart, expected in ((0, 100.0), (2.5e8, 150.0), (5e8, 200.0)):
            parts = (work.Work(bytes=1e9, alive=1e9, apart=apart),)
            self.assertAlmostEqual(limits.least(LIMITS, parts, {})[0], expected)
            self.assertAlmostEqual(limits.least(LIMITS, parts)[0], 100.0)

    def test_names_are_distinct(self):
        self.assertEqual(len(set(cases.names())), len(cases.names()))


class Picture(unittest.TestCase):
    def test_a_bar_a_row_and_a_mark_a_goal(self):
        rows = [table.row("a<b", threads, 1.0, 2.0 * threads, goal=3.0) for threads in (1, 2)]
        rows.append(table.row("free", 1, 1.0, 0.5))
        rows.append(table.row("alone", 1, 1.0))
        root = xml.fromstring(picture.draw(rows, "today"))
        space = "{http://www.w3.org/2000/svg}"
        fills = [rect.get("fill") for rect in root.iter(space + "rect")]
        self.assertEqual(fills[-3:], [picture.MISSED, picture.MET, picture.PLAIN])
        texts = [text.text for text in root.iter(space + "text")]
        self.assertIn("a<b", texts)
        self.assertIn("0.50", texts)
        self.assertNotIn("alone", texts)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = pathlib.Path(self.folder.name)
        self.script("bench_kernels", BENCHMARK)
        self.script("bench_memory", MEMORY)
        self.script("bench_limits", f"#!/bin/sh\necho '{json.dumps(LIMITS)}'\n")
        self.torch = self.script("torch", TORCH)
        self.processor("GenuineIntel", "Xeon")

    def tearDown(self):
        self.folder.cleanup()

    def script(self, name, text):
        path = self.build / ("tests" if name.startswith("bench_") else "") / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf8")
        path.chmod(0o755)
        return path

    def processor(self, vendor, name):
        """The machine that the program sees from now on."""
        self.cpuinfo = self.build / "cpuinfo"
        self.cpuinfo.write_text(PROCESSOR.format(vendor=vendor, name=name), encoding="utf8")

    def rows(self, name="bench.json"):
        return json.loads((self.build / name).read_text(encoding="utf8"))["rows"]

    def run_it(self, *arguments):
        command = [sys.executable, "-B", HERE / "compare.py", "--build", self.build, "--rounds", "2", *arguments]
        return subprocess.run(command, capture_output=True, text=True,
                              env=dict(os.environ, LC_ALL="C.UTF-8", TAPESTRY_BENCH_CPUINFO=str(self.cpuinfo)))

    def test_ours_beside_pytorch(self):
        done = self.run_it("--python", self.torch, "--filter", "^(tanh|exp)_1M$", "--threads", "1")
        self.assertEqual(done.returncode, 1, done.stderr)  # 6 ms / 2 ms is 3: exp's goal is met, tanh's is not
        figures = json.loads((self.build / "bench.json").read_text(encoding="utf8"))
        tanh, exp = figures["rows"]
        self.assertEqual((tanh["verdict"], exp["verdict"]), ("missed", "met"))
        self.assertEqual((tanh["ours"], tanh["peer"], tanh["ratio"]), (2.0, 6, 3.0))
        self.assertEqual(tanh["how"], "fused, tuned malloc; plain 7")
        # The default allocator took more than 1.3 times the tuned one's time: the second round does without it.
        self.assertEqual([row["malloc"] for row in tanh["peer_rounds"]], ["default", "tuned", "tuned"])
        self.assertGreater(exp["percent_of_limit"], 0)
        xml.parse(self.build / "bench.svg")
        self.assertRegex(done.stdout, r"exp_1M .* 3\.00 +1\.5 +met")

    def test_mkl_takes_its_path_for_intel_on_processors_of_amd(self):
        """The preloaded library is there on AMD's processors alone, and it answers 1."""
        for vendor, peer, how in (("AuthenticAMD", 5, "fused, tuned malloc, MKL's path for Intel; plain 7"),
                                  ("GenuineIntel", 6, "fused, tuned malloc; plain 7")):
            self.processor(vendor, "Zen")
            done = self.run_it("--python", self.torch, "--filter", "^tanh_1M$", "--threads", "1")
            self.assertEqual(done.stderr, "")
            (tanh,) = self.rows()
            self.assertEqual((tanh["peer"], tanh["how"]), (peer, how))
        library = ctypes.CDLL(str(self.build / "bench_mkl" / "libintel.so"))
        self.assertEqual(library.mkl_serv_intel_cpu_true(), 1)

    def test_without_a_compiler_mkl_keeps_its_path(self):
        self.processor("AuthenticAMD", "Zen")
        (self.build / "bench_mkl").write_text("a file in the folder's place", encoding="utf8")
        done = self.run_it("--python", self.torch, "--filter", "^tanh_1M$", "--threads", "1")
        self.assertIn("only with MKL's path for AMD processors", done.stderr)
        self.assertEqual(self.rows()[0]["peer"], 6)

    def test_the_fastest_of_several_releases_counts(self):
        newer = self.script("newer", TORCH.replace("echo 2.0", "echo 2.9").replace('"median_ms": 6', '"median_ms": 4'))
        without = self.script("without", "#!/bin/sh\nexit 1\n")
        pythons = [word for python in (self.torch, newer, without) for word in ("--python", python)]
        done = self.run_it(*pythons, "--filter", "^tanh_1M$", "--threads", "1")
        (tanh,) = self.rows()
        self.assertEqual((tanh["peer"], tanh["how"]), (4, "fused, tuned malloc, PyTorch 2.9; plain 7"))
        self.assertIn("PyTorch 2.0, 2.9,", done.stdout)
        self.assertIn(f"{without} has no PyTorch", done.stdout)
        self.assertEqual({row["way"] for row in tanh["peer_rounds"]}, {"PyTorch 2.0", "PyTorch 2.9"})

    def test_products_name_the_fastest_way(self):
        """MKL's path for Intel is faster at the first shape alone; both lists are as long as the shapes."""
        self.processor("AuthenticAMD", "Zen")
        self.script("bench_matmul", PRODUCTS.replace("sys.argv[4:]", "('4x4x4', '8x8x8')"))
        answer = """  *matmul*) times="0.2, 0.2"; [ -z "$LD_PRELOAD" ] || times="0.05, 0.3"; echo "{\\"shapes_ms\\": [$times]}" ;;
"""
        torch = self.script("torch", TORCH.replace("  *tuned*", answer + "  *tuned*"))
        done = self.run_it("--python", torch, "--filter", "^matmul_(best|worst)$", "--threads", "1")
        best, worst = self.rows()
        self.assertIn("torch (MKL's path for Intel) at 1, torch at 1", best["how"], done.stderr)
        self.assertEqual(worst["how"], "4x4x4: torch (MKL's path for Intel)")
        self.assertAlmostEqual(worst["ratio"], 0.5)

    def test_jax_is_a_peer_of_two_steps_on_request(self):
        """It needs no PyTorch, and without the option its rows are left out."""
        self.script("bench_transformers", BENCHMARK)
        jax = self.build / "bench_jax"
        (jax / "bin").mkdir(parents=True)
        (jax / "installed").touch()
        answer = TORCH.replace("echo 2.0", "echo 0.9").replace("  *_flex*", "  *main.py*) exit 1 ;;\n  *_flex*")
        (jax / "bin" / "python").write_text(answer, encoding="utf8")
        (jax / "bin" / "python").chmod(0o755)
        arguments = ("--python", "false", "--filter", "_step_jax$", "--threads", "1")
        done = self.run_it(*arguments, "--jax")
        self.assertEqual([(row["name"], row["ratio"], row["how"]) for row in self.rows()],
                         [(name, 3.0, "fused, tuned malloc, JAX 0.9; plain 7")
                          for name in ("decoder_step_jax", "babygpt_step_jax")], done.stderr)
        self.run_it(*arguments)
        self.assertEqual(self.rows(), [])

    def test_rows_of_two_machines_in_one_table(self):
        """An update keeps the other rows, takes the place of its own, and warns if the machine is another."""
        self.run_it("--ours", "--filter", "^(tanh|exp)_1M$", "--threads", "1", "--json", self.build / "first.json")
        self.script("bench_kernels", BENCHMARK.replace("2000", "3000"))
        update = ("--ours", "--filter", "^(exp|sigmoid)_1M$", "--threads", "1", "--update", self.build / "first.json")
        done = self.run_it(*update)
        self.assertEqual([(row["name"], row["ours"]) for row in self.rows()],
                         [("tanh_1M", 2.0), ("exp_1M", 3.0), ("sigmoid_1M", 3.0)])
        self.assertNotIn("warning", done.stdout)
        self.processor("AuthenticAMD", "Zen")
        done = self.run_it(*update, "--markdown", self.build / "table.md")
        warning = r"warning: this table mixes rows of 2 machines \(Xeon .*: 1 row; Zen \(family 25, model 17\), AVX-512"
        self.assertRegex(done.stdout, warning)
        self.assertRegex((self.build / "table.md").read_text(encoding="utf8"), warning)
        for text in ("{}", "no JSON"):
            (self.build / "first.json").write_text(text, encoding="utf8")
            done = self.run_it(*update)
            self.assertEqual((done.returncode, "must be the figures of an earlier run" in done.stderr), (2, True))

    def test_the_floor_is_the_time_of_the_fastest_products(self):
        """Each takes 0.1 ms; PyTorch's are slower. The step takes 2 ms."""
        self.script("bench_recurrent", BENCHMARK)
        self.script("bench_matmul", PRODUCTS)
        torch = self.script("torch", TORCH.replace("  *tuned*", PEERS_PRODUCTS + "  *tuned*"))
        done = self.run_it("--python", torch, "--filter", "^gru_B64_T20_256$", "--threads", "1")
        (row,) = json.loads((self.build / "bench.json").read_text(encoding="utf8"))["rows"]
        parts = work.gru(64, 20, 256, 256)
        products = sum(product.times for product in parts[0].products)
        self.assertEqual(products, 42, done.stderr)  # three of the inputs, one of the state's weights, 2 × 19 steps
        self.assertAlmostEqual(row["floor"], 0.1 * products + parts[0].flops / LIMITS["gflops"] * 1e-6)

    def test_without_pytorch(self):
        files = ("--json", self.build / "x.json", "--svg", self.build / "y.svg", "--markdown", self.build / "z.md")
        done = self.run_it("--python", "false", "--filter", "^tanh", "--threads", "1,2", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only ours are measured", done.stdout)
        self.assertEqual(len(re.findall("^tanh_1M .* %", done.stdout, re.M)), 2)
        for name in ("x.json", "y.svg", "z.md"):
            self.assertTrue((self.build / name).stat().st_size > 0)

    def test_ours_beside_ours(self):
        """No PyTorch is asked; 2 ms against the 1 ms of the kernel without the score."""
        self.script("bench_programmed", BENCHMARK)
        self.script("bench_attention", BENCHMARK.replace("2000", "1000"))
        done = self.run_it("--ours", "--filter", "^programmed_(identity|bias)_builtin$", "--threads", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        identity, bias = json.loads((self.build / "bench.json").read_text(encoding="utf8"))["rows"]
        self.assertEqual((identity["ours"], identity["peer"], identity["ratio"]), (2.0, 1.0, 0.5))
        self.assertEqual((identity["verdict"], bias["verdict"]), ("missed", "-"))
        self.assertEqual(identity["how"], "ours: attention_T2048_full")
        self.assertEqual((len(identity["ours_rounds"]), len(identity["beside_rounds"])), (2, 2))

    def test_a_peer_that_does_not_run_says_why(self):
        self.script("bench_programmed", BENCHMARK)
        done = self.run_it("--python", self.torch, "--filter", "^programmed_window_flex$", "--threads", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"programmed_window_flex +1 +2\.000 +- .*does not run: not on this machine")

    def test_scaling(self):
        """Growth in step with the size is within every theory, growth with its square is not."""
        for grown, code, worse in (("size", 0, 0), ("size * size", 1, 3)):
            self.script("bench_scaling", GROWING.replace("GROWN", grown))
            done = self.run_it("--scaling", "--threads", "1,2", "--svg", self.build / "s.svg")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stdout.count("worse than theory"), worse)
            self.assertIn("1.00 × on 2 threads", done.stdout)
            xml.parse(self.build / "s.svg")
        (self.build / "tests" / "bench_scaling").unlink()
        done = self.run_it("--scaling")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no bench_scaling", done.stderr)

    def test_lengths(self):
        """Linear attention beside exact attention: all ways, both passes, memory, where they are level."""
        self.script("bench_lengths", LENGTHS)
        done = self.run_it("--lengths", "--threads", "1", "--python", self.torch)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("as long as attend() at 256 words; 64 times as fast at 16384"), 6)
        self.assertEqual(done.stdout.count("    PyTorch"), 12)
        self.assertIn("forward and backward, ms, threads 1", done.stdout)
        self.assertIn("memory above the inputs", done.stdout)
        (self.build / "tests" / "bench_lengths").unlink()
        done = self.run_it("--lengths")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no bench_lengths", done.stderr)

    def test_memory_and_allocations(self):
        done = self.run_it("--python", self.torch, "--filter", "memory_attention_T4096_full|allocations_babygpt",
                           "--threads", "1")
        self.assertRegex(done.stdout, r"memory_attention_T4096_full .* 45\.00 +40 +met")
        self.assertRegex(done.stdout, r"allocations_babygpt_step .* missed .*pool_misses 0\.5")
        self.assertEqual(done.returncode, 1)

    def test_wrong_use(self):
        for arguments, message in (
            (["--filter", "nothing_like_it"], "no such case"),
            (["--threads", "0"], "--threads wants"),
            (["--rounds", "0"], "--rounds wants"),
            (["--build", self.build / "missing"], "no benchmark in"),
            (["--python", self.build / "missing"], "does not start"),
        ):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stderr)

    def test_a_program_that_fails_is_named(self):
        self.script("bench_kernels", "#!/bin/sh\necho out of luck >&2\nexit 3\n")
        done = self.run_it("--ours", "--filter", "tanh")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "bench_kernels.* ended with code 3: out of luck")


if __name__ == "__main__":
    unittest.main(verbosity=1)
