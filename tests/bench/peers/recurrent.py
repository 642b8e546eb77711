# Peers of recurrent.cpp: additive attention, a GRU, the training steps of two recurrent translators.
"""additive_Tq20, additive_Tq1: f+b, batch 64, 20 keys, all widths 256, both projections included, gradients of
query, key, value and weights. gru_B64_T20_256: f+b, 256 → 256, gradients of input and weights, zero state.
seq2seq_tiny_step, seq2seq_10k_step: one training step of a GRU encoder (one direction), a decoder of a GRU cell
that takes [word; context] and additive attention with keys projected once, a linear layer of [state; context] to
the words, cross-entropy, backward, Adam: embedding 32, hidden 64, 40 words, batch 64, 12 words in and out; and
300, 500, 10,000, 32, 30."""
import torch
from common import each, forward_backward, leaf, training

nn = torch.nn


def additive_parts(width):
    return [nn.Linear(width, outputs, bias=False) for outputs in (width, width, 1)]


def attend_linear(query, projected, value, weight):
    """(batch, queries, width) from projected query and keys; v (1, width) as a linear layer."""
    hidden = (query[:, :, None] + projected[:, None]).tanh()
    return nn.functional.linear(hidden, weight)[..., 0].softmax(-1) @ value


def attend_vector(query, projected, value, weight):
    """The same with v as a vector."""
    return ((query[:, :, None] + projected[:, None]).tanh() @ weight[0]).softmax(-1) @ value


def additive(queries):
    def make():
        width = 256
        query, key, value = leaf(64, queries, width), leaf(64, 20, width), leaf(64, 20, width)
        to_query, to_key, score = additive_parts(width)
        leaves = [query, key, value, to_query.weight, to_key.weight, score.weight]
        for variant, attend in each({"linear": attend_linear, "vector": attend_vector}):

            def run(attend=attend):
                return attend(to_query(query), to_key(key), value, score.weight)

            yield variant, forward_backward(run, leaves, (64, queries, width))

    return make


def gru():
    for variant, batch_first in (("time first", False), ("batch first", True)):
        layer = nn.GRU(256, 256, batch_first=batch_first)
        shape = (64, 20, 256) if batch_first else (20, 64, 256)
        x = leaf(*shape)
        run = lambda layer=layer, x=x: layer(x)[0]
        yield variant, forward_backward(run, [x, *layer.parameters()], shape)


class Translator(nn.Module):
    """`vector`: the score's v as a vector instead of a linear layer."""

    def __init__(self, words, width, hidden, vector=False):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.GRU(width, hidden, batch_first=True)
        self.cell = nn.GRUCell(width + hidden, hidden)
        self.to_query, self.to_key, self.score = additive_parts(hidden)
        self.output = nn.Linear(2 * hidden, words)
        self.attend = attend_vector if vector else attend_linear

    def forward(self, source, previous):
        memory, state = self.encoder(self.source(source))
        state, projected, outputs = state[0], self.to_key(memory), []
        for word in self.target(previous).unbind(1):
            query = self.to_query(state)[:, None]
            context = self.attend(query, projected, memory, self.score.weight)[:, 0]
            state = self.cell(torch.cat((word, context), 1), state)
            outputs.append(torch.cat((state, context), 1))
        return self.output(torch.stack(outputs, 1))


def seq2seq(words, width, hidden, batch, time):
    def make():
        yield from training(
            lambda **arguments: Translator(words, width, hidden, **arguments),
            words,
            [(batch, time), (batch, time)],
            {"linear": {}, "vector": {"vector": True}},
        )

    return make


CASES = {
    "additive_Tq20": additive(20),
    "additive_Tq1": additive(1),
    "gru_B64_T20_256": gru,
    "seq2seq_tiny_step": seq2seq(40, 32, 64, 64, 12),
    "seq2seq_10k_step": seq2seq(10000, 300, 500, 32, 30),
}
