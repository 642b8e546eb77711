#!/usr/bin/env python3
"""usage: load_trained.py

Loads trained.safetensors, a language model that Tapestry trained and saved, into PyTorch's own layers, and writes its
logits to trained_in_pytorch.safetensors. Needs PyTorch. tests/nn/weights_out_test.cpp compares them with ours.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import math
import struct

import torch
import torch.nn.functional as F
from torch.func import functional_call

import make_transformer
from recorder import FOLDER, Golden

WIDTH, HEADS, HIDDEN, LAYERS = 8, 2, 12, 2


def read(path):
    """Tensors of F32 by name."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = struct.unpack(f"<{(end - begin) // 4}f", body[begin:end])
        tensors[name] = torch.tensor(values, dtype=torch.float64).view(entry["shape"])
    return tensors


def main():
    torch.set_default_dtype(torch.float64)
    weights = read(FOLDER / "trained.safetensors")
    ids = (torch.arange(6)[:, None] + torch.arange(5)) % 6
    x = F.embedding(ids, weights["input.words.weight"]) * math.sqrt(WIDTH) + make_transformer.sinusoids(5, WIDTH)
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    layer = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True
    )
    for i in range(LAYERS):
        state = make_transformer.as_torch_layer(weights, f"stack.blocks.{i}.")
        x = functional_call(layer, state, (x,), {"src_mask": later})
    x = F.layer_norm(x, (WIDTH,), weights["stack.norm.weight"], weights["stack.norm.bias"])
    golden = Golden("trained_in_pytorch", "logits of trained.safetensors for six rows that count, in PyTorch")
    golden.metadata["made_by"] = "tests/golden/load_trained.py"
    golden.put("logits", x @ weights["input.words.weight"].T)
    print(golden.write(), "bytes")


if __name__ == "__main__":
    main()
