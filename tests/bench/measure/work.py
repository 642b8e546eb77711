# How much a case has to compute and to move at the least: multiply-adds, exponentials, bytes.
"""A case is one or more stretches of work, one after the other. Each stretch can be no faster than its
floating-point operations at the measured peak, nor than its bytes at the measured bandwidth of the cache (or
memory) that holds them. The sum of the stretches is the floor that "% of limit" speaks of.

Counted is what no way of computing the same can leave out, and no more: of a training step its matrix products
and exponentials, and one pass of Adam over weights, gradients and both averages. So 100 % is out of reach."""
from dataclasses import dataclass

EXPONENTIAL = 20  # FLOPs of one exp or tanh in vector code: some ten multiply-adds
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Work:
    """One stretch: FLOPs, bytes moved, and the bytes that are alive at once (what decides which cache)."""

    flops: float = 0
    bytes: float = 0
    alive: float = 0


def elementwise(count, exponentials=1):
    """A function of each element: read, computed, written."""
    moved = 2 * FLOAT * count
    return (Work(EXPONENTIAL * exponentials * count, moved, moved),)


def rows(count, arrays, exponentials=0):
    """Rows that are read or written so many times, one array a time, in forward and backward together; four arrays
    at most are alive: x, y and their gradients."""
    return (Work(EXPONENTIAL * exponentials * count, arrays * FLOAT * count, min(arrays, 4) * FLOAT * count),)


def products(*sizes):
    """FLOPs of matrix products m × n × k, forward."""
    return sum(2 * m * n * k for m, n, k in sizes)


def adam(weights):
    """Reads weight, gradient and both averages, writes all but the gradient."""
    return Work(0, 7 * FLOAT * weights, 4 * FLOAT * weights)


def attention(batch, heads, time, width, causal):
    """Forward and backward in tiles: seven products, of which one is computed twice, and two exponentials."""
    return pairs(batch * heads * (time * (time + 1) // 2 if causal else time * time), width)


def pairs(count, width, exponentials=2):
    """The same of so many pairs; `exponentials`: those of the score's own are added."""
    return (Work(count * (7 * 2 * width + exponentials * EXPONENTIAL)),)


def in_window(time, before):
    """Pairs of a query and one of the last `before` keys, itself among them."""
    return before * time - before * (before - 1) // 2


def additive_scores(batch, queries, keys, units):
    """Σ v tanh(q + k) and its three gradients, tanh computed again in backward."""
    return batch * queries * keys * units * (2 * EXPONENTIAL + 10)


def additive(batch, queries, keys, width):
    places = batch * (queries + keys)
    forward = products((places, width, width), (batch * queries, width, keys))
    return (Work(3 * forward + additive_scores(batch, queries, keys, width)),)


def additive_pairs(heads, time, units):
    """Of queries and keys as they are."""
    forward = products((heads * time, units, time))
    return (Work(3 * forward + additive_scores(heads, time, time, units)),)


def gru(batch, time, width_in, hidden):
    forward = products((batch * time, 3 * hidden, width_in + hidden))
    return (Work(3 * forward + 3 * batch * time * hidden * EXPONENTIAL),)


def seq2seq(batch, time, words, embedding, hidden):
    """The training step of a translator: a GRU each side, additive attention with keys projected once."""
    places = batch * time
    forward = products(
        (places, 3 * hidden, embedding + hidden),
        (places, 3 * hidden, embedding + 2 * hidden),
        (places, hidden, 2 * hidden),
        (places, time, hidden),
        (places, words, 2 * hidden),
    )
    weights = 2 * words * embedding + 3 * hidden * (2 * embedding + 3 * hidden + 4) + 2 * hidden * hidden
    weights += hidden + words * (2 * hidden + 1)
    scores = additive_scores(batch, time, time, hidden)
    return (Work(3 * forward + scores + 2 * EXPONENTIAL * places * words), adam(weights))


def block_weights(width, hidden, attentions=1):
    return attentions * 4 * width * (width + 1) + 2 * width * hidden + width + hidden + 2 * width * (attentions + 1)


def transformer(batch, time, words, width, hidden, decoder, encoder=0):
    """The training step of a decoder alone, or of encoder and decoder."""
    places = batch * time
    blocks = encoder + decoder
    attentions = encoder + decoder * (2 if encoder else 1)
    forward = attentions * products((places, 4 * width, width), (places, 2 * time, width))
    forward += blocks * products((places, 2 * hidden, width)) + products((places, words, width))
    weights = decoder * block_weights(width, hidden, 2 if encoder else 1) + encoder * block_weights(width, hidden)
    sides = 2 if encoder else 1
    weights += sides * (words * width + time * width + 2 * width) + words * (width + 1)
    return (Work(3 * forward + 2 * EXPONENTIAL * places * words), adam(weights))


def generation(batch, words, vocabulary, width, layers):
    """Each word reads all weights, and the keys and values of those before it."""
    weights = layers * block_weights(width, 4 * width) + vocabulary * width
    kept = layers * 2 * width * batch * words // 2
    flops = words * products((batch, weights, 1), (batch, 2 * layers * width, words // 2))
    return (Work(flops, words * FLOAT * (weights + kept), FLOAT * (weights + kept)),)


def beam_search(rows_, source, words, vocabulary, width, hidden, layers):
    """A decoder with cross-attention writes so many words in so many rows."""
    weights = layers * block_weights(width, hidden, 2) + vocabulary * width
    flops = words * products((rows_, weights, 1), (rows_, 2 * layers * width, words // 2 + source))
    return (Work(flops + words * rows_ * vocabulary * EXPONENTIAL, words * FLOAT * weights, FLOAT * weights),)
