#!/usr/bin/env python3
# Makes the tiny model of lesson 24 and its numbers, by PyTorch and Hugging Face's transformers and tokenizers.
"""Usage: make_tiny.py [FOLDER]     writes model.safetensors, config.json, vocab.txt, sentence_bert_config.json and
                                  reference.safetensors, by default beside this script

A BERT of two layers whose weights are drawn, not trained: large enough that each matrix, bias and norm shows in the
result. Equal runs write equal files. Needs torch, transformers, tokenizers, safetensors (here 2.13, 5.24).
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import pathlib

import torch
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertModel

LONGEST = 24
SENTENCES = """the cat sat on the mat|a cat sleeps on the sofa|the dog chased the cat|Somebody reads other people's weights.
every number has a name|names are not numbers|tokenization|untokenized, unbelievable tokens|CAFÉ! Tokens, 北京|
the attention of a query to a key|what is near to what?|I ❤️ this!|0.0001 is small; 1000 is not|Ünïcödé|weights|weight
this sentence has so many words that the model, which reads no more than a few, never comes to see its end at all""".replace("\n", "|").split("|")
WHOLE = """the a cat dog sat mat on sofa sleeps is are not of to what this that read name number query key token model un
word weight sentence people small""".split()
INSIDE = "s ed ing er est ation ization able ence tion believ en ight ize iza".split()


def vocabulary():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("01")
    marks = list(".,!?;'")
    pieces = (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + marks + letters + WHOLE + ["北"]
              + ["##" + piece for piece in letters + INSIDE])
    return list(dict.fromkeys(pieces))  # each once


def draw(model):
    """Each kind of weight with a spread of its own; a fixed order of names, one generator."""
    random = torch.Generator().manual_seed(24)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            drawn = torch.randn(weight.shape, generator=random)
            if "LayerNorm.weight" in name:
                weight.copy_(1 + 0.3 * drawn)
            elif name.endswith(".bias"):
                weight.copy_(0.1 * drawn)
            elif "word_embeddings" in name:
                weight.copy_(drawn)
            elif "embeddings" in name:
                weight.copy_(0.3 * drawn)
            elif ".self.query" in name or ".self.key" in name:
                weight.copy_(2 * drawn / weight.shape[1] ** 0.5)
            else:
                weight.copy_(drawn / weight.shape[1] ** 0.5)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent)
    pieces = vocabulary()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = dict(model_type="bert", hidden_act="gelu", vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2,
                  num_attention_heads=4, intermediate_size=64, max_position_embeddings=LONGEST, type_vocab_size=2,
                  layer_norm_eps=1e-12)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LONGEST}) + "\n")
    model = BertModel(BertConfig(**{**config, "attn_implementation": "eager"})).eval()
    draw(model)
    save_file({name: value.clone() for name, value in model.state_dict().items()}, folder / "model.safetensors")

    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
    tokenizer.enable_truncation(LONGEST)
    texts = [text for text in SENTENCES if text]
    rows = [tokenizer.encode(text).ids for text in texts]
    model.double()
    vectors = []
    with torch.inference_mode():
        for row in rows:
            states = model(input_ids=torch.tensor([row])).last_hidden_state[0]
            mean = states.mean(0)
            vectors.append(mean / mean.norm())
    save_file({"embeddings": torch.stack(vectors), "ids": torch.tensor(sum(rows, [])),
               "lengths": torch.tensor([len(row) for row in rows])},
              folder / "reference.safetensors", metadata={"sentences": json.dumps(texts)})
    cosines = torch.stack(vectors) @ torch.stack(vectors).T
    print(f"{len(pieces)} pieces, {sum(p.numel() for p in model.parameters())} numbers, {len(texts)} sentences, "
          f"cosines from {cosines.min():.2f}")


if __name__ == "__main__":
    main()
