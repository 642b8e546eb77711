# Golden cases of attention with every score, and of an encoder with Bahdanau's decoder.
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from make_ops import masked_softmax
from recorder import Golden


def additive_score(x):
    projected = (x["query"] @ x["query.weight"].T)[:, :, None] + (x["key"] @ x["key.weight"].T)[:, None]
    return torch.tanh(projected) @ x["score.weight"]


def normed_additive_score(x):
    v = x["score.gain"] * F.normalize(x["score.weight"], dim=0)
    query, key = F.linear(x["query"], x["query.weight"]), F.linear(x["key"], x["key.weight"], x["key.bias"])
    return torch.tanh(query[:, :, None] + key[:, None]) @ v


def concat_score(x):
    query, key = x["query"][:, :, None], x["key"][:, None]
    pairs = torch.cat([query.expand(-1, -1, key.shape[2], -1), key.expand(-1, query.shape[1], -1, -1)], -1)
    return torch.tanh(F.linear(pairs, x["weight"])) @ x["score.weight"]


def nadaraya_watson_score(x):
    return -torch.cdist(x["query"], x["key"]).square() / (2 * x["log_sigma"].exp().square())


def general_score(x):
    return torch.einsum("bid,de,bje->bij", x["query"], x["weight"], x["key"])


def place_score(x):
    return F.linear(x["query"], x["weight"])[..., : x["key"].shape[1]]


def cosine_score(x):
    return x["gain"] * F.cosine_similarity(x["query"][:, :, None], x["key"][:, None], dim=-1)


def dot_score(x):
    return x["query"] @ x["key"].transpose(-1, -2)


def scaled_dot_score(x):
    return dot_score(x) / x["query"].shape[-1] ** 0.5


SCORES = {
    "additive": (additive_score, "s = score.weight . tanh(query.weight q + key.weight k)"),
    "dot": (dot_score, "s = q . k"),
    "scaled_dot": (scaled_dot_score, "s = q . k / sqrt(d)"),
    "nadaraya_watson": (nadaraya_watson_score, "s = -|q - k|^2 / (2 sigma^2), sigma = exp(log_sigma)"),
    "normed_additive": (
        normed_additive_score,
        "s = score.gain score.weight/|score.weight| . tanh(query.weight q + key.weight k + key.bias)",
    ),
    "general": (general_score, "s = q . weight k"),
    "concat": (concat_score, "s = score.weight . tanh(weight [q; k])"),
    "location": (place_score, "s_j = (weight q)_j; the weight has two places more than there are keys"),
    "fully_connected": (place_score, "s_j = (weight query)_j, query = [embedding of the word before; q]"),
    "cosine": (cosine_score, "s = gain q . k / (|q| |k|)"),
}
EQUAL_WIDTHS = ("dot", "scaled_dot", "nadaraya_watson", "cosine")
BY_PLACE = ("location", "fully_connected")


def parameters(kind, draw, dq, dk, keys, hidden):
    """The score's parameters by name, drawn."""
    found = {}
    if kind in ("additive", "normed_additive"):
        found["query.weight"] = draw.normal(hidden, dq, scale=dq**-0.5)
        found["key.weight"] = draw.normal(hidden, dk, scale=dk**-0.5)
    if kind == "normed_additive":
        found["key.bias"] = draw.normal(hidden)
        found["score.gain"] = draw.normal(1) + 2
    if kind == "nadaraya_watson":
        found["log_sigma"] = draw.normal(1, scale=0.3)
    if kind == "general":
        found["weight"] = draw.normal(dq, dk, scale=dk**-0.5)
    if kind == "concat":
        found["weight"] = draw.normal(hidden, dq + dk, scale=(dq + dk) ** -0.5)
    if kind in BY_PLACE:
        found["weight"] = draw.normal(keys + 2, dq)
    if kind == "cosine":
        found["gain"] = draw.normal(1) + 4
    if kind in ("additive", "normed_additive", "concat"):
        found["score.weight"] = draw.normal(hidden)
    return found


