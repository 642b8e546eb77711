# The machine that measures: its processor, so that figures of two machines are never taken for one machine's.
import os
import pathlib
import re

CPUINFO = "TAPESTRY_BENCH_CPUINFO"  # tests name a file of theirs in this environment variable
LEVELS = (("avx512bw", "AVX-512"), ("avx2", "AVX2"), ("asimd", "NEON"))


def information():
    try:
        text = pathlib.Path(os.environ.get(CPUINFO, "/proc/cpuinfo")).read_text(encoding="utf8")
    except OSError:
        return ""
    return text


def field(text, name):
    return (re.findall(rf"^{name}\s*: (.*)$", text, re.M) or [""])[0].strip()


def describe():
    """Model, family and model number (two generations may have one name), registers and cores, in one line."""
    text = information()
    name = field(text, "model name") or "unknown processor"
    family, model = field(text, "cpu family"), field(text, "model")
    number = f" (family {family}, model {model})" if family else ""
    flags = f"{field(text, 'flags')} {field(text, 'Features')}".split()
    registers = next((f", {shown}" for flag, shown in LEVELS if flag in flags), "")
    cores = os.cpu_count() or 1
    return f"{name}{number}{registers}, {cores} core{'s' if cores > 1 else ''}"


def made_by_amd():
    return field(information(), "vendor_id") in ("AuthenticAMD", "HygonGenuine")
