# Records golden cases: seeded inputs, outputs, cotangents and gradients in f64, written as safetensors.
import json
import math
import pathlib
import struct
import zlib

import torch

FOLDER = pathlib.Path(__file__).resolve().parent / "data"


class Draw:
    """A stream of random tensors whose seed is the case's full name, so that a new case moves no old one."""

    def __init__(self, name):
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape, scale=1.0):
        return torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale

    def ids(self, low, high, *shape):
        """Whole numbers in [low, high)."""
        return torch.randint(low, high, shape, generator=self.generator)


class Golden:
    """One file of golden data: tensors by name, and strings that say what they are."""

    def __init__(self, subject, about):
        self.subject = subject
        self.tensors = {}
        self.metadata = {
            "about": about,
            "made_by": "tests/golden/make.py",
            "torch": torch.__version__,
            "loss": "sum over the outputs that have a cotangent of sum(output * cotangent)",
        }

    def draw(self, case):
        return Draw(f"{self.subject}/{case}")

    def note(self, key, text):
        self.metadata[key] = text

    def put(self, name, value):
        """Keeps a tensor or a number as F64; ids, lengths and masks become whole numbers."""
        if name in self.tensors:
            raise ValueError(f"{self.subject}: the name {name} is taken")
        tensor = torch.as_tensor(value).detach().to(torch.float64).contiguous().clone()
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{self.subject}: {name} is not finite")
        self.tensors[name] = tensor

    def record(self, case, inputs, function, constants=None):
        """Runs function(inputs) and keeps everything under "case/".

        inputs: name -> f64 tensor; each gets a gradient "grad.NAME".
        function: takes a dict of leaves; returns the tensor "output", or a dict of outputs, or a pair
            (outputs, seen) where `seen` is kept but takes no part in the loss.
        constants: name -> tensor or number kept beside the inputs (ids, lengths, masks, settings).
        """
        draw = Draw(f"{self.subject}/{case}/cotangent")
        leaves = {name: value.clone().requires_grad_() for name, value in inputs.items()}
        result = function(leaves)
        outputs, seen = result if isinstance(result, tuple) else (result, {})
        if isinstance(outputs, torch.Tensor):
            outputs = {"output": outputs}

        cotangents = {name: draw.normal(*value.shape) for name, value in outputs.items()}
        loss = sum((value * cotangents[name]).sum() for name, value in outputs.items())
        gradients = torch.autograd.grad(loss, list(leaves.values()))
        for name, gradient in zip(leaves, gradients):
            if gradient.abs().max() < 1e-6:
                raise ValueError(f"{self.subject}/{case}: the gradient of {name} is all but zero")

        for name, value in {**inputs, **(constants or {}), **outputs, **seen}.items():
            self.put(f"{case}/{name}", value)
        for name, value in cotangents.items():
            self.put(f"{case}/cotangent" + ("" if name == "output" else f".{name}"), value)
        for name, value in zip(leaves, gradients):
            self.put(f"{case}/grad.{name}", value)

    def write(self, folder=FOLDER):
        """Writes folder/SUBJECT.safetensors, names in order, header padded to 8 bytes; returns its size."""
        header, blobs, offset = {"__metadata__": dict(sorted(self.metadata.items()))}, [], 0
        for name in sorted(self.tensors):
            tensor = self.tensors[name]
            values = tensor.flatten().tolist()
            blob = struct.pack(f"<{len(values)}d", *values)
            header[name] = {
                "dtype": "F64",
                "shape": list(tensor.shape),
                "data_offsets": [offset, offset + len(blob)],
            }
            blobs.append(blob)
            offset += len(blob)
        text = json.dumps(header, separators=(",", ":")).encode()
        text = text.ljust(math.ceil(len(text) / 8) * 8)
        data = struct.pack("<Q", len(text)) + text + b"".join(blobs)
        (pathlib.Path(folder) / f"{self.subject}.safetensors").write_bytes(data)
        return len(data)