def from_lengths(lengths, queries, keys):
    """(batch, queries, keys) from a length a row or a length a query."""
    lengths = lengths if lengths.dim() == 2 else lengths[:, None].expand(-1, queries)
    return torch.arange(keys) < lengths[:, :, None]


def attention(kind):
    score, formula = SCORES[kind]

    def build():
        golden = Golden(kind, f"{formula}; weights = masked softmax over the keys; output = weights . value")
        golden.note("mask", "1 = may attend; a query with no key left has weights 0, output 0, gradient 0")
        golden.note("weights", "(batch, queries, keys); kept for comparison, they take no part in the loss")
        # batch, queries, keys, query width, key width, value width, hidden (scores that have one)
        small, wide = (3, 4, 5, 3, 6, 4, 7), (2, 3, 11, 10, 9, 17, 19)
        for case, sizes, lengths in (
            ("plain", small, None),
            ("wide", wide, None),
            ("one_query", (3, 1, 5, 3, 6, 4, 7), [5, 2, 4]),
            ("lengths_per_row", small, [3, 5, 1]),
            ("lengths_per_query", small, [[1, 3, 5, 2], [4, 4, 1, 5], [2, 1, 3, 3]]),
            ("empty_row", small, [4, 0, 2]),
            ("empty_query", small, [[1, 0, 5, 2], [4, 4, 1, 5], [2, 1, 3, 0]]),
            ("arbitrary_mask", small, "random"),
        ):
            batch, queries, keys, dq, dk, dv, hidden = sizes
            dq = dk if kind in EQUAL_WIDTHS else dq
            draw = golden.draw(case)
            inputs = {
                "query": draw.normal(batch, queries, dq),
                "key": draw.normal(batch, keys, dk),
                "value": draw.normal(batch, keys, dv),
            }
            inputs.update(parameters(kind, draw, dq, dk, keys, hidden))
            mask, constants = torch.ones(batch, queries, keys, dtype=torch.bool), {}
            if lengths == "random":
                mask = draw.ids(0, 2, batch, queries, keys) > 0
                mask[1, 2] = False
                constants = {"mask": mask}
            elif lengths is not None:
                mask = from_lengths(torch.tensor(lengths), queries, keys)
                constants = {"lengths": lengths, "mask": mask}
            if kind in BY_PLACE:  # the keys take no part: they get no gradient
                constants["key"] = inputs.pop("key")

            def run(x):
                weights = masked_softmax(score({**constants, **x}), mask)
                return {"output": weights @ x["value"]}, {"weights": weights}

            golden.record(case, inputs, run, constants)
            if kind == "scaled_dot":
                kept, ours = mask.any(-1), golden.tensors[f"{case}/output"]
                theirs = F.scaled_dot_product_attention(*(inputs[n] for n in ("query", "key", "value")), mask)
                torch.testing.assert_close(ours[kept], theirs[kept], rtol=1e-12, atol=1e-13)
        return golden

    return build


def sentence_pairs(draw, source_words, target_words):
    """Three sources with their lengths, and three targets between 2 (start) and 3 (end); 0 is padding."""
    lengths, target_lengths = torch.tensor([4, 5, 2]), torch.tensor([6, 3, 5])
    source = draw.ids(4, source_words, 3, 5) * (torch.arange(5) < lengths[:, None])
    target = draw.ids(4, target_words, 3, 6)
    target[:, 0] = 2
    target[torch.arange(3), target_lengths - 1] = 3
    return source, lengths, target * (torch.arange(6) < target_lengths[:, None])


