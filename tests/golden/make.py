#!/usr/bin/env python3
# Makes the golden data of this folder with PyTorch in f64; README.md says what the files hold. Needs PyTorch.
"""usage: make.py [FOLDER]      writes every file of golden numbers into FOLDER, by default data/ beside this script"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import argparse
import pathlib

import torch

import make_attention
import make_beyond
import make_decoders
import make_memory
import make_ops
import make_optim
import make_recurrent
import make_transformer
import recorder


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=pathlib.Path, metavar="FOLDER", default=recorder.FOLDER,
                         help="default: data/ beside this script")
    folder = options.parse_args().folder
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    subjects = (make_ops, make_recurrent, make_attention, make_decoders, make_transformer, make_optim)
    for module in (*subjects, make_memory, make_beyond):
        for subject in module.SUBJECTS:
            golden = subject()
            size = golden.write(folder)
            total += size
            print(f"{golden.subject}.safetensors  {len(golden.tensors)} tensors  {size} bytes")
    print(f"{total} bytes in all, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
