# The cases: what is measured, which ratios are to be reached, and how much work each is.
"""A case has a name, goals (the peer's time / ours, at one and at two threads), the program and benchmark that
is ours, the peer's case, and its work (see work.py). The table of goals is this file, and programmed.py."""
from . import programmed, work
from .case import Case

MILLION = 1 << 20


def attention(name, shape, causal, plain, fused):
    """One benchmark of ours beside the peer's plain operations, and beside its own fused one."""
    parts = work.attention(*shape, causal)
    return [
        Case(name, plain, "attention", parts),
        Case(name + "_sdpa", fused, "attention", parts, ours=name),
    ]


CASES = [
    Case("tanh_1M", (6.0, 6.0), "kernels", work.elementwise(MILLION)),
    Case("exp_1M", (1.5, 1.5), "kernels", work.elementwise(MILLION)),
    Case("sigmoid_1M", (1.5, 1.5), "kernels", work.elementwise(MILLION)),
    Case("gelu_tanh_1M", (4.5, 4.5), "kernels", work.elementwise(MILLION)),
    Case("softmax_4096x512", (1.8, 1.8), "kernels", work.rows(4096 * 512, 3, 2, 1)),
    Case("layer_norm_4096x256", (3.0, 3.0), "kernels", work.rows(4096 * 256, 3, 2)),
    Case("cross_entropy_4096x10000", (3.0, 2.5), "kernels", work.rows(4096 * 10000, 1, 1, 1)),
    Case("cross_entropy_4096x64", (2.0, 2.0), "kernels", work.rows(4096 * 64, 1, 1, 1)),
    Case("adam_26M", (3.0, 2.5), "kernels", (work.adam(26_503_168),)),
    Case("adam_0.79M", (5.0, 5.0), "kernels", (work.adam(789_760),)),
    *attention("attention_T2048_causal", (1, 8, 2048, 64), True, (3.0, 3.0), (1.2, 1.2)),
    *attention("attention_T2048_full", (1, 8, 2048, 64), False, (1.4, 1.5), (1.2, 1.2)),
    *attention("attention_T512_causal", (2, 8, 512, 64), True, (3.0, 3.0), (1.2, 1.2)),
    *attention("attention_T512_full", (2, 8, 512, 64), False, (1.4, 1.5), (1.2, 1.2)),
    Case("additive_Tq20", (3.2, 3.3), "recurrent", work.additive(64, 20, 20, 256)),
    Case("additive_Tq1", (1.4, 1.5), "recurrent", work.additive(64, 1, 20, 256)),
    Case("gru_B64_T20_256", (1.3, 1.4), "recurrent", work.gru(64, 20, 256, 256)),
    Case("seq2seq_tiny_step", (3.5, 4.5), "recurrent", work.seq2seq(64, 12, 40, 32, 64)),
    Case("seq2seq_10k_step", (1.35, 1.5), "recurrent", work.seq2seq(32, 30, 10000, 300, 500)),
    Case("decoder_step", (1.8, 2.2), "transformers", work.transformer(32, 64, 65, 64, 256, 2)),
    Case("babygpt_step", (1.5, 1.75), "transformers", work.transformer(12, 64, 65, 128, 512, 4)),
    Case("decoder_step_jax", (1.8, 2.2), "transformers", work.transformer(32, 64, 65, 64, 256, 2),
         "decoder_step", jax=True),
    Case("babygpt_step_jax", (1.5, 1.75), "transformers", work.transformer(12, 64, 65, 128, 512, 4),
         "babygpt_step", jax=True),
    Case("transformer_10k_step", (1.2, 1.3), "transformers", work.transformer(8, 64, 10000, 512, 2048, 2, 2)),
    Case("translator_rnn_step", (1.5, 1.6), "translators"),
    Case("translator_transformer_step", (1.3, 1.4), "translators"),
    Case("generate_B1", (2.0, 2.0), "generation", work.generation(1, 240, 65, 128, 4)),
    Case("generate_B16", (2.0, 2.0), "generation", work.generation(16, 240, 65, 128, 4)),
    Case("beam_search_5x16", (2.0, 2.0), "generation", work.beam_search(80, 12, 16, 6482, 192, 384, 3)),
    *programmed.CASES,
    Case("tiny_op", None, "kernels", per=100, longest_ns=150),
]

# Our product beside other libraries' in one process, over many shapes: (case, libraries, goals).
MATMUL = [
    ("matmul_openblas", ("openblas",), (1.10, 1.35)),
    ("matmul_best", ("openblas", "blis", "onednn", "torch"), (0.97, 1.0)),
    ("matmul_worst", ("openblas", "blis", "onednn", "torch"), (0.90, 0.90)),
]

# Peak memory above the inputs (and weights), at one thread: (case, the peer's MiB / ours).
MEMORY = [
    ("attention_T4096_full", 40.0),
    ("attention_T4096_causal", 40.0),
    *programmed.MEMORY,
    ("babygpt_step", 1.0),
    ("transformer_10k_step", 1.0),
    ("seq2seq_10k_step", 1.0),
]

# Training steps that are to allocate nothing once their shapes have been seen.
ALLOCATIONS = ["seq2seq_tiny_step", "decoder_step", "babygpt_step", "transformer_10k_step", "seq2seq_10k_step"]


def names():
    timed = [case.name for case in CASES] + [name for name, *_ in MATMUL]
    kept = [f"memory_{name}" for name, _ in MEMORY] + [f"allocations_{name}" for name in ALLOCATIONS]
    return timed + kept
