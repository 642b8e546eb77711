# The cases of attention with masks and scores of one's own: programmed_… .
"""A name's end says beside what: "_builtin" is our own attention without the mask or the score; "_sdpa" PyTorch's
fused attention with the mask or bias as a tensor; "_flex" its FlexAttention, forward alone; all others PyTorch's
plain operations. What is computed, peers/programmed.py says."""
from . import work
from .case import Case

WIDTH, HEADS, TIME, LONG = 64, 8, 2048, 8192
MASKED, DENSE = (3.0, 3.0), (1.4, 1.4)  # goals where half of the pairs or fewer count, and where all do

ALL = work.attention(1, HEADS, TIME, WIDTH, False)
CAUSAL = work.attention(1, HEADS, TIME, WIDTH, True)
WINDOW = work.pairs(HEADS * work.in_window(TIME, 256), WIDTH)
LONG_WINDOW = work.pairs(HEADS * work.in_window(LONG, 256), WIDTH)
DOCUMENTS = work.attention(TIME // 256, HEADS, 256, WIDTH, True)
SOFT_CAP = work.pairs(HEADS * TIME**2, WIDTH, 4)
ADDITIVE = work.additive_pairs(HEADS, 512, WIDTH)


def case(name, goals, parts=(), ours=None, beside=None):
    """`ours`: the benchmark's name without "programmed_", where it is not the case's; `beside`: of ours, too."""
    other = Case(beside, None, "attention") if beside else None
    return Case(f"programmed_{name}", goals, "programmed", parts, f"programmed_{ours or name}", beside=other)


def builtin(name, goals, parts, beside):
    return case(f"{name}_builtin", goals, parts, name, beside)


CASES = [
    builtin("identity", (0.95, 0.95), ALL, "attention_T2048_full"),
    builtin("alibi_causal", (0.8, 0.8), CAUSAL, "attention_T2048_causal"),
    builtin("alibi_learned", None, CAUSAL, "attention_T2048_causal"),
    builtin("soft_cap", (0.8, 0.8), SOFT_CAP, "attention_T2048_full"),
    builtin("bias", None, ALL, "attention_T2048_full"),
    builtin("bias_learned", None, ALL, "attention_T2048_full"),
    builtin("window_T8192", (8.0, 8.0), LONG_WINDOW, "attention_T8192_causal"),
    case("causal", MASKED, CAUSAL),
    case("window", MASKED, WINDOW),
    case("documents", MASKED, DOCUMENTS),
    case("alibi", DENSE, ALL),
    case("soft_cap", DENSE, SOFT_CAP),
    case("bias", DENSE, ALL),
    case("bias_learned", DENSE, ALL),
    case("causal_sdpa", None, CAUSAL, "causal"),
    case("window_sdpa", None, WINDOW, "window"),
    case("documents_sdpa", None, DOCUMENTS, "documents"),
    case("alibi_sdpa", None, ALL, "alibi"),
    case("bias_sdpa", None, ALL, "bias"),
    case("alibi_causal_flex", None, ours="alibi_causal_forward"),
    case("soft_cap_flex", None, ours="soft_cap_forward"),
    case("window_flex", None, ours="window_forward"),
    case("soft_cap_by_ops", None, SOFT_CAP),
    case("additive_by_ops", None, ADDITIVE),
    case("additive_pairs", None, ADDITIVE),
]

MEMORY = [("programmed_window", 20.0), ("programmed_alibi", 20.0)]
