"""Modules for the lessons that run in their pages where there is no compiler for WebAssembly, stand_in.js, weights for the
models that answer there, and the program of lesson 38's chat, chat_stand_in.js."""
import json
import shutil
import struct

from website import chat, trained
from website.live import listed

NAME = "stand-in"  # what such a module has in it, and no other
WORDS = ("marie", "sleeps")  # that the translator's weights say it reads


def make(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    for slug in listed(root):
        (folder / slug).mkdir(parents=True)
        shutil.copy(root / "tests/book/stand_in.js", folder / slug / "lesson.js")
        (folder / slug / "lesson.wasm").write_bytes(b"\0asm\1\0\0\0")
        if slug[:2] in trained.ANSWERS:
            (folder / slug / trained.NAME).write_bytes(weights())
    (folder / chat.SLUG).mkdir()
    shutil.copy(root / "tests/book/chat_stand_in.js", folder / chat.SLUG / "chat.js")
    (folder / chat.SLUG / "chat.wasm").write_bytes(b"\0asm\1\0\0\0")
    return folder


def weights():
    """A checkpoint of two tensors, of which one is the optimiser's."""
    tensor = {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}
    header = {"__metadata__": {"value.source": "\n".join(("tapestry vocabulary 1", "<pad>", *WORDS)), "value.step": "7"},
              "optimiser/w": tensor | {"data_offsets": [0, 4]}, "model/w": tensor}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"\0\0\0\0" + b"\0\0\x80\x3f"
