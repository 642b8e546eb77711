"""Serves the book on this machine only, and regenerates a page when its source changes."""
import functools
import http.server
import threading
import time

from website.book import Book

SOURCES = {".cpp", ".hpp", ".md", ".py", ".html", ".css", ".js", ".mjs", ".json", ".svg", ".txt"}


def stamp(root):
    """Returns {file: time of its last change} for all files from which pages are made."""
    found = {}
    for folder in ("lessons", "core", "nn", "optim", "tests"):
        for path in (root / folder).rglob("*"):
            if path.suffix in SOURCES:
                found[path] = path.stat().st_mtime
    found[root / "README.md"] = (root / "README.md").stat().st_mtime
    return found


def watch(root, out, modules):
    before = stamp(root)
    while True:
        time.sleep(1)
        now = stamp(root)
        changed = [path for path in now if now[path] != before.get(path)]
        before = now
        if not changed:
            continue
        folders = {path.relative_to(root).parts[1] if len(path.relative_to(root).parts) > 2 else "" for path in changed}
        only = folders if all(name[:2].isdigit() for name in folders) else None
        try:
            Book(root, out, modules).make(only)
            print("updated: " + (", ".join(sorted(only)) if only else "everything"), flush=True)
        except Exception as error:  # noqa: BLE001  (a half-written source must not stop the server)
            print(f"not updated: {error}", flush=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # the browser closed the connection


def server(out, port=0):
    return Server(("127.0.0.1", port), functools.partial(Quiet, directory=str(out)))


def serve(root, out, modules):
    Book(root, out, modules).make()
    threading.Thread(target=watch, args=(root, out, modules), daemon=True).start()
    try:
        show = server(out, 8000)
    except OSError:
        show = server(out)
    print(f"http://127.0.0.1:{show.server_port}/ (Ctrl-C stops the server)", flush=True)
    try:
        show.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0
