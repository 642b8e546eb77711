"""lessons/book's command line."""
import os
import shutil
import sys
from pathlib import Path

from press.book import Book

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out/book"  # or --out FOLDER


def main(arguments):
    out = OUT
    if "--out" in arguments:
        at = arguments.index("--out")
        out = Path(arguments[at + 1]).resolve()
        del arguments[at:at + 2]
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "--record":
        from press import record
        return record.record(ROOT, rest)
    if command == "--compare":
        from press import record
        return record.compare(ROOT, rest)
    if command == "--serve":
        from press import serve
        return serve.serve(ROOT, out)
    shutil.rmtree(out, ignore_errors=True)
    book = Book(ROOT, out)
    print(f"The book: {os.path.relpath(book.make())}", flush=True)
    if not book.reference:
        print("It has no reference of the library: there is no Doxygen here", flush=True)
    if command == "--check":
        from press import check
        return max(check.check(out), check.comments(book.reference))
    if command == "--pdf":
        from press import pdf
        return pdf.write(out)
    if command == "--test":
        from press import check
        sys.path.insert(0, str(ROOT / "tests"))
        from book import browser_test
        return max(check.check(out), browser_test.run(ROOT, out, rest))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
