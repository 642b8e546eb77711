# Peers of translators.cpp: training steps of the translators of lessons 15 and 22, on sentences of all lengths.
"""Batches of padded sentences with the lengths that `lengths` gives, the same as in translators.cpp; 5,921 words
are read and 6,482 written; dropout, cross-entropy with label smoothing 0.1 that ignores padding, backward, Adam.
translator_rnn_step: a bidirectional GRU 256 → 2 × 256, a GRU cell on [word; context], additive attention (256),
a tanh layer of 256 before the words, 64 sentences. translator_transformer_step: 3 + 3 pre-norm layers, width 192,
4 heads, 384 units of ReLU, sinusoids, the output tied to the words, 72 sentences of about 1,000 words."""
import math

import torch
from common import adam, settings

nn = torch.nn
SOURCE_WORDS, TARGET_WORDS, PADDING = 5921, 6482, 0


def lengths(rows, extra):
    """5 … 24 words, most of them about 12: the same in every run, longest first."""
    found = [5 + (i * 7) % 10 + (i * 3) % 7 + (4 if i % 9 == 0 else 0) + extra for i in range(rows)]
    return sorted(found, reverse=True)


def padded(counts, words):
    ids = torch.randint(4, words, (len(counts), max(counts)))
    for row, count in enumerate(counts):
        ids[row, count:] = PADDING
    return ids


class RecurrentTranslator(nn.Module):
    def __init__(self, width=256, hidden=256):
        super().__init__()
        self.source = nn.Embedding(SOURCE_WORDS, width, PADDING)
        self.target = nn.Embedding(TARGET_WORDS, width, PADDING)
        self.encoder = nn.GRU(width, hidden, bidirectional=True, batch_first=True)
        self.first, self.cell = nn.Linear(hidden, hidden), nn.GRUCell(width + 2 * hidden, hidden)
        self.to_query = nn.Linear(hidden, hidden, bias=False)
        self.to_key = nn.Linear(2 * hidden, hidden, bias=False)
        self.score = nn.Parameter(torch.randn(hidden) / math.sqrt(hidden))
        self.readout, self.output = nn.Linear(3 * hidden + width, width), nn.Linear(width, TARGET_WORDS)
        self.dropout = nn.Dropout(0.3)

    def forward(self, source, counts, previous):
        embedded = self.dropout(self.source(source))
        packed = nn.utils.rnn.pack_padded_sequence(embedded, counts, batch_first=True)
        memory, last = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True)
        projected, hidden = self.to_key(memory), source == PADDING
        state, outputs = self.first(last[1]).tanh(), []
        words = self.dropout(self.target(previous))
        for word in words.unbind(1):
            scores = (self.to_query(state)[:, None] + projected).tanh() @ self.score
            weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
            context = torch.bmm(weights[:, None], memory)[:, 0]
            state = self.cell(torch.cat((word, context), 1), state)
            outputs.append(torch.cat((state, context, word), 1))
        return self.output(self.dropout(self.readout(torch.stack(outputs, 1)).tanh()))


class TransformerTranslator(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.source = nn.Embedding(SOURCE_WORDS, width, PADDING)
        self.target = nn.Embedding(TARGET_WORDS, width, PADDING)
        self.body = nn.Transformer(width, 4, 3, 3, 2 * width, 0.2, batch_first=True, norm_first=True)
        self.dropout = nn.Dropout(0.3)
        places, powers = torch.arange(64)[:, None], torch.arange(0, width, 2) / width
        angles = places / 10000**powers
        self.register_buffer("places", torch.stack((angles.sin(), angles.cos()), -1).flatten(1))
        self.scale = math.sqrt(width)

    def embed(self, table, ids):
        return self.dropout(table(ids) * self.scale + self.places[: ids.shape[1]])

    def forward(self, source, counts, previous):
        time, hidden = previous.shape[1], source == PADDING
        later = torch.ones(time, time, dtype=torch.bool).triu(1)
        states = self.body(
            self.embed(self.source, source),
            self.embed(self.target, previous),
            tgt_mask=later,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return states @ self.target.weight.T


def step(make_model, rows):
    def make():
        counts = lengths(rows, 0)
        source, previous = padded(counts, SOURCE_WORDS), padded(lengths(rows, 1), TARGET_WORDS)
        targets = padded(lengths(rows, 1), TARGET_WORDS).flatten()
        for fused in (False, True):
            model = make_model()
            optimiser = adam(model.parameters(), fused)
            if not optimiser:
                continue
            for compiled in (False, True) if fused and settings.compile else (False,):
                call = torch.compile(model) if compiled else model

                def run(call=call, optimiser=optimiser):
                    optimiser.zero_grad(set_to_none=True)
                    logits = call(source, counts, previous).flatten(0, 1)
                    loss = nn.functional.cross_entropy(
                        logits, targets, ignore_index=PADDING, label_smoothing=0.1
                    )
                    loss.backward()
                    optimiser.step()

                yield ("compiled " if compiled else "") + ("Adam fused" if fused else "Adam default"), run

    return make


CASES = {
    "translator_rnn_step": step(RecurrentTranslator, 64),
    "translator_transformer_step": step(TransformerTranslator, 72),
}
