"""Serves the book over a slow line that can break."""
import functools
import threading
import time

from website import serve

PIECE = 1 << 15  # bytes


class Line:
    """All answers of a server share its `rate` in bytes per second. After `left` more bytes the line breaks, unless `left` is
    None: what is being sent stops before its end, and requests get no answer until join()."""

    def __init__(self, rate):
        self.rate, self.left = rate, None
        self.lock, self.free = threading.Lock(), 0.0  # when the line is free for the next piece

    def breaks_after(self, count):
        self.left = count

    def join(self):
        self.left = None

    def send(self, size):
        with self.lock:
            if self.left is not None:
                self.left -= size
                if self.left < 0:
                    raise ConnectionError("the line is broken")
            now = time.monotonic()
            self.free = max(now, self.free) + size / self.rate
            wait = self.free - now
        time.sleep(wait)


class Handler(serve.Quiet):
    line = None

    def copyfile(self, source, outputfile):
        while piece := source.read(PIECE):
            self.line.send(len(piece))
            outputfile.write(piece)

    def do_GET(self):
        if self.line.left is not None and self.line.left < 0:
            self.close_connection = True
            return
        super().do_GET()


def server(out, line):
    """A server of the folder on a free port, which runs until its shutdown()."""
    handler = type("OnThisLine", (Handler,), {"line": line})
    made = serve.Server(("127.0.0.1", 0), functools.partial(handler, directory=str(out)))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made
