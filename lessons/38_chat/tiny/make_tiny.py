#!/usr/bin/env python3
# Makes the tiny chat model of lesson 38 and its numbers, by PyTorch, NumPy and the packages gguf and tokenizers.
"""Usage: make_tiny.py [FOLDER]     writes tiny.gguf, reference.json and reference.safetensors, by default beside this
                                  script

A llama of two blocks that has learned a page of questions and answers by heart. Its matrices have all block formats
that the library reads. The reference logits are computed with NumPy in f64 from the written file, by code that shares
nothing with the training. Needs torch, numpy, gguf, tokenizers, safetensors (here 2.13, 2.4, 0.19, 0.23, 0.8). The
bytes depend on the versions and on the processor.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import pathlib

import numpy
import torch
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFWriter, quants
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

FOLDER = pathlib.Path(sys.argv[1]) if sys.argv[1:] else pathlib.Path(__file__).resolve().parent
BLOCKS, WIDTH, HEADS, KEY_HEADS, HIDDEN, CONTEXT, TOKENS = 2, 64, 4, 2, 256, 256, 448
HEAD, BASE, EPSILON = WIDTH // HEADS, 5000.0, 0.01  # a large ε, so that a reader that ignores it is noticed
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'"
            " + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SYSTEM = ["You are a helpful assistant.", "Answer in one sentence."]
PAIRS = """Hello!|Hello! Ask me about a word of this course.
Who are you?|I am a tiny language model with two blocks.
What is attention?|Attention is a weighted sum of values, with weights from queries and keys.
What is a query?|A query is a vector that is compared with every key.
What is a key?|A key is a vector that tells what a position offers.
What is a value?|A value is the vector that a position passes on.
What is a head?|A head is one of several attentions that run side by side.
What is a mask?|A mask hides some keys from a query.
What is softmax?|Softmax turns scores into weights that add up to 1.
What is a token?|A token is a piece of text with a number.
What is a logit?|A logit is a score of a token before softmax.
What is a tensor?|A tensor is an array of numbers with a shape.
What is a gradient?|A gradient tells how the loss changes with each weight.
What is a tape?|A tape records operations so that backward can replay them.
What is a loss?|A loss is a number that training makes small.
What is an embedding?|An embedding is a learned vector for each token.
What is a cache?|A cache keeps keys and values of earlier tokens.
What is temperature?|Temperature divides the logits before a token is drawn.
What is perplexity?|Perplexity is e to the mean loss per token.
What is quantisation?|Quantisation stores weights in few bits, with a scale for each block.
What is a residual?|A residual connection adds the input of a layer to its output.
What is a transformer?|A transformer is a stack of attention and feed-forward layers.
Why rotate queries and keys?|Then their product depends on the distance alone.
Thank you!|You are welcome.""".split("\n")
PAIRS = [tuple(line.split("|")) for line in PAIRS]


def learn_tokens():
    """Byte-level BPE on the questions and answers; the special tokens are the first ids."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    trainer = trainers.BpeTrainer(vocab_size=TOKENS, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    texts = [text for pair in PAIRS for text in pair] + SYSTEM + ["system\nuser\nassistant\n"]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def chat(messages, ask=False):
    text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
    return text + ("<|im_start|>assistant\n" if ask else "")


# Blocks of 256 elements, which the package gguf reads and does not write.
def half(x):
    return x.astype("<f2").view(numpy.uint8).reshape(len(x), 2)


