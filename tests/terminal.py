"""Programs on a pseudo-terminal, for tests: keys are pressed, and text is waited for."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    """A program on a pseudo-terminal, ended with its test; what it prints is collected in `text`."""

    def __init__(self, test, command, folder, **environment):
        self.text = ""
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(environment, TERM="xterm", NO_COLOR="")
            os.execv(command[0], command)
        test.addCleanup(self.close)

    def wait_for(self, pattern, seconds=60):
        """Reads until the pattern has come, and forgets all up to its end."""
        end = time.monotonic() + seconds
        while True:
            plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.text.replace("\r", ""))
            match = re.search(pattern, plain)
            if match:
                before, self.text = plain[: match.end()], plain[match.end():]
                return before
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} did not come; there is:\n{plain}")
            if select.select([self.screen], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.screen, 65536).decode(errors="replace")
                except OSError:
                    pass

    def resize(self, columns, rows=40):
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, key):
        os.write(self.screen, key.encode())

    def ended(self, seconds=20):
        """Its exit status."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.screen], [], [], 0.05)[0]:
                try:
                    os.read(self.screen, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("it does not end")

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.screen)
