#!/usr/bin/env python3
# Makes byte_level.json: a small byte-level vocabulary, and the reference's ids of awkward strings by four pre-tokenizers.
"""Usage: make_byte_level.py [--gguf FILE.gguf [--strings FILE.json]] [OUTPUT]    needs the package tokenizers (0.23.3)

Writes OUTPUT, by default data/byte_level.json. With --gguf (which needs the package gguf), the vocabulary is that of a
published model, and there are 3,000 random strings, or those of a JSON list: for a run by hand (see README.md).
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import argparse
import json
import pathlib
import random
import unicodedata

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

MERGES = 420
CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start|>|"]
USER_DEFINED = ["<tool>"]
WHOLE_WORD = "Ġzigzag"  # a token that no merges make
MISSING = [0x00, 0x04, 0x21, 0xF1]  # bytes without a token in the case "missing"
LLAMA_3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")
PRE_TOKENIZERS = ["gpt-2", "smollm", "llama-bpe", "qwen2"]

TEXT = """The loom holds a thousand threads, and the weaver knows each of them. She doesn't hurry; it's a slow craft.
    "How long does it take?" asked the boy. "As long as it's worth," she said. "We'll start when the light's good."
In 1804 the first punched cards moved the threads: 24 rows, 8 columns, 3 colours. By 1812 there were 11,000 looms.
    for (int i = 0; i < 10; ++i) {
        total += weights[i] * values[i];    // the sum
    }
I'm sure they've seen the pattern before; you'd think that he'd know it. They're weaving, weaving, and weaving!!!
Voilà un café crème, s'il vous plaît. El niño comió el último piñón. Die Straße ist größer als früher. Łódź, Kraków.
Нити идут одна за другой, и узор растёт. Μία κλωστή και άλλη μία. شبكة من الخيوط. 糸を織る。糸を織る。糸を織る。 실을 짜다.
Prices: $9.99, €20, £7.50 (50% off)... see https://loom.example/threads?id=42&sort=up#top or write to us@loom.example.

\t- one\r\n\t- two\r\n\t- three\r\n\n\n== The end ==\n"""

STRINGS = [
    "", " ", "  ", "   ", "\n", "\n\n\n", " \n", "\n ", "  \n  x", "a", " a", "a ", "  a", "a  b   c    d", "\t\tx\t y \tz",
    "The loom holds a thousand threads.", "it's they've I'm you'd we'll they're don't", "IT'S They'Ve i'M yoU'D wE'lL 'RE 'T",
    "'s't're've'm'll'd'x''s' 's", "'\u017f it'\u017f \u017f's 'l 'r 'v", "rock'n'roll o'clock 'tis", "1 12 123 1234 12345678901",
    "x1y22z333 4444", "2026-11-28T16:20:00Z", "1,000,000.50 + 3.14e-7 = ?", "½ ¼ ² Ⅷ ⅷ ٣٤٥ १२३ ０１２３ ①②③ 𝟘𝟙𝟚", "٣٤٥٦٧٨٩",
    "café naïve Ångström Łódź", "cafe\u0301 nai\u0308ve e\u0301e\u0301", "Straße STRASSE ẞ ǅ ʰª º", "Нити идут Μία κλωστή", "糸を織る。 糸 を 、織る!",
    "실을 짜다 한국어", "شبكة من الخيوط עִבְרִית", "हिन्दी में ไทย สวัสดี", "👩\u200d👩\u200d👧\u200d👦 🇫🇷🇯🇵 👍🏽 ❤️ ☃", "a\u00a0b\u2009c\u3000d\u200be\ufefff", "\u00a0\u00a0x\u2003\u2003\u2003y",
    "a\u0085b\u2028c\u2029d\u1680e\u180ef", "\x00\x01\x1c\x1d\x1f\x7f\x80\x9f", "a\x00b\x04c!d!!e\x04\x04 \x04 f", "\r\n\r\n\r\rx\n\r", "end. \r\n\r\n  next",
    "!!!\n\n??\r\n...\n", " !!! ??? \n --- \n", "(a) [b] {c} <d> /e/ _f_ __init__ *g* `h`", "#tag @name $var %s &amp; ~x ^y |z", "https://loom.example/threads?id=42&sort=up#top",
    "    for (int i = 0; i < 10; ++i) {\n        total += i;\n    }\n", "\tif x:\n\t\treturn\n\n\n\telse:\n", " zigzag zigzag a zigzagging", "weaving" * 12, "x" * 97, " " * 65 + "y", "=" * 40 + "\n" + "-" * 40,
    "<|im_start|>user\nHi<|im_end|>\n", "<|im_start|>|<|im_start|><|im_start", "<<|im_end|>> <tool>x</tool> < tool>", "a<|endoftext|> b <|endoftext|>c", "<|im_start|> <tool><tool>",
    "\U000f1000\U00041234\U0010ffff\ufffd", "ﬁnance ﬂow ℝ ∑ √ → ≠", "mixed 123abc456 ABCdef_GHI-jkl", "\u0301\u0301a \u0301b '\u0301", "Ġ Ċ ł ń âĢĻ", "ends with newline\n", "ends with space ",
]


def patterns(name):
    split_by_regex = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if name == "gpt-2":
        return split_by_regex
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), split_by_regex])
    pattern = LLAMA_3 if name == "llama-bpe" else LLAMA_3.replace("{1,3}", "")
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), bytes_only])


def reference(tokens, merges, pre, special):
    """A tokenizer of the package. Tokens that are None have no id."""
    vocabulary = {token: i for i, token in enumerate(tokens) if token is not None}
    model = models.BPE(vocab=vocabulary, merges=[tuple(merge.split(" ")) for merge in merges], ignore_merges=pre == "llama-bpe")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = patterns(pre)
    tokenizer.add_special_tokens(special)
    return tokenizer


def trained():
    """Tokens, merges and types: trained on TEXT, then the word that no merges make, then special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = patterns("gpt-2")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=len(alphabet) + MERGES, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True) * 2, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    types = [1] * (len(tokens) + 1) + [3] * len(CONTROLS) + [4] * len(USER_DEFINED)
    return tokens + [WHOLE_WORD] + CONTROLS + USER_DEFINED, merges, types