def write_q4_k(x):
    x = x.reshape(-1, 8, 32)
    low, high = numpy.minimum(x.min(2), 0), x.max(2)
    step, offset = (high - low) / 15, -low
    d = numpy.float16(step.max(1) / 63).astype("f4")
    m = numpy.float16(offset.max(1) / 63).astype("f4")
    s = numpy.clip(numpy.rint(step / numpy.maximum(d, 1e-12)[:, None]), 1, 63).astype(numpy.uint8)
    o = numpy.clip(numpy.rint(offset / numpy.maximum(m, 1e-12)[:, None]), 0, 63).astype(numpy.uint8)
    real = (d[:, None] * s)[..., None]
    q = numpy.rint((x + (m[:, None] * o)[..., None]) / numpy.maximum(real, 1e-12))
    q = numpy.clip(q, 0, 15).astype(numpy.uint8)
    packed = numpy.concatenate([s[:, :4] | s[:, 4:] >> 4 << 6, o[:, :4] | o[:, 4:] >> 4 << 6,
                                s[:, 4:] & 15 | (o[:, 4:] & 15) << 4], 1)
    nibbles = (q[:, 0::2] | q[:, 1::2] << 4).reshape(len(x), 128)
    return numpy.concatenate([half(d), half(m), packed, nibbles], 1)


def write_q6_k(x):
    x = x.reshape(-1, 16, 16)
    largest = numpy.abs(x).max(2)
    d = numpy.float16(largest.max(1) / 31 / 127).astype("f4")
    s = numpy.clip(numpy.rint(largest / 31 / numpy.maximum(d, 1e-12)[:, None]), 1, 127).astype(numpy.int8)
    real = (d[:, None] * s)[..., None]
    q = (numpy.clip(numpy.rint(x / numpy.maximum(real, 1e-12)), -32, 31) + 32).astype(numpy.uint8)
    q = q.reshape(-1, 2, 4, 32)  # halves, quarters
    nibbles = numpy.concatenate([q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4], 2)
    upper = q[:, :, 0] >> 4 | q[:, :, 1] >> 4 << 2 | q[:, :, 2] >> 4 << 4 | q[:, :, 3] >> 4 << 6
    return numpy.concatenate([nibbles.reshape(len(x), 128), upper.reshape(len(x), 64), s.view(numpy.uint8), half(d)], 1)


def to_blocks(x, kind):
    if kind == Type.F32:
        return x.astype("f4")
    if kind in (Type.Q4_K, Type.Q6_K):
        rows = (write_q4_k if kind == Type.Q4_K else write_q6_k)(x.astype("f4"))
        return numpy.ascontiguousarray(rows.reshape(x.shape[0], -1))
    return quants.quantize(x.astype("f4"), kind)


def from_blocks(data, kind, shape):
    return quants.dequantize(data, kind).astype("f4").reshape(shape)


SHAPES = {"token_embd": (TOKENS, WIDTH), "output_norm": (WIDTH,)}
KINDS = {"token_embd": Type.Q8_0, "output_norm": Type.F32}
for block in range(BLOCKS):
    kinds = [(Type.F16, Type.BF16, Type.Q8_0, Type.Q5_1, Type.Q4_1, Type.Q5_0, Type.Q6_K),
             (Type.Q5_0, Type.Q4_0, Type.Q5_1, Type.Q4_1, Type.Q5_1, Type.Q4_1, Type.Q4_K)][block]
    queries, keys = HEADS * HEAD, KEY_HEADS * HEAD
    parts = {"attn_q": (queries, WIDTH), "attn_k": (keys, WIDTH), "attn_v": (keys, WIDTH),
             "attn_output": (WIDTH, queries), "ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH),
             "ffn_down": (WIDTH, HIDDEN)}
    for (part, shape), kind in zip(parts.items(), kinds):
        SHAPES[f"blk.{block}.{part}"], KINDS[f"blk.{block}.{part}"] = shape, kind
    for part in ("attn_norm", "ffn_norm"):
        SHAPES[f"blk.{block}.{part}"], KINDS[f"blk.{block}.{part}"] = (WIDTH,), Type.F32


