# Golden cases of Luong's decoder, the plain decoder, and Bahdanau's with a maxout readout, each behind an encoder.
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from make_attention import sentence_pairs
from make_ops import masked_softmax
from recorder import Golden

SOURCE_WORDS, TARGET_WORDS, WIDTH, ENCODER_HIDDEN, HIDDEN, READOUT, SCORE_HIDDEN = 9, 10, 4, 3, 5, 6, 7
MEMORY = 2 * ENCODER_HIDDEN


def model(kind, case):
    """Modules for shapes and names; their weights are drawn."""
    lstm = "lstm" in case
    fed = {"luong": READOUT * ("feeding" in case), "plain": MEMORY * ("every" in case), "maxout": MEMORY}[kind]
    decoder = {
        "embedding": nn.Embedding(TARGET_WORDS, WIDTH),
        "initial": nn.Linear(ENCODER_HIDDEN if kind == "maxout" else MEMORY, HIDDEN),
        "cell": (nn.LSTMCell if lstm else nn.GRUCell)(WIDTH + fed, HIDDEN),
        "output": nn.Linear(READOUT, TARGET_WORDS),
    }
    if kind == "luong":
        decoder["attention"] = nn.Linear(MEMORY, HIDDEN, bias=False)  # score = q . (W k)
        decoder["combine"] = nn.Linear(MEMORY + HIDDEN, READOUT, bias=False)
    elif kind == "plain":
        decoder["readout"] = nn.Linear(HIDDEN, READOUT)
    else:
        decoder["attention"] = nn.ModuleDict(
            {
                "query": nn.Linear(HIDDEN, SCORE_HIDDEN, bias=False),
                "key": nn.Linear(MEMORY, SCORE_HIDDEN, bias=False),
                "score": nn.Linear(SCORE_HIDDEN, 1, bias=False),
            }
        )
        decoder["readout"] = nn.Linear(HIDDEN + MEMORY + WIDTH, 2 * READOUT)
    encoder = {
        "embedding": nn.Embedding(SOURCE_WORDS, WIDTH),
        "rnn": nn.GRU(WIDTH, ENCODER_HIDDEN, batch_first=True, bidirectional=True),
    }
    return nn.ModuleDict({"encoder": nn.ModuleDict(encoder), "decoder": nn.ModuleDict(decoder)}).double()


def decoders():
    golden = Golden("decoders", "bidirectional GRU encoder, then a decoder under teacher forcing, and its loss")
    golden.note("luong", "h = cell([e; fed], h); c = attend(h); fed = tanh(combine([c; h])); logits = output(fed)")
    golden.note("plain", "h = cell([e; code], h) or cell(e, h); logits = output(tanh(readout(h)))")
    golden.note("maxout", "Bahdanau's decoder; readout = the larger of each pair of 2 * readout units")
    golden.note("code", "[forward direction's final state; backward direction's]")
    for kind, case in (
        ("luong", "luong_feeding"),
        ("luong", "luong_without"),
        ("luong", "luong_feeding_lstm"),
        ("luong", "luong_without_lstm"),
        ("plain", "plain_first"),
        ("plain", "plain_every"),
        ("plain", "plain_every_lstm"),
        ("maxout", "maxout"),
    ):
        draw = golden.draw(case)
        source, lengths, target = sentence_pairs(draw, SOURCE_WORDS, TARGET_WORDS)
        net = model(kind, case)
        weights = {
            name: draw.normal(*(value.shape[1:] if name.endswith("score.weight") else value.shape), scale=0.6)
            for name, value in net.named_parameters()
        }

        def part(x, name, *value, net=net):
            prefix = name + "."
            own = {key[len(prefix) :]: tensor for key, tensor in x.items() if key.startswith(prefix)}
            return torch.func.functional_call(net.get_submodule(name), own, value)

        def run(x, kind=kind, case=case, part=part, source=source, target=target, lengths=lengths):
            embedded = part(x, "encoder.embedding", source)
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            states, final = part(x, "encoder.rnn", packed)
            memory, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
            code = torch.cat([final[0], final[1]], -1)
            mask = torch.arange(source.shape[1]) < lengths[:, None]
            hidden = torch.tanh(part(x, "decoder.initial", final[1] if kind == "maxout" else code))
            cell, fed = torch.zeros_like(hidden), torch.zeros(3, READOUT)
            logits = []

            def step(value, hidden, cell):
                if "lstm" in case:
                    return part(x, "decoder.cell", value, (hidden, cell))
                return part(x, "decoder.cell", value, hidden), cell

            for e in part(x, "decoder.embedding", target[:, :-1]).unbind(1):
                if kind == "luong":
                    hidden, cell = step(torch.cat([e, fed], -1) if "feeding" in case else e, hidden, cell)
                    score = (part(x, "decoder.attention", memory) * hidden[:, None]).sum(-1)
                    context = (masked_softmax(score, mask)[:, :, None] * memory).sum(1)
                    fed = torch.tanh(part(x, "decoder.combine", torch.cat([context, hidden], -1)))
                    logits.append(part(x, "decoder.output", fed))
                elif kind == "plain":
                    hidden, cell = step(torch.cat([e, code], -1) if "every" in case else e, hidden, cell)
                    logits.append(part(x, "decoder.output", torch.tanh(part(x, "decoder.readout", hidden))))
                else:
                    keys = part(x, "decoder.attention.key", memory)
                    query = part(x, "decoder.attention.query", hidden)
                    score = torch.tanh(query[:, None] + keys) @ x["decoder.attention.score.weight"]
                    context = (masked_softmax(score, mask)[:, :, None] * memory).sum(1)
                    hidden, cell = step(torch.cat([e, context], -1), hidden, cell)
                    read = part(x, "decoder.readout", torch.cat([hidden, context, e], -1))
                    logits.append(part(x, "decoder.output", read.unflatten(-1, (READOUT, 2)).amax(-1)))
            logits = torch.stack(logits, 1)
            loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].reshape(-1), ignore_index=0)
            return {"loss": loss}, {"logits": logits}

        constants = {"source": source, "source.lengths": lengths, "target": target}
        golden.record(case, weights, run, constants)
    return golden


SUBJECTS = (decoders,)