def published(path):
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    return [fields["tokenizer.ggml." + key].contents() for key in ("tokens", "merges", "token_type")]


def drawn(count):
    """Random strings of a few kinds of characters each, now and then with any character."""
    draw = random.Random(1)
    kinds = [list("abcdefgtheinrABCXYZ"), list("0123456789"), list(" \t\n\r\x0b\x85\xa0\u2003\u2028\u3000\u200b\ufeff\x1c"),
             list("'''’.,;:!?-_=+*/()[]{}<>@#$%^&~`\""), ["'s", "'T", "'re", "'LL", "'\u017f"], STRINGS, CONTROLS]

    def any_character():
        character = chr(draw.randrange(draw.choice([0x80, 0x250, 0x3000, 0xD800, 0x20000])))
        # Characters that are new in a later Unicode are in different classes in programs of different age.
        return "?" if unicodedata.category(character) in ("Cs", "Cn") else character

    def one():
        chosen = draw.sample(kinds, draw.randrange(1, 5))
        return "".join(any_character() if draw.random() < 0.05 else draw.choice(draw.choice(chosen))
                       for _ in range(draw.choice([1, 3, 8, 20])))
    return [one() for _ in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--strings", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).parent / "data/byte_level.json")
    arguments = parser.parse_args()
    tokens, merges, types = published(arguments.gguf) if arguments.gguf else trained()
    strings = STRINGS if not arguments.gguf else json.loads(arguments.strings.read_text()) if arguments.strings else drawn(3000)
    special = [token for token, kind in zip(tokens, types) if kind in (3, 4)]
    user_defined = [token for token, kind in zip(tokens, types) if kind == 4]
    byte_of = {character: byte for byte, character in zip(
        [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)] +
        [b for b in range(256) if not (0x21 <= b < 0x7F or 0xA1 <= b < 0xAD or 0xAE <= b)],
        [*map(chr, [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)])] + [chr(0x100 + n) for n in range(68)])}
    lacking = [None if len(token) == 1 and byte_of.get(token) in MISSING else token for token in tokens]
    without = {character for character, byte in byte_of.items() if byte in MISSING}
    fewer = [merge for merge in merges if not without & {*merge}]
    tokenizers = {name: reference(tokens, merges, name, special) for name in PRE_TOKENIZERS}
    tokenizers["none"] = reference(tokens, merges, "gpt-2", [])
    tokenizers["user_defined"] = reference(tokens, merges, "gpt-2", user_defined)
    tokenizers["missing"] = reference(lacking, fewer, "gpt-2", special)
    cases = []
    for text in strings:
        ids = {name: tokenizer.encode(text).ids for name, tokenizer in tokenizers.items()}
        # An entry that equals GPT-2's is left out.
        cases.append([text, {name: found for name, found in ids.items() if name == "gpt-2" or found != ids["gpt-2"]}])
    result = {"tokens": tokens, "merges": merges, "types": types, "missing": MISSING, "cases": cases}
    arguments.output.write_text(json.dumps(result, separators=(",", ":"), ensure_ascii=True) + "\n")


main()
