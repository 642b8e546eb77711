# Peers of generation.cpp: greedy writing with a cache of keys and values, and beam search in batches.
"""generate_B1, generate_B16: babyGPT's sizes (4 layers, width 128, 4 heads, 65 words) with 256 places write 240
words after a prompt of 16, in 1 and 16 rows. beam_search_5x16: a translator of 3 + 3 layers, width 192, 4 heads,
384 units, 6,482 words, reads 16 sentences of 12 words and writes 16 words with a beam of 5; no hypothesis ends.
Both keep keys and values of what was written, projected once; the cross-attention's too, read once a sentence."""
import torch
from attention import plain
from blocks import Decoder, EncoderDecoder

fused = torch.nn.functional.scaled_dot_product_attention
PROMPT, WRITTEN, PLACES = 16, 240, 256
SENTENCES, SOURCE, BEAM, LENGTH = 16, 12, 5, 16


class Cache:
    """One layer's keys and values, (rows, heads, places, width), room for all of them made at once."""

    def __init__(self, rows, heads, places, width):
        self.keys, self.values = (torch.empty(rows, heads, places, width) for _ in range(2))
        self.length = 0

    def append(self, keys, values):
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = keys, values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def reorder_rows(self, rows):
        filled = slice(0, self.length)
        self.keys[:, :, filled] = self.keys[rows, :, filled]
        self.values[:, :, filled] = self.values[rows, :, filled]


def cached_block(block, x, cache, attend, memory=None):
    """A block on new words behind those in the cache. memory: keys and values of another sequence."""
    own = block.own
    query, key, value = (own.split(part) for part in own.joined(block.own_norm(x)).chunk(3, -1))
    new = x.shape[1]
    key, value = cache.append(key, value)
    x = x + own.output(attend(query, key, value, new > 1).transpose(1, 2).flatten(2))
    if memory is not None:
        cross = block.cross
        read = attend(cross.split(cross.query(block.cross_norm(x))), *memory, False)
        x = x + cross.output(read.transpose(1, 2).flatten(2))
    return x + block.outer(block.activation(block.inner(block.units_norm(x))))


def write(stack, ids, caches, attend, memories=None):
    """Last states of the words ids (rows, new)."""
    begin = caches[0].length
    x = stack.words(ids) + stack.places[begin : begin + ids.shape[1]]
    for i, (block, cache) in enumerate(zip(stack.blocks, caches)):
        x = cached_block(block, x, cache, attend, memories[i] if memories else None)
    return stack.norm(x[:, -1])


def fused_attend(query, key, value, causal):
    return fused(query, key, value, is_causal=causal)


def plain_attend(query, key, value, causal):
    hidden = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool).triu(1) if causal else None
    return plain(query, key, value, hidden)


ATTENDS = {"sdpa": fused_attend, "plain": plain_attend}


def generate(rows):
    def make():
        heads, width = 4, 128
        model = Decoder(65, PLACES, width, heads, 4 * width, 4, fused_attention=True).eval()
        prompt = torch.randint(65, (rows, PROMPT))
        for variant, attend in ATTENDS.items():

            @torch.inference_mode()
            def run(attend=attend):
                caches = [Cache(rows, heads, PLACES, width // heads) for _ in model.stack.blocks]
                state, written = write(model.stack, prompt, caches, attend), []
                for place in range(WRITTEN):
                    word = model.output(state).argmax(-1, keepdim=True)
                    written.append(word)
                    if place + 1 < WRITTEN:
                        state = write(model.stack, word, caches, attend)
                return torch.cat(written, 1)

            yield variant, run

    return make


def beam_search():
    words, width, heads = 6482, 192, 4
    model = EncoderDecoder(words, 64, width, heads, 384, 3, fused_attention=True).eval()
    source = torch.randint(words, (SENTENCES, SOURCE))
    rows = SENTENCES * BEAM
    first_rows = torch.arange(SENTENCES)[:, None] * BEAM

    for variant, attend in ATTENDS.items():

        @torch.inference_mode()
        def run(attend=attend):
            read = model.encoder(source)
            memories = []
            for block in model.decoder.blocks:
                both = (block.cross.split(part(read)) for part in (block.cross.key, block.cross.value))
                memories.append([part.repeat_interleave(BEAM, 0) for part in both])
            caches = [Cache(rows, heads, LENGTH, width // heads) for _ in model.decoder.blocks]
            scores = torch.full((SENTENCES, BEAM), -torch.inf)
            scores[:, 0] = 0  # at first the beam's rows are equal
            last, history = torch.zeros(rows, 1, dtype=torch.long), []
            for _ in range(LENGTH):
                logits = model.output(write(model.decoder, last, caches, attend, memories))
                total = scores[..., None] + logits.log_softmax(-1).view(SENTENCES, BEAM, words)
                scores, best = total.flatten(1).topk(BEAM, -1)
                before = (first_rows + best // words).flatten()
                last = (best % words).view(rows, 1)
                history = [kept[before] for kept in history] + [last]
                for cache in caches:
                    cache.reorder_rows(before)
            return torch.cat(history, 1)

        yield variant, run


CASES = {"generate_B1": generate(1), "generate_B16": generate(16), "beam_search_5x16": beam_search}