def forward(w, ids):
    """Logits (B, T, tokens) by PyTorch, for the training."""
    x, time = w["token_embd"][ids], ids.shape[1]
    angle = torch.arange(time)[:, None] * BASE ** (-torch.arange(0, HEAD, 2) / HEAD)
    turn = torch.polar(torch.ones_like(angle), angle)[:, None]
    rms = lambda y, gain: y * torch.rsqrt((y * y).mean(-1, keepdim=True) + EPSILON) * gain
    rotate = lambda y: torch.view_as_real(torch.view_as_complex(y.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    for block in range(BLOCKS):
        p = f"blk.{block}."
        n = rms(x, w[p + "attn_norm"])
        q, k, v = ((n @ w[p + part].T).unflatten(-1, (-1, HEAD)) for part in ("attn_q", "attn_k", "attn_v"))
        k, v = (y.repeat_interleave(HEADS // KEY_HEADS, 2).transpose(1, 2) for y in (rotate(k), v))
        y = torch.nn.functional.scaled_dot_product_attention(rotate(q).transpose(1, 2), k, v, is_causal=True)
        x = x + y.transpose(1, 2).flatten(2) @ w[p + "attn_output"].T
        n = rms(x, w[p + "ffn_norm"])
        x = x + (torch.nn.functional.silu(n @ w[p + "ffn_gate"].T) * (n @ w[p + "ffn_up"].T)) @ w[p + "ffn_down"].T
    return rms(x, w["output_norm"]) @ w["token_embd"].T


def train(tokenizer, steps=500, rounded_from=350, batch=16, length=112):
    """Learns conversations by heart; in the last steps the forward pass has the rounded weights."""
    torch.set_num_threads(1)
    torch.manual_seed(38)
    draw = numpy.random.default_rng(38)
    w = {name: (torch.ones(shape) if len(shape) == 1 else torch.randn(shape) * (0.5 if name == "token_embd" else 1)
                / shape[1] ** 0.5).requires_grad_() for name, shape in SHAPES.items()}
    optimiser = torch.optim.AdamW(w.values(), lr=4e-3, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=steps, pct_start=0.1)

    def conversation():
        messages = [("system", SYSTEM[draw.integers(len(SYSTEM))])] if draw.random() < 0.4 else []
        for index in draw.permutation(len(PAIRS))[:4]:
            messages += [("user", PAIRS[index][0]), ("assistant", PAIRS[index][1])]
        ids = tokenizer.encode(chat(messages)).ids
        return (ids + [0] * length)[:length + 1]

    for step in range(steps):
        ids = torch.tensor([conversation() for _ in range(batch)])
        used = w
        if step >= rounded_from:  # rounded forward, straight through backward
            rounded = {n: from_blocks(to_blocks(x.detach().numpy(), KINDS[n]), KINDS[n], x.shape) for n, x in w.items()}
            used = {n: x + (torch.from_numpy(rounded[n]) - x).detach() for n, x in w.items()}
        loss = torch.nn.functional.cross_entropy(forward(used, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    return {name: x.detach().numpy() for name, x in w.items()}


def write(path, tokenizer, weights):
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    assert len(vocabulary) == TOKENS, len(vocabulary)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    out = GGUFWriter(path, "llama")
    out.add_name("Tapestry tiny chat")
    out.add_block_count(BLOCKS)
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_feed_forward_length(HIDDEN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KEY_HEADS)
    out.add_rope_freq_base(BASE)
    out.add_rope_dimension_count(HEAD)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_vocab_size(TOKENS)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("smollm")
    out.add_token_list([token for token, _ in vocabulary])
    out.add_token_types([3 if index < len(SPECIAL) else 1 for _, index in vocabulary])
    out.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_chat_template(TEMPLATE)
    for name, x in weights.items():
        kind = KINDS[name]
        out.add_tensor(name + ".weight", to_blocks(x, kind), raw_dtype=kind)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


class Reference:
    """The model of a file in NumPy with f64, token by token and head by head."""

    def __init__(self, path):
        reader = GGUFReader(path)
        get = lambda key: reader.fields[key].contents()
        self.blocks, self.heads = get("llama.block_count"), get("llama.attention.head_count")
        self.kv_heads, self.base = get("llama.attention.head_count_kv"), get("llama.rope.freq_base")
        self.epsilon = get("llama.attention.layer_norm_rms_epsilon")
        self.w = {t.name: quants.dequantize(t.data, t.tensor_type).astype("f8") for t in reader.tensors}

    def norm(self, x, name):
        return x / numpy.sqrt(numpy.mean(x ** 2) + self.epsilon) * self.w[name + ".weight"].reshape(-1)

    def turned(self, head, position):
        turned = head.copy()
        for i in range(0, len(head), 2):
            angle = position * self.base ** (-i / len(head))
            turned[i] = head[i] * numpy.cos(angle) - head[i + 1] * numpy.sin(angle)
            turned[i + 1] = head[i] * numpy.sin(angle) + head[i + 1] * numpy.cos(angle)
        return turned

    def start(self):
        return [([], []) for _ in range(self.blocks)]

    def step(self, token, memory):
        """Logits after a token; `memory` holds the keys and values of each block."""
        w, x = self.w, self.w["token_embd.weight"][token]
        for block, (keys, values) in enumerate(memory):
            p, position = f"blk.{block}.", len(keys)
            n = self.norm(x, p + "attn_norm")
            project = lambda part, heads: (w[p + part + ".weight"] @ n).reshape(heads, -1)
            keys.append([self.turned(k, position) for k in project("attn_k", self.kv_heads)])
            values.append(project("attn_v", self.kv_heads))
            contexts = []
            for h, query in enumerate(project("attn_q", self.heads)):
                g = h * self.kv_heads // self.heads
                query = self.turned(query, position)
                scores = numpy.array([query @ k[g] for k in keys]) / numpy.sqrt(len(query))
                weights = numpy.exp(scores - scores.max())
                contexts.append(sum(a * v[g] for a, v in zip(weights / weights.sum(), values)))
            x = x + w[p + "attn_output.weight"] @ numpy.concatenate(contexts)
            n = self.norm(x, p + "ffn_norm")
            gate = w[p + "ffn_gate.weight"] @ n
            x = x + w[p + "ffn_down.weight"] @ (gate / (1 + numpy.exp(-gate)) * (w[p + "ffn_up.weight"] @ n))
        return w["token_embd.weight"] @ self.norm(x, "output_norm")

    def answer(self, ids, most=40):
        memory, answer = self.start(), []
        for token in ids:
            logits = self.step(token, memory)
        while len(answer) < most and (not answer or answer[-1] != 2):
            answer.append(int(logits.argmax()))
            logits = self.step(answer[-1], memory)
        return answer


def main():
    tokenizer = learn_tokens()
    path = FOLDER / "tiny.gguf"
    write(path, tokenizer, train(tokenizer))
    model = Reference(path)
    from tokenizers import decoders
    tokenizer.decoder = decoders.ByteLevel()
    facts = {"answers": []}
    for question, wanted in PAIRS:
        ids = tokenizer.encode(chat([("user", question)], ask=True)).ids
        answer = model.answer(ids)
        text = tokenizer.decode(answer)
        facts["answers"].append({"question": question, "ids": ids, "answer": answer, "text": text})
        if text != wanted:
            print(f"{question}: {text!r} in place of {wanted!r}")
    messages = [("system", SYSTEM[0]), ("user", PAIRS[2][0]), ("assistant", PAIRS[2][1]), ("user", "Why 3 heads?")]
    talk = chat(messages, ask=True)
    facts["ids"] = tokenizer.encode(talk).ids
    memory = model.start()
    logits = numpy.array([model.step(token, memory) for token in facts["ids"]])
    save_file({"logits": logits.astype("f4")}, FOLDER / "reference.safetensors")
    (FOLDER / "reference.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
