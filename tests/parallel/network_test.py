"""Ranks on two machines: the network between them is slow, or cut; a rank, or a whole machine, is lost. The machines
are network namespaces with a wire between them, which takes Linux, root and `ip`. Arguments: mpirun, the program
`rank`."""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import contextlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

MPIRUN, RANK = sys.argv[1:3]
STEPS = 60
PATIENCE = 2
BOUND = 15  # seconds from a fault to the end
NETWORK = "10.77.0"
MACHINES = {f"{NETWORK}.{i + 1}": f"tapestry{os.getpid()}_{i}" for i in range(2)}
FIRST, SECOND = MACHINES.values()
ENVIRONMENT = {**os.environ, "TAPESTRY_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_oob_tcp_if_include": f"{NETWORK}.0/24",
               "OMPI_MCA_btl_tcp_if_include": f"{NETWORK}.0/24", "OMPI_MCA_btl": "tcp,self",
               # Without these mpirun itself waits a quarter of an hour for a machine that is cut off.
               "OMPI_MCA_oob_tcp_keepalive_time": "1", "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
               "OMPI_MCA_oob_tcp_keepalive_probes": "2"}


def ip(words, quiet=False):
    subprocess.run(["ip", *words.split()], check=not quiet, capture_output=True, text=True)


def set_wire(megabits):
    """Both ends send so much in a second."""
    for i, machine in enumerate(MACHINES.values()):
        subprocess.run(f"ip netns exec {machine} tc qdisc replace dev wire{i} root tbf rate {megabits}mbit burst 32k "
                       "latency 400ms".split(), check=True, capture_output=True)


def lay_wire():
    for machine in MACHINES.values():
        ip(f"netns add {machine}")
    ip(f"link add wire0 netns {FIRST} type veth peer name wire1 netns {SECOND}")
    for i, (address, machine) in enumerate(MACHINES.items()):
        ip(f"-n {machine} addr add {address}/24 dev wire{i}")
        ip(f"-n {machine} link set lo up")
        ip(f"-n {machine} link set wire{i} up")
    set_wire(1000)


def clear():
    for machine in MACHINES.values():
        for process in processes(machine):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ip(f"netns del {machine}", quiet=True)


def processes(machine):
    listed = subprocess.run(["ip", "netns", "pids", machine], check=False, capture_output=True, text=True)
    return [int(line) for line in listed.stdout.split()]


def is_rank(process):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip() == pathlib.Path(RANK).name[:15]
    return False


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        here = pathlib.Path(cls.folder.name)
        agent = here / "agent"  # where mpirun would call ssh
        cases = "".join(f"{address}) machine={machine} ;;\n" for address, machine in MACHINES.items())
        agent.write_text(f'#!/bin/sh\ncase $1 in\n{cases}esac\nshift\nexec ip netns exec "$machine" sh -c "$*"\n')
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        cls.two_machines = ["ip", "netns", "exec", FIRST, MPIRUN, "-q", "-n", "2",
                            "-H", ",".join(f"{address}:1" for address in MACHINES), "--mca", "plm_rsh_agent", str(agent)]
        cls.file, cls.out, cls.error = here / "run.safetensors", here / "out", here / "error"
        cls.whole, _ = cls.trained([MPIRUN, "-q", "-n", "2"])

    def setUp(self):
        self.file.unlink(missing_ok=True)
        clear()
        lay_wire()
        self.addCleanup(clear)

    @classmethod
    def start(cls, command):
        """A run that writes to files: of pipes the part on a machine that is cut off would keep the other end."""
        with open(cls.out, "w") as out, open(cls.error, "w") as error:
            return subprocess.Popen([*command, RANK, cls.file, str(STEPS), "none", "0", "0", "quick", str(PATIENCE)],
                                    stdout=out, stderr=error, env=ENVIRONMENT, stdin=subprocess.DEVNULL)

    @classmethod
    def trained(cls, command):
        """From which step, what came out, and how long it took."""
        begun = time.monotonic()
        code = cls.start(command).wait(timeout=60)
        said = re.fullmatch(r"2 ranks, from step (\d+): (loss .*)\n", cls.out.read_text())
        if code or not said:
            raise AssertionError(f"{code}: {cls.out.read_text()}{cls.error.read_text()}")
        return (int(said[1]), said[2]), time.monotonic() - begun

    def lost(self, fault):
        """What is said of a fault in the middle of a run; then the run goes on from its checkpoint, to the same bits."""
        set_wire(20)
        run = self.start(self.two_machines)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        while not self.file.exists():
            self.assertIsNone(run.poll(), "it ended before the fault")
            time.sleep(0.02)
        fault()
        self.assertNotEqual(run.wait(timeout=BOUND), 0)
        self.assertEqual(self.out.read_text(), "")
        lines = [line for line in self.error.read_text().splitlines() if line]
        self.assertEqual(len(lines), 1, lines)
        end = time.monotonic() + BOUND
        while any(is_rank(process) for process in processes(SECOND)):  # a rank that nobody reaches ends too
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        clear()
        lay_wire()
        (step, result), _ = self.trained(self.two_machines)
        self.assertTrue(10 <= step < STEPS and step % 10 == 0, step)
        self.assertEqual(result, self.whole[1])
        return lines[0]

    def test_two_machines(self):
        self.assertEqual(self.trained(self.two_machines)[0], self.whole)

    def test_a_slow_wire(self):
        quick = self.trained(self.two_machines)[1]
        self.file.unlink()
        set_wire(10)
        result, slow = self.trained(self.two_machines)
        self.assertEqual(result, self.whole)
        numbers = 8 * 512 + 512 + 512 * 4 + 4  # in f64, all of them once in a step on a wire between two
        self.assertGreater(slow, STEPS * numbers * 8 * 8 / 10e6)
        self.assertLess(quick, slow)

    def test_a_cut_wire(self):
        sentence = self.lost(lambda: ip(f"-n {SECOND} link set wire1 down"))
        self.assertRegex(sentence, rf"tapestry: rank \d: for {PATIENCE} s .*: a rank or the network hangs")

    def test_a_rank_is_killed(self):
        def kill():
            for process in processes(SECOND):
                if is_rank(process):
                    os.kill(process, signal.SIGKILL)
        self.assertIn("a rank has died", self.lost(kill))

    def test_a_machine_is_lost(self):
        def kill():
            for process in processes(SECOND):
                os.kill(process, signal.SIGKILL)
        self.assertIn("a rank has died", self.lost(kill))


def why_not():
    """Why there can be no two machines here; nothing where they can be."""
    if not (shutil.which("ip") and shutil.which("tc")):
        return "there is no ip and tc (Debian: iproute2)"
    try:
        lay_wire()
    except subprocess.CalledProcessError as error:
        return error.stderr.strip()
    finally:
        clear()
    return ""


if __name__ == "__main__":
    missing = why_not()
    if missing:
        print(f"skipped: {missing}")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1])
