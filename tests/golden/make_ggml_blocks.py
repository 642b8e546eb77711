#!/usr/bin/env python3
# Makes ggml_blocks.safetensors: blocks of each of ggml's formats, with the values that the package gguf reads from them.
"""Usage: make_ggml_blocks.py [FILE]        needs the packages numpy and gguf (0.19)

Writes FILE, by default data/ggml_blocks.safetensors. A case is a format:

    Q4_K/bytes       bytes, each as an F32: random bits, with random finite F16 scales
    Q4_K/values      what gguf.quants.dequantize() gives for them
    Q4_0/floats      f32 numbers, with ties, zeros and equal elements (formats that gguf can write)
    Q4_0/quantised   the bytes of gguf.quants.quantize()
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import pathlib
import struct

import gguf
import numpy as np

# Format: bytes of a block, offsets of its F16 numbers.
FORMATS = {"F32": (4, []), "F16": (2, [0]), "BF16": (2, []), "Q8_0": (34, [0]), "Q4_0": (18, [0]), "Q4_1": (20, [0, 2]),
           "Q5_0": (22, [0]), "Q5_1": (24, [0, 2]), "Q4_K": (144, [0, 2]), "Q6_K": (210, [208])}


def halves(random, count):
    """F16 numbers of all magnitudes and signs, subnormal ones included."""
    bits = random.integers(0, 0x7C00, count).astype(np.uint16) | (random.integers(0, 2, count) << 15).astype(np.uint16)
    return bits.view(np.uint8).reshape(count, 2)


def blocks_of(random, name):
    size, scales = FORMATS[name]
    count = 3 if size > 100 else 12 if size > 10 else 64
    blocks = random.integers(0, 256, (count, size)).astype(np.uint8)
    for offset in scales:
        blocks[:, offset:offset + 2] = halves(random, count)
    if name == "F32":
        blocks = random.normal(size=count).astype(np.float32).view(np.uint8).reshape(count, 4)
    if name == "BF16":
        blocks = (random.normal(size=count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        blocks = blocks.view(np.uint8).reshape(count, 2)
    return blocks


def floats(random):
    rows = random.normal(size=(16, 32)).astype(np.float32)
    rows[1] = 0
    rows[2] = 0.75
    rows[3] = np.round(rows[3] * 8) / 8  # ties between two levels
    rows[4] *= 1e-6  # its scale is a subnormal F16
    rows[5] *= 1e4
    rows[6] = np.arange(32) - 16
    rows[7] = 16 - np.arange(32)
    rows[8] = np.where(np.arange(32) % 2, 4, -4)  # two elements of the largest magnitude
    rows[9, 3], rows[10, 20] = -0.0, 0.5
    return rows


def main():
    tensors = {}
    for name in FORMATS:
        random = np.random.default_rng(list(name.encode()))
        kind = gguf.GGMLQuantizationType[name]
        blocks = blocks_of(random, name)
        data = blocks.reshape(1, -1)
        values = data.view({"F32": np.float32, "F16": np.float16}.get(name, np.uint8))
        tensors[f"{name}/bytes"] = data[0]
        tensors[f"{name}/values"] = gguf.quants.dequantize(values, kind).reshape(-1).astype(np.float32)
        if name in ("Q8_0", "Q4_0", "Q4_1"):
            rows = floats(random)
            tensors[f"{name}/floats"] = rows.reshape(-1)
            tensors[f"{name}/quantised"] = gguf.quants.quantize(rows, kind).reshape(-1)
    header, data = {"__metadata__": {"about": "ggml's block formats, read and written by the package gguf"}}, b""
    for name, tensor in tensors.items():  # bytes become F32 as well, since tensors here have no integers
        raw = tensor.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": [len(tensor)], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data/ggml_blocks.safetensors")
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


main()
