"""Ranks under mpirun: the same bits, checkpoints, and ranks that are lost. Arguments: mpirun, the program `rank`."""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

MPIRUN, RANK = sys.argv[1:3]
STEPS = "40"
ENVIRONMENT = {**os.environ, "TAPESTRY_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none"}


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "run.safetensors"

    def start(self, ranks, *words):
        begun = time.monotonic()
        command = [RANK] if ranks == 0 else [MPIRUN, "-q", "-n", str(ranks), RANK]
        done = subprocess.run([*command, self.file, STEPS, *words], capture_output=True, text=True, timeout=60,
                              env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=False)
        return done, time.monotonic() - begun

    def trained(self, ranks, *words):
        done, _ = self.start(ranks, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = re.fullmatch(r"(\d+) ranks, from step (\d+): loss (\S+), weights (\S+), bits (\w+)\n", done.stdout)
        self.assertTrue(said, done.stdout)
        return int(said[2]), float(said[3]), float(said[4]), said[5]

    def lost(self, ranks, *words):
        """One sentence, an exit code, and how long it took."""
        done, seconds = self.start(ranks, *words)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        lines = [line for line in done.stderr.splitlines() if line]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0], seconds

    def test_the_same_weights_on_any_number_of_ranks(self):
        alone = self.trained(0)
        for ranks in (2, 3, 8):
            with self.subTest(ranks=ranks):
                self.file.unlink()
                run = self.trained(ranks)
                for mine, other in zip(run[1:3], alone[1:3]):
                    self.assertLess(abs(mine / other - 1), 1e-8)
                if ranks == 3:
                    self.file.unlink()
                    self.assertEqual(self.trained(ranks), run)

    def test_what_is_too_long_for_one_message_goes_in_several(self):
        whole = self.trained(2)
        self.file.unlink()
        self.assertEqual(self.trained(2, "pieces", "1001"), whole)  # no piece ends where a number does

    def test_a_rank_dies_and_the_run_goes_on(self):
        whole = self.trained(2)
        for rank in ("1", "0"):
            with self.subTest(rank=rank):
                self.file.unlink()
                sentence, seconds = self.lost(2, "die", rank, "25")
                self.assertIn("mpirun has ended this run: a rank has died", sentence)
                self.assertLess(seconds, 10)
                rest = self.trained(2)
                self.assertEqual(rest[0], 20)
                self.assertEqual(rest[1:], whole[1:])  # bit for bit
        self.file.unlink()
        self.lost(2, "die", "1", "25")
        other = self.trained(4)
        self.assertEqual(other[0], 20)
        self.assertLess(abs(other[2] / whole[2] - 1), 1e-8)

    def test_a_rank_that_hangs_ends_all(self):
        sentence, seconds = self.lost(3, "stop", "1", "15", "quick", "1")
        self.assertRegex(sentence, r"tapestry: rank \d: for 1 s .*: a rank or the network hangs")
        self.assertLess(seconds, 10)

    def test_a_rank_that_fails_says_why(self):
        sentence, seconds = self.lost(3, "fail", "2", "15")
        self.assertEqual(sentence, "tapestry: rank 2: its data cannot be read")
        self.assertLess(seconds, 10)

    def test_one_of_the_ranks_that_fail_together_says_why(self):
        self.assertRegex(self.lost(4, "fail", "all", "15")[0], r"tapestry: rank \d: its data cannot be read")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
