"""Lessons that mpirun starts several times: one model, one voice, one folder. Arguments: mpirun, the folder of the
lessons' programs."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

MPIRUN, LESSONS = sys.argv[1:3]
GPT = ["--preset", "usual", "--layers", "1", "--heads", "2", "--width", "16", "--context", "16", "--batch", "7",
       "--steps", "30"]


def weights_in(file):
    """The tensors of a checkpoint that are the model's, without the times in it."""
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name.startswith("model"):
            begin, end = entry["data_offsets"]
            tensors[name] = data[8 + size + begin:8 + size + end]
    return tensors


def numbers(tensors):
    return [x for _, data in sorted(tensors.items()) for x in struct.unpack(f"<{len(data) // 4}f", data)]


class Lessons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rooms = self.folder / "tmp"  # for what ranks make for themselves
        self.rooms.mkdir()
        self.text = self.folder / "text.txt"
        self.text.write_text("to be, or not to be?\n" * 60)

    def start(self, ranks, lesson, *words, other=None):
        """`other`: the options of the last rank, if they are others."""
        program = [str(next(pathlib.Path(LESSONS).glob(f"{lesson}_*")) / "lesson")]
        command = [MPIRUN, "-q", "-n", str(ranks), *program, *map(str, words)]
        if other is not None:
            command[3] = str(ranks - 1)
            command += [":", "-n", "1", *program, *map(str, other)]
        environment = {**os.environ, "TAPESTRY_THREADS": "1", "TMPDIR": str(self.rooms),
                       "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment,
                              stdin=subprocess.DEVNULL, check=False)

    def gpt(self, ranks, name, *more):
        out = self.folder / name
        done = self.start(ranks, "20", "--data", self.text, *GPT, "--out", out, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.rooms.glob("tapestry-rank*")), [])
        return out / "usual", done.stdout

    def test_one_model_one_voice_one_folder(self):
        alone, said_alone = self.gpt(1, "alone")
        again = {}
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                folder, said = self.gpt(ranks, f"of {ranks}")
                mine, other = numbers(weights_in(folder / "checkpoint.safetensors")), \
                    numbers(weights_in(alone / "checkpoint.safetensors"))
                self.assertGreater(len(mine), 1000)
                self.assertEqual(len(mine), len(other))
                self.assertLess(max(abs(a - b) for a, b in zip(mine, other)), 1e-4)
                self.assertEqual(sorted(path.name for path in folder.iterdir()),
                                 sorted(path.name for path in alone.iterdir()))
                steps = [line.split(",")[0] for line in (folder / "log.csv").read_text().splitlines()]
                self.assertEqual(steps, [line.split(",")[0] for line in (alone / "log.csv").read_text().splitlines()])
                for text in (said, said_alone):
                    self.assertEqual(len(re.findall("trained 30 steps", text)), 1, text)
                again[ranks] = weights_in(folder / "checkpoint.safetensors")
        folder, _ = self.gpt(2, "of 2 again")
        self.assertEqual(weights_in(folder / "checkpoint.safetensors"), again[2])

    def test_a_whole_lesson(self):
        for lesson in ("15", "20", "22"):
            with self.subTest(lesson=lesson):
                done, alone = (self.start(ranks, lesson, "--smoke", "--out", self.folder / lesson) for ranks in (2, 1))
                self.assertEqual((done.returncode, alone.returncode), (0, 0), done.stderr)
                self.assertEqual(done.stderr.count("100 %"), alone.stderr.count("100 %"))  # of each progress
                self.assertEqual(len(re.findall(r"\d\. ", done.stdout)), len(re.findall(r"\d\. ", alone.stdout)))

    def test_lesson_34_measures_one_two_and_three_of_three_ranks(self):
        done = self.start(3, "34", "--smoke", "--out", self.folder)
        self.assertEqual((done.returncode, done.stderr.count("tapestry:")), (0, 0), done.stderr)
        table = done.stdout.split("strings a second:")[1].splitlines()[1:4]
        rows = [[float(word) for word in line.split()] for line in table]
        self.assertEqual([row[0] for row in rows], [1, 2, 3])
        for row in rows:
            self.assertEqual(len(row), 5)
            self.assertGreater(min(row), 0)
        self.assertEqual(rows[0][1::2], rows[0][2::2])  # of one rank nothing is to be predicted
        picture = (self.folder / "ranks.svg").read_text(encoding="utf-8")
        self.assertEqual(picture.count('r="3.4"'), 4 * 11 + 2 * 3)  # four curves at 1 … 1,024
        self.assertRegex(done.stdout, r"each number of ranks: all have the same weights +(\x1b\S+m)?ok")

    def told(self, *arguments, **named):
        done = self.start(*arguments, **named)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        lines = [line for line in done.stderr.splitlines() if line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertEqual(list(self.rooms.glob("tapestry-rank*")), [])
        return lines[0]

    def test_one_sentence_of_a_bad_option(self):
        out = ["--out", self.folder / "out"]
        self.assertIn("--seed: 'x' is not a whole number", self.told(3, "20", "--seed", "x", *out))
        self.assertIn("--prompt is work for one process: leave mpirun away", self.told(2, "20", "--prompt", "a", *out))
        self.assertIn("--translate is work for one process", self.told(2, "15", "--translate", "a", *out))
        self.assertIn("2 parts are too few for 3 ranks",
                      self.told(3, "20", "--data", self.text, *GPT, "--parts", "2", *out))

    def test_one_sentence_of_a_rank_that_lacks_its_text(self):
        out = ["--out", self.folder / "out"]
        sentence = self.told(3, "20", "--data", self.text, *GPT, *out,
                             other=["--data", self.folder / "nowhere.txt", *GPT, *out])
        self.assertIn("nowhere.txt", sentence)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
