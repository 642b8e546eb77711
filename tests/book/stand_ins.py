"""Modules for the lessons that run in their pages where there is no compiler for WebAssembly: stand_in.js."""
import shutil

from press.live import listed

NAME = "stand-in"  # what such a module has in it, and no other


def make(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    for slug in listed(root):
        (folder / slug).mkdir(parents=True)
        shutil.copy(root / "tests/book/stand_in.js", folder / slug / "lesson.js")
        (folder / slug / "lesson.wasm").write_bytes(b"\0asm\1\0\0\0")
    return folder
