# How much a case has to compute and to move at the least: multiply-adds, exponentials, bytes.
"""A case is one or more stretches of work, one after the other. Each stretch can be no faster than its
floating-point operations at the measured peak, nor than its bytes at the measured bandwidth of the cache (or
memory) that holds them. The sum of the stretches is the limit that "% of limit" speaks of.

Counted is what no way of computing the same can leave out, and no more: of a training step its matrix products
and exponentials, and one pass of Adam over weights, gradients and both averages. So 100 % is out of reach.

No library multiplies matrices of every shape at the peak, and what is written to another array than was read takes
longer; a square root and a division keep a unit of their own busy for many cycles. "of floor" therefore puts the time
that the fastest library, or ours, took for each of these products in the place of their share of the peak, takes the
bandwidth of a copy where results are written apart, and counts exact roots with a division each."""
from dataclasses import dataclass

EXPONENTIAL = 20  # FLOPs of one exp or tanh in vector code: some ten multiply-adds
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Product:
    """A matrix product m × n × k, of so many pairs of matrices at once, and that so many times one after the
    other."""

    m: int
    n: int
    k: int
    a_transposed: bool = False
    b_transposed: bool = False
    batch: int = 1
    times: int = 1

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k * self.batch * self.times

    @property
    def name(self):
        """As bench_matmul names and reads it, without the times."""
        transposed = " aT" * self.a_transposed + " bT" * self.b_transposed
        return f"{self.m}x{self.n}x{self.k}{transposed}" + (f" batch {self.batch}" if self.batch > 1 else "")


@dataclass(frozen=True)
class Work:
    """One stretch: matrix products and other FLOPs, bytes moved, the bytes that are alive at once (what decides which
    cache), those of the bytes that are written to other arrays than are read, and square roots with a division each."""

    flops: float = 0
    bytes: float = 0
    alive: float = 0
    products: tuple = ()
    apart: float = 0
    roots: float = 0

    @property
    def all_flops(self):
        return self.flops + sum(product.flops for product in self.products)


def elementwise(count, exponentials=1):
    """A function of each element: read, computed, written."""
    moved = 2 * FLOAT * count
    return (Work(EXPONENTIAL * exponentials * count, moved, moved, apart=moved / 2),)


def rows(count, read, written, exponentials=0):
    """Rows of which so many arrays are read, and others written, in forward and backward together; four at most are
    alive: x, y and their gradients."""
    array = FLOAT * count
    flops, alive = EXPONENTIAL * exponentials * count, min(read + written, 4) * array
    return (Work(flops, (read + written) * array, alive, apart=written * array),)


def product(m, n, k, batch=1):
    """Both operands need gradients: dA = dC Bᵀ, dB = Aᵀ dC."""
    return (
        Product(m, n, k, batch=batch),
        Product(m, k, n, b_transposed=True, batch=batch),
        Product(k, n, m, a_transposed=True, batch=batch),
    )


def linear(rows_, outputs, inputs, times=1):
    """x Wᵀ, forward and backward. So many times one after the other, as a state has it; all of them share one product
    for the gradient of W."""
    return (
        Product(rows_, outputs, inputs, b_transposed=True, times=times),
        Product(rows_, inputs, outputs, times=times),
        Product(outputs, inputs, rows_ * times, a_transposed=True),
    )


def flops_of(*sizes):
    """FLOPs of products m × n × k that are not timed one by one."""
    return sum(2 * m * n * k for m, n, k in sizes)


def adam(weights):
    """Reads weight, gradient and both averages, writes all but the gradient."""
    return Work(0, 7 * FLOAT * weights, 4 * FLOAT * weights, roots=weights)


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
    """Queries and keys are projected; the scores' gradients are sums."""
    products = linear(batch * queries, width, width) + linear(batch * keys, width, width)
    products += product(queries, width, keys, batch)
    return (Work(additive_scores(batch, queries, keys, width), products=products),)


def additive_pairs(heads, time, units):
    """Of queries and keys as they are."""
    forward = flops_of((heads * time, units, time))
    return (Work(3 * forward + additive_scores(heads, time, time, units)),)


def recurrent(batch, time, width_in, hidden):
    """A GRU's products: the inputs' all at once, the state's step by step, but for the first state, which is zero."""
    return linear(batch * time, 3 * hidden, width_in) + linear(batch, 3 * hidden, hidden, time - 1)


def gru(batch, time, width_in, hidden):
    return (Work(3 * batch * time * hidden * EXPONENTIAL, products=recurrent(batch, time, width_in, hidden)),)


def seq2seq(batch, time, words, embedding, hidden):
    """The training step of a translator: a GRU each side, additive attention with keys projected once."""
    places = batch * time
    products = (
        *recurrent(batch, time, embedding, hidden),
        *linear(places, 3 * hidden, embedding),  # the decoder's gates: the words' part,
        *linear(batch, 3 * hidden, hidden, time),  # the state's
        *linear(batch, 3 * hidden, hidden, time),  # and the context's
        *linear(places, hidden, hidden),  # keys
        *linear(batch, hidden, hidden, time),  # queries
        *linear(places, words, 2 * hidden),
    )
    weights = 2 * words * embedding + 3 * hidden * (2 * embedding + 3 * hidden + 4) + 2 * hidden * hidden
    weights += hidden + words * (2 * hidden + 1)
    others = 3 * flops_of((places, time, hidden)) + additive_scores(batch, time, time, hidden)
    return (Work(others + EXPONENTIAL * places * words, products=products), adam(weights))


def block_weights(width, hidden, attentions=1):
    return attentions * 4 * width * (width + 1) + 2 * width * hidden + width + hidden + 2 * width * (attentions + 1)


def transformer(batch, time, words, width, hidden, decoder, encoder=0):
    """The training step of a decoder alone, or of encoder and decoder."""
    places = batch * time
    blocks = encoder + decoder
    attentions = encoder + decoder * (2 if encoder else 1)
    crossing = attentions - blocks
    products = blocks * linear(places, 3 * width, width) + attentions * linear(places, width, width)
    products += crossing * (linear(places, width, width) + linear(places, 2 * width, width))
    products += blocks * (linear(places, hidden, width) + linear(places, width, hidden))
    products += linear(places, words, width)
    weights = decoder * block_weights(width, hidden, 2 if encoder else 1) + encoder * block_weights(width, hidden)
    sides = 2 if encoder else 1
    weights += sides * (words * width + time * width + 2 * width) + words * (width + 1)
    others = 3 * attentions * flops_of((places, 2 * time, width)) + EXPONENTIAL * places * words
    return (Work(others, products=products), adam(weights))


def generation(batch, words, vocabulary, width, layers):
    """Each word reads all weights, and the keys and values of those before it."""
    weights = layers * block_weights(width, 4 * width) + vocabulary * width
    kept = layers * 2 * width * batch * words // 2
    flops = words * flops_of((batch, weights, 1), (batch, 2 * layers * width, words // 2))
    return (Work(flops, words * FLOAT * (weights + kept), FLOAT * (weights + kept)),)


def beam_search(rows_, source, words, vocabulary, width, hidden, layers):
    """A decoder with cross-attention writes so many words in so many rows."""
    weights = layers * block_weights(width, hidden, 2) + vocabulary * width
    flops = words * flops_of((rows_, weights, 1), (rows_, 2 * layers * width, words // 2 + source))
    return (Work(flops + words * rows_ * vocabulary * EXPONENTIAL, words * FLOAT * weights, FLOAT * weights),)
