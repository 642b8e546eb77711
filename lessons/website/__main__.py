"""The command line of lessons/book."""
import os
import shutil
import sys
from pathlib import Path

from website.book import Book

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/book"  # or --out FOLDER
MODULES = ROOT / "build/wasm/lessons"  # or --modules FOLDER; built by "lessons/book --live"


def folder(arguments, option, usual):
    """Returns the folder that `option` names, and removes both from the arguments."""
    if option not in arguments:
        return usual
    at = arguments.index(option)
    named = Path(arguments[at + 1]).resolve()
    del arguments[at:at + 2]
    return named


def main(arguments):
    out = folder(arguments, "--out", OUT)
    modules = folder(arguments, "--modules", MODULES)
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "--record":
        from website import record
        return record.record(ROOT, rest)
    if command == "--compare":
        from website import record
        return record.compare(ROOT, rest)
    if command == "--serve":
        from website import serve
        return serve.serve(ROOT, out, modules)
    if command == "--live":
        from website import trained
        trained.train(ROOT, modules)
    shutil.rmtree(out, ignore_errors=True)
    book = Book(ROOT, out, modules)
    index = book.make()
    print(f"The book: {os.path.relpath(index)}{book.live.summary(len(book.pages))}", flush=True)
    if not book.reference:
        print("The book has no library reference, because Doxygen is not installed", flush=True)
    if command == "--check":
        from website import check
        return max(check.check(out), check.comments(book.reference))
    if command == "--pdf":
        from website import pdf
        return pdf.write(out)
    if command == "--test":
        from website import check
        sys.path.insert(0, str(ROOT / "tests"))
        from book import browser_test
        return max(check.check(out), browser_test.run(ROOT, out, rest))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
