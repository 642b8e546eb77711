# Peers of programmed.cpp: FlexAttention, compiled, forward alone, since on a CPU it has no backward pass.
"""programmed_alibi_causal_flex, _soft_cap_flex, _window_flex: (1, 8, 2048, 64). Only with --compile: uncompiled it is
plain operations."""
import torch
from common import settings
from programmed import CAP, HEADS, SLOPES, TIME, WIDTH


def causal(b, h, i, j):
    return i >= j


def window(b, h, i, j):
    return (i >= j) & (i - j < 256)


def alibi(score, b, h, i, j):
    return score - SLOPES[h] * (i - j).abs()


def soft_cap(score, b, h, i, j):
    return CAP * torch.tanh(score / CAP)


def prepare(score, mask, block):
    """Whatever does not run on this machine or with this PyTorch fails here, or at the first call."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    inputs = [torch.randn(1, HEADS, TIME, WIDTH) for _ in range(3)]
    pairs = create_block_mask(mask, None, None, TIME, TIME, device="cpu", BLOCK_SIZE=block) if mask else None
    compiled = torch.compile(flex_attention)
    return lambda: compiled(*inputs, score_mod=score, block_mask=pairs)


def forward(score, mask, block):
    ready = []

    def run():
        with torch.no_grad():
            if not ready:
                ready.append(prepare(score, mask, block))
            return ready[0]()

    return run


def case(score, mask):
    def make():
        if settings.compile:
            for block in (128, 64) if mask else (128,):
                yield f"compiled, blocks of {block}", forward(score, mask, block)

    return make


CASES = {
    "programmed_alibi_causal_flex": case(alibi, causal),
    "programmed_soft_cap_flex": case(soft_cap, None),
    "programmed_window_flex": case(None, window),
}