def bahdanau_model(sizes):
    """Encoder and decoder of attention.md: the modules hold shapes only, their weights are drawn per case."""
    source_words, target_words, width, encoder_hidden, hidden, attention_hidden, readout = sizes
    memory = 2 * encoder_hidden
    attention_part = nn.ModuleDict(
        {
            "query": nn.Linear(hidden, attention_hidden, bias=False),
            "key": nn.Linear(memory, attention_hidden, bias=False),
            "score": nn.Linear(attention_hidden, 1, bias=False),
        }
    )
    decoder = {
        "embedding": nn.Embedding(target_words, width),
        "initial": nn.Linear(encoder_hidden, hidden),
        "attention": attention_part,
        "cell": nn.GRUCell(width + memory, hidden),
        "readout": nn.Linear(hidden + memory + width, readout),
        "output": nn.Linear(readout, target_words),
    }
    encoder = {
        "embedding": nn.Embedding(source_words, width),
        "rnn": nn.GRU(width, encoder_hidden, batch_first=True, bidirectional=True),
    }
    return nn.ModuleDict({"encoder": nn.ModuleDict(encoder), "decoder": nn.ModuleDict(decoder)}).double()


def bahdanau():
    golden = Golden("bahdanau", "bidirectional GRU encoder, Bahdanau's decoder, teacher forcing, loss")
    golden.note("initial", "s_0 = tanh(decoder.initial(the backward direction's final state))")
    golden.note("step", "c = attend(s, memory); s = cell([e; c], s); logits = output(tanh(readout(s, c, e)))")
    golden.note("targets", "target[:, :-1] goes in, target[:, 1:] is predicted; 0 is padding and ignored")
    golden.note("score", "decoder.attention.score.weight has shape (attention hidden): the vector v")
    golden.note("case equal", "decoder, attention and encoder direction equally wide; readout = embedding")
    golden.note("case different", "every width is another number")
    # source words, target words, embedding, encoder hidden (a direction), decoder hidden, attention, readout
    for case, sizes in (("equal", (11, 13, 4, 3, 3, 3, 4)), ("different", (9, 10, 4, 3, 5, 7, 6))):
        draw = golden.draw(case)
        source_words, target_words = sizes[:2]
        source, lengths, target = sentence_pairs(draw, source_words, target_words)
        labels = target[:, 1:].reshape(-1)
        model = bahdanau_model(sizes)
        weights = {
            name: draw.normal(*(value.shape[1:] if name.endswith("score.weight") else value.shape), scale=0.6)
            for name, value in model.named_parameters()
        }

        def part(x, name, value):
            prefix = name + "."
            module = model.get_submodule(name)
            own = {key[len(prefix) :]: tensor for key, tensor in x.items() if key.startswith(prefix)}
            return torch.func.functional_call(module, own, value)

        def run(x):
            embedded = part(x, "encoder.embedding", (source,))
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            states, final = part(x, "encoder.rnn", (packed,))
            memory, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
            initial = torch.tanh(part(x, "decoder.initial", (final[1],)))
            keys = part(x, "decoder.attention.key", (memory,))
            mask = torch.arange(source.shape[1]) < lengths[:, None]
            embedding = part(x, "decoder.embedding", (target[:, :-1],))
            state, logits, alignment = initial, [], []
            for e in embedding.unbind(1):
                query = part(x, "decoder.attention.query", (state,))
                score = torch.tanh(query[:, None] + keys) @ x["decoder.attention.score.weight"]
                alpha = masked_softmax(score, mask)
                context = (alpha[:, :, None] * memory).sum(1)
                state = part(x, "decoder.cell", (torch.cat([e, context], -1), state))
                out = torch.tanh(part(x, "decoder.readout", (torch.cat([state, context, e], -1),)))
                logits.append(part(x, "decoder.output", (out,)))
                alignment.append(alpha)
            logits = torch.stack(logits, 1)
            loss = F.cross_entropy(logits.flatten(0, 1), labels, ignore_index=0, label_smoothing=0.1)
            seen = {
                "memory": memory,
                "initial_state": initial,
                "logits": logits,
                "alignment": torch.stack(alignment, 1),
            }
            return {"loss": loss}, seen

        constants = {"source": source, "source.lengths": lengths, "target": target, "smoothing": 0.1}
        golden.record(case, weights, run, constants)
    return golden


SUBJECTS = (*(attention(kind) for kind in SCORES), bahdanau)
