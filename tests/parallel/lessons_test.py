"""Lessons that mpirun starts several times: one model, one voice, one folder. Arguments: mpirun, the folder of the
lessons' programs."""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import os
import pathlib
import re
import struct
import subprocess
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

    def start(self, ranks, lesson, *words, other=None, other_lesson=None):
        """`other`: the options of the last rank, if they are others."""
        def program(number):
            return str(next(pathlib.Path(LESSONS).glob(f"{number}_*")) / "lesson")
        command = [MPIRUN, "-q", "-n", str(ranks), program(lesson), *map(str, words)]
        if other is not None:
            command[3] = str(ranks - 1)
            command += [":", "-n", "1", program(other_lesson or lesson), *map(str, other)]
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

    def test_a_finished_run_is_started_again(self):
        _, first = self.gpt(2, "run")
        _, again = self.gpt(2, "run")
        self.assertIn("resuming at step 30 of 30", again)
        self.assertEqual(again.split("Generated text")[1], first.split("Generated text")[1])

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
        table = done.stdout.split("strings per second:")[1].splitlines()[1:4]
        rows = [[float(word) for word in line.split()] for line in table]
        self.assertEqual([row[0] for row in rows], [1, 2, 3])
        for row in rows:
            self.assertEqual(len(row), 5)
            self.assertGreater(min(row), 0)
        self.assertEqual(rows[0][1::2], rows[0][2::2])  # of one rank nothing is to be predicted
        picture = (self.folder / "ranks.svg").read_text(encoding="utf-8")
        self.assertEqual(picture.count('r="3.4"'), 4 * 11 + 2 * 3)  # four curves at 1 … 1,024
        self.assertRegex(done.stdout, r"for each number of ranks, all ranks have the same weights +(\x1b\S+m)?ok")

    def told(self, *arguments, **named):
        done = self.start(*arguments, **named)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        # Progress begins with spaces: lesson 22's warm-up comes before its text.
        lines = [line for line in done.stderr.splitlines() if line and not line.startswith("  ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertEqual(list(self.rooms.glob("tapestry-rank*")), [])
        return lines[0]

    def test_one_sentence_of_a_bad_option(self):
        out = ["--out", self.folder / "out"]
        self.assertIn("--seed: 'x' is not a whole number", self.told(3, "20", "--seed", "x", *out))
        alone = "--prompt must run in a single process; start the program without mpirun"
        self.assertIn(alone, self.told(2, "20", "--prompt", "a", *out))
        self.assertIn("--translate must run in a single process", self.told(2, "15", "--translate", "a", *out))
        self.assertIn("parts must be at least 3, the number of ranks, got 2",
                      self.told(3, "20", "--data", self.text, *GPT, "--parts", "2", *out))

    def differ(self, lesson, mine, other, *said, ranks=2):
        out = ["--out", self.folder / "out"]
        sentence = self.told(ranks, lesson, *mine, *out, other=[*other, *out])
        for words in said:
            self.assertIn(words, sentence)
        left = [path for path in self.folder.glob("out/**/*") if path.is_file() and path.suffix != ".svg"]
        self.assertEqual(left, [])  # pictures of lesson 22 come before its text

    def test_ranks_with_other_options_are_refused_at_the_start(self):
        same = "all ranks must have the same options; rank 0 has "
        for lesson, mine, other, said in (
                ("20", ["--seed", "1"], ["--seed", "2"], "--seed 1 and rank 1 has --seed 2"),
                ("20", [], ["--dropout", "0.2"], "no --dropout and rank 1 has --dropout 0.2"),
                ("20", ["--data", self.text, "--rate", "0.1"], ["--data", self.text, "--rate", "0.2"],
                 "--rate 0.1 and rank 1 has --rate 0.2"),
                ("20", ["--parts", "4"], ["--parts", "8"], "--parts 4 and rank 1 has --parts 8"),
                ("20", ["--data", self.text], [], "--data and rank 1 has no --data"),
                ("15", ["--batch", "3"], ["--batch", "4"], "--batch 3 and rank 1 has --batch 4"),
                ("15", ["--tied"], ["--untied"], "--tied true and rank 1 has --tied false"),
                ("15", ["--smoke"], [], "--smoke true and rank 1 has no --smoke"),
                ("22", ["--width", "64"], ["--width", "32"], "--width 64 and rank 1 has --width 32"),
                ("34", [], ["--seed", "3"], "no --seed and rank 1 has --seed 3"),
                ("34", [], ["--help"], "rank 1 has --help")):
            with self.subTest(f"{lesson} {mine} {other}"):
                self.differ(lesson, mine, other, same, said)
        self.differ("20", [], ["--seed", "2"], same + "no --seed and rank 3 has --seed 2", ranks=4)

    def test_ranks_with_another_lesson_are_refused(self):
        self.assertIn("rank 0 has lesson 15_translate and rank 1 has lesson 20_gpt",
                      self.told(2, "15", "--out", self.folder, other=["--out", self.folder], other_lesson="20"))

    def test_ranks_with_other_texts_are_refused_before_training(self):
        other = self.folder / "other.txt"
        for change in ((b"be?", b"me?"), (b"or", b"\xc3\xb8r"), (b"not to", b"not  to")):
            other.write_bytes(self.text.read_bytes().replace(*change, 1))
            with self.subTest(change=change):
                self.differ("20", ["--data", self.text, *GPT], ["--data", other, *GPT],
                            "all ranks must train on the same text with the same options; rank 0 has text ",
                            " and rank 1 has text ")
        for lesson, change in (("15", ("dog", "cat")), ("15", ("dog", "dog too")), ("22", ("dog", "wolf"))):
            here, there = self.pairs("here"), self.pairs("there", change)
            with self.subTest(lesson=lesson, change=change):
                self.differ(lesson, ["--smoke", "--data", here], ["--smoke", "--data", there],
                            "; rank 0 has text ", " and rank 1 has text ")

    def pairs(self, name, change=("", "")):
        """A small Multi30k, with one word changed in the first sentence that is learned from."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        lines = [f"a {one} sees the {two}" for one in ("dog", "cat", "man") for two in ("dog", "cat", "man", "dog")] * 8
        for part in ("train", "val", "test_2016_flickr"):
            for language in ("en", "fr"):
                text = "\n".join(lines) + "\n"
                if part == "train" and language == "en":
                    text = text.replace(*change, 1)
                (folder / f"{part}.{language}").write_text(text)
        return folder

    def test_one_text_at_two_places_is_one_text(self):
        other = self.folder / "other.txt"
        other.write_bytes(self.text.read_bytes())
        out = ["--out", self.folder / "out"]
        done = self.start(2, "20", "--data", self.text, *GPT, *out, other=["--data", other, *GPT, *out])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_sentence_of_a_rank_that_lacks_its_text(self):
        out = ["--out", self.folder / "out"]
        sentence = self.told(3, "20", "--data", self.text, *GPT, *out,
                             other=["--data", self.folder / "nowhere.txt", *GPT, *out])
        self.assertIn("nowhere.txt", sentence)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
