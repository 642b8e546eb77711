#!/usr/bin/env python3
# Makes gguf.gguf, a file with every type of metadata and of supported tensors, and gguf.json, the facts about it.
"""usage: make_gguf.py [FOLDER]      writes gguf.gguf and gguf.json into FOLDER, by default data/ beside this script

Needs the Python packages gguf (here 0.19.0) and numpy. Two runs write the same bytes. Keys and names are in order, as
Tapestry writes them, so that a file that Tapestry writes must have the same bytes.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import pathlib
import zlib

import numpy
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter, quants

V = GGUFValueType
FOLDER = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).resolve().parent / "data"
THIRD = float(numpy.float32(1 / 3))
KINDS = {  # the values at the ends of each type's range
    "u8": (V.UINT8, [0, 255]), "i8": (V.INT8, [-128, 127]), "u16": (V.UINT16, [0, 65535]),
    "i16": (V.INT16, [-32768, 32767]), "u32": (V.UINT32, [0, 2**32 - 1]), "i32": (V.INT32, [-2**31, 2**31 - 1]),
    "f32": (V.FLOAT32, [THIRD, -2.0**-149]), "bool": (V.BOOL, [False, True]),
    "string": (V.STRING, ["größe \n\0 \"x\"", ""]), "u64": (V.UINT64, [0, 2**64 - 1]),
    "i64": (V.INT64, [-2**63, 2**63 - 1]), "f64": (V.FLOAT64, [1 / 3, -5e-324]),
}
METADATA = {"general.architecture": (V.STRING, None, "golden"), "general.alignment": (V.UINT32, None, 64)}
for kind, (number, values) in KINDS.items():
    METADATA[f"one.{kind}"] = (number, None, values[1] if kind != "string" else values[0])
    METADATA[f"many.{kind}"] = (V.ARRAY, number, values + values[:1])
METADATA["many.array"] = (V.ARRAY, None, [[1, -2, 3], [4]])
METADATA["many.deeper"] = (V.ARRAY, None, [[["a", "bc"], ["d"]], [["e", "", "f"]]])

draw = numpy.random.default_rng(45)
TENSORS = {  # name: (type, row-major shape)
    "blk.0.bf16": (Type.BF16, (3, 5)), "blk.0.f16": (Type.F16, (7,)), "blk.0.f32": (Type.F32, (2, 3, 4)),
    "blk.0.q4_0": (Type.Q4_0, (3, 64)), "blk.0.q4_1": (Type.Q4_1, (2, 2, 32)), "blk.0.q4_k": (Type.Q4_K, (3, 256)),
    "blk.0.q5_0": (Type.Q5_0, (1, 96)), "blk.0.q5_1": (Type.Q5_1, (4, 32)), "blk.0.q6_k": (Type.Q6_K, (2, 512)),
    "blk.0.q8_0": (Type.Q8_0, (2, 1, 3, 32)),
}


def blocks(kind, shape):
    """Returns random numbers in blocks; random bytes for the types that the package cannot make."""
    if kind in (Type.Q4_K, Type.Q6_K):
        size = quants.quant_shape_to_byte_shape(shape, kind)
        return draw.integers(0, 256, size, dtype=numpy.uint8)
    numbers = draw.standard_normal(shape, dtype=numpy.float32)
    return numbers if kind == Type.F32 else quants.quantize(numbers, kind)


writer = GGUFWriter(None, "golden")
for key, (number, inner, value) in METADATA.items():
    writer.kv_data[0].pop(key, None)
    writer.add_key_value(key, value, number, inner)
writer.kv_data[0] = dict(sorted(writer.kv_data[0].items()))
writer.data_alignment = METADATA["general.alignment"][2]
facts = {"metadata": {key: {"type": int(number), "value": value} for key, (number, _, value) in METADATA.items()},
         "tensors": {}}
for name, (kind, shape) in sorted(TENSORS.items()):
    data = blocks(kind, shape)
    writer.add_tensor(name, data, raw_dtype=None if kind in (Type.F32, Type.F16) else kind)
    facts["tensors"][name] = {"type": kind.name, "shape": shape, "bytes": data.nbytes,
                              "crc32": zlib.crc32(data.tobytes())}
writer.write_header_to_file(FOLDER / "gguf.gguf")
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
(FOLDER / "gguf.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")

for tensor in GGUFReader(FOLDER / "gguf.gguf").tensors:  # the package's own reader agrees
    fact = facts["tensors"][tensor.name]
    assert tensor.tensor_type.name == fact["type"] and tensor.shape.tolist() == list(fact["shape"])[::-1], tensor
    assert zlib.crc32(tensor.data.tobytes()) == fact["crc32"], tensor
