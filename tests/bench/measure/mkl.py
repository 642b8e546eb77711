# Intel's MKL, which PyTorch uses, takes a slower path on AMD's processors. This library lets it take the fast one.
import os
import pathlib
import shutil

from . import machine
from .processes import Failure, complain, output_of

# MKL asks this function, and the linker takes the first definition that is loaded.
SOURCE = """int mkl_serv_intel_cpu_true(void);
int mkl_serv_intel_cpu_true(void) { return 1; }
"""


def library(build):
    """The path of a library to preload; None on other processors, and where no compiler can make it."""
    if not machine.made_by_amd():
        return None
    path = pathlib.Path(build).resolve() / "bench_mkl" / "libintel.so"
    source = path.with_name("intel.c")
    if path.exists() and source.exists() and source.read_text(encoding="utf8") == SOURCE:
        return str(path)
    compiler = next(filter(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang")), None)
    try:
        if not compiler:
            raise Failure("there is no C compiler")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        source.write_text(SOURCE, encoding="utf8")
        output_of([compiler, "-shared", "-fPIC", "-O2", source, "-o", path])
    except (Failure, OSError) as failure:
        complain(f"PyTorch runs only with MKL's path for AMD processors: {failure}")
        return None
    return str(path)
