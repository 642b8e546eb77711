#!/usr/bin/env python3
# Makes word_piece.json: 5,000 odd strings, a small vocabulary drawn from them, and the reference's ids.
"""Usage: make_word_piece.py [--tokenizer FOLDER] [FILE]        needs the package tokenizers (0.20.3)

Writes FILE, by default data/word_piece.json. With --tokenizer, a folder with the vocab.txt and
tokenizer.json of a published model, the ids are those of that model and no vocabulary is written: for a run by hand
against all of it.
"""
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import argparse
import collections
import json
import pathlib
import random
import unicodedata

import tokenizers
from tokenizers import normalizers, pre_tokenizers, processors

STRINGS = 5000
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MAX_LENGTH = 64

WORDS = """the of a cat sat on mat translation attention encoder decoder unaffable tokenisation running runner runs
jumped over lazy dog state-of-the-art don't rock'n'roll e.g. i.e. U.S.A. 3.14159 1,000,000 2026-11-21 50% $9.99 €20
C++20 foo_bar __init__ x=y*z a/b http://example.org/?q=1&r=2#top user@example.org #tag @name hello... what?! (yes)
[no] {maybe} <b>bold</b> `code` "quoted" 'single' «guillemets» “curly” ‘single’ – — … • ¿qué? ¡hola! §3 ¶ † ‡ ‰""".split()
ACCENTED = """café naïve façade Ångström über straße STRASSE ẞ groß Łódź Dvořák Čeština İstanbul ISTANBUL ısı ILIK
señor coração crème brûlée œuvre æther ﬁnance ﬂow ﬃ ĳ ǆ ŉ ſecret K Ω Å Việt Nguyễn ơ ư Ǘ ṩ ẹ́ ọ̀ Ꞌ ѐ Ёлка йод Київ
ΣΊΣΥΦΟΣ Σίσυφος ὈΔΥΣΣΕΎΣ ἀγορᾷ Άρης ΐ ΰ ΌΣΟΣ ΟΔΟΣ. сон Ҋ ԱՐԵՎ արև ᲐᲑᲒ აბგ Ⴀ Ꭰ ꭰ 𐐀𐐨 𐒰 ⅷ Ⅷ ⓐ Ⓐ ａｂＣ Ｗｉｄｅ ¼ ² ₂ ª º µ""".split()
OTHER = """北京 東京都 日本語テキスト ひらがな カタカナ ﾊﾝｶｸ が ガ 한국어 안녕하세요 한 ㄱㄴ 漢字かな交じり文 𠀀𪜀 﨑 豈 更 车 神 〆切 々 〇
Ελληνικά Привет мир שלום עוֹלָם العَرَبِيَّة مرحبا हिन्दी नमस्ते বাংলা தமிழ் ไทย กำ สวัสดี ລາວ မြန်မာ ខ្មែរ བོད་ཡིག ᠮᠣᠩᠭᠣᠯ አማርኛ
👍 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 ❤️ 🇫🇷 🇯🇵 ☎️ 1️⃣ ♀ 🤷🏿‍♂️ 😀😃 ✈ ☃ ♫ → ⇒ ∑ √ ∞ ≠ ≤ ∫ ℝ ⊙ α β 𝒜 𝟘 ﷽ ﷺ ℃ № ™ © ® ° ± × ÷ € ₿ ₹ ¥""".split()
IDEOGRAPHIC = "、。「」『』【】〜・：；，．？！（）［］｛｝〈〉《》〔〕…‥ー〃々〆〇〒〓＂＇＃＄％＆＊＋－／＜＝＞＠＼＾＿｀｜～｡｢｣､･"
CONTROLS = [chr(i) for i in (*range(0, 32), *range(0x7F, 0xA0))]
SPACES = list("\u00a0\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000 \t\n\r")
INVISIBLE = list("\u00ad\u034f\u061c\u115f\u1160\u17b4\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2063\u2066\u2069\u206f\ufe0e\ufe0f\ufeff\ufff9\ufffb\ufffc\ufffd\U000e0001\U000e0041\U000e0100\U0001d173")
PRIVATE = list("\ue000\uf8ff\U000f0000\U000ffffd\U00100000\U0010fffd")
# Assigned late or never, noncharacters, ends of blocks.
UNASSIGNED = list("\u0378\u0530\u0870\u0890\u0898\u08b6\u09fd\u0c77\u166d\u1734\u1ac0\u1ace\u1c80\u1df6\u2065\u20c0\u2e43\u2e52\u2fe0\u9ff0\ua7ca\ua7cb\uab6b\ufdd0\ufffe\uffff\U0001018e\U00010d24\U000110cd\U000111c9\U00011938\U00016fe4\U0001d2c0\U0001e94b\U0001f6d5\U0001fae8\U0001ffff\U0002a6dd\U0002a6e0\U0002b73a\U0002b81e\U0002b820\U0002b91f\U0002b920\U0002cea2\U0002ebf0\U0002fa1e\U0002fa20\U00030000\U000e0fff\U0010ffff")
MARKS = [chr(i) for i in (*range(0x300, 0x370), *range(0x483, 0x48A), *range(0x591, 0x5C8), *range(0x610, 0x61B),
                          *range(0x64B, 0x660), 0x302A, 0x302E, 0x3099, 0x309A, 0x20DD, 0x20E3, 0x0903, 0x093E, 0x094D,
                          0x0E31, 0x0E33, 0x0F73, 0x1DC0, 0xFE20, 0x1D165, 0x1D167)]


def misspelt_specials(draw):
    special = draw.choice(SPECIALS + ["[PADDING]", "[unused0]"])
    return draw.choice([special, special.lower(), special[:-1], special[1:], special + special, "[" + special + "]",
                        special[0] + " " + special[1:], "##" + special, special.replace("[", "［")])


def any_point(draw):
    while True:
        last = draw.choice([0x7F, 0x24F, 0x24F, 0x17FF, 0x2FFF, 0xFFFF, 0xFFFF, 0x1FFFF, 0x10FFFF])
        point = draw.randrange(last + 1)
        if not 0xD800 <= point < 0xE000:
            return chr(point)


def words(draw, *lists):
    return " ".join(draw.choice(draw.choice(lists)) for _ in range(draw.randrange(1, 9)))


def mutated(draw, text, *extra):
    """The text with characters put in at random places."""
    characters = list(text)
    for _ in range(draw.randrange(1, 5)):
        characters.insert(draw.randrange(len(characters) + 1), draw.choice(draw.choice(extra)))
    return "".join(characters)


def with_marks(draw, text):
    return "".join(c + "".join(draw.choice(MARKS) for _ in range(draw.choice([0, 0, 0, 1, 1, 2, 4]))) for c in text)


def in_another_case(draw, text):
    return draw.choice([str.upper, str.lower, str.title, str.swapcase])(text)


def in_another_form(draw, text):
    return unicodedata.normalize(draw.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)


def hangul(draw):
    return "".join(chr(draw.randrange(0xAC00, 0xD7A4)) if draw.random() < 0.7 else
                   chr(draw.choice([draw.randrange(0x1100, 0x1200), draw.randrange(0x3131, 0x318F)]))
                   for _ in range(draw.randrange(1, 6)))


def of_the_limit(draw):
    """A word of about 100 characters, before or after the clean-up."""
    unit = draw.choice(["a", "ab", "é", "e\u0301", "한", "İ", "a\u200d", "ﬁ", "x\u0000", "ß", "𝒜"])
    return draw.choice(["", "on ", "1."]) + unit * draw.choice([33, 50, 51, 100, 101]) + draw.choice(["", " mat", "!"])


def fixed():
    yield from ["", " ", "   ", "\n", "\t\r\n", "\u3000", "\u200b", "\u0000", "\ufffd", "\u00ad\u00ad", "\u0301", "e\u0301",
                "\ufeffhello", ".", "...", "##", "##ing", "#", "a##b", "[SEP]", "[CLS] [SEP]", "hello[SEP]world", "[sep]",
                "[MASK]ed", "[[MASK]]", "[UNK]", "[PAD]" * 3, "a" * 100, "a" * 101, "é" * 100, "e\u0301" * 100, "é" * 101,
                "the " * 70, "." * 70, "北" * 70, "İ", "I\u0307", "ΑΣ", "ΑΣ ", "ΑΣ.", "ẞ", "ﬀ", "\u1e9b\u0323", "q\u0323\u0307",
                "q\u0307\u0323", "\u0f73", "\u0344", "\U0001d15e", "\u212b\u2126\u212a", "\u1100\u1161\u11a8", "각", "가\u11a8",
                "ㅤ", "\u2028", "a\u2029b", "a\u0085b", "a\x0bb", "a\x0cb", "a\x1cb", "a\x7fb", "\u180e", "\u2e43x", "x\u1ac0y"]
    for character in CONTROLS + SPACES + INVISIBLE + PRIVATE + UNASSIGNED + list(IDEOGRAPHIC):
        yield "a" + character + "b"
    for mark in MARKS:
        yield "o" + mark
    for word in ACCENTED + OTHER + WORDS:
        yield word


def drawn(draw):
    kind = draw.randrange(12)
    if kind == 0:
        return words(draw, WORDS, ACCENTED)
    if kind == 1:
        return words(draw, WORDS, ACCENTED, OTHER)
    if kind == 2:
        return mutated(draw, words(draw, WORDS, ACCENTED, OTHER), CONTROLS, SPACES, INVISIBLE)
    if kind == 3:
        return mutated(draw, words(draw, WORDS, OTHER), PRIVATE, UNASSIGNED, INVISIBLE)
    if kind == 4:
        return with_marks(draw, words(draw, WORDS, ACCENTED)[:40])
    if kind == 5:
        return in_another_case(draw, words(draw, WORDS, ACCENTED, OTHER))
    if kind == 6:
        return in_another_form(draw, words(draw, ACCENTED, OTHER))
    if kind == 7:
        return "".join(any_point(draw) for _ in range(draw.randrange(1, 12)))
    if kind == 8:
        return hangul(draw) + draw.choice(["", " ", draw.choice(IDEOGRAPHIC)]) + words(draw, OTHER)
    if kind == 9:
        return mutated(draw, words(draw, WORDS, OTHER), IDEOGRAPHIC, IDEOGRAPHIC, "!?.,;:'-_()[]{}/\\|~^`@#$%&*+=<>\"")
    if kind == 10:
        return of_the_limit(draw) if draw.random() < 0.15 else "".join(draw.choice(draw.choice(OTHER + ACCENTED)) for _ in range(draw.randrange(2, 20)))
    return draw.choice(["", "the ", "Ünder"]) + misspelt_specials(draw) + draw.choice(["", " cat", "ging", "."])


def strings():
    draw = random.Random(1)
    found = dict.fromkeys(fixed())
    while len(found) < STRINGS:
        found.setdefault(drawn(draw))
    return list(found)


def bare_tokenizer(model):
    """The reference as all-MiniLM-L6-v2's tokenizer.json configures it, but for its vocabulary and length."""
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None,
                                                      lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def small_vocabulary(texts):
    """Specials; most characters, alone and going on; beginnings, middles and ends of words that occur often."""
    cleaner = bare_tokenizer(tokenizers.models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    characters, pieces = collections.Counter(), collections.Counter()
    for text in texts:
        clean = cleaner.normalizer.normalize_str(text)
        for word in {word for word, _ in cleaner.pre_tokenizer.pre_tokenize_str(clean)}:
            characters.update({word[0]} | {"##" + c for c in word[1:]})
            if len(word) <= 20:
                pieces.update({word[:n] for n in range(2, len(word) + 1)})
                pieces.update({"##" + word[i:j] for i in range(1, len(word)) for j in range(i + 2, min(i + 5, len(word)) + 1)})
    draw = random.Random(2)
    # One character in eight is unknown, so that words fail in the middle.
    # The reference decomposes by a Unicode older than 13, which added U+11938: no vocabulary in use has it.
    alone = [c for c in sorted(characters) if draw.random() < 0.875 and characters[c] > 1 and "\U00011938" not in c]
    often = sorted(pieces, key=lambda piece: (-pieces[piece] * len(piece), piece))[:2000]
    longer = [piece for piece in often if draw.random() < 0.6]
    return list(dict.fromkeys(SPECIALS + alone + longer))


def reference(vocabulary):
    ids = {piece: i for i, piece in enumerate(vocabulary)}
    tokenizer = bare_tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.add_special_tokens(SPECIALS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")])
    return tokenizer


def published(folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def hashed(numbers):
    """FNV-1a, 64 bits, a number at a time."""
    value = 0xCBF29CE484222325
    for number in numbers:
        value = ((value ^ number) * 0x100000001B3) % 2**64
    return value


def sweep(tokenizer):
    """[first code point, hash of all ids of "acb"] for blocks of 256 code points c."""
    blocks = []
    for first in [*range(0, 0xD800, 256), *range(0xE000, 0x32400, 256), 0xE0000, 0xE0100, 0xFFF00, 0x10FF00]:
        points = range(first, first + 256)
        blocks.append([first, str(hashed(i for c in points for i in tokenizer.encode("a" + chr(c) + "b").ids))])
    return blocks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokenizer", type=pathlib.Path)
    parser.add_argument("file", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent / "data/word_piece.json")
    options = parser.parse_args()
    texts = strings()
    if options.tokenizer:
        tokenizer, vocabulary = published(options.tokenizer), None
        tokenizer.enable_truncation(256)
    else:
        vocabulary = small_vocabulary(texts)
        tokenizer = reference(vocabulary)
        tokenizer.enable_truncation(MAX_LENGTH)
    cases = [[text, tokenizer.encode(text).ids] for text in texts]
    blocks = sweep(tokenizer)
    unknown = tokenizer.token_to_id("[UNK]")
    rows = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases]
    sections = [('"max_length"', str(256 if options.tokenizer else MAX_LENGTH))]
    if vocabulary:
        sections.append(('"vocabulary"', json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":"))))
    sections.append(('"cases"', "[\n" + ",\n".join(rows) + "\n]"))
    sections.append(('"sweep"', json.dumps(blocks, separators=(",", ":"))))
    text = "{" + ",\n".join(f"{name}:{value}" for name, value in sections) + "}\n"
    options.file.write_text(text, encoding="utf-8")
    ids = [i for _, row in cases for i in row]
    print(f"{len(cases)} strings, {len(ids)} ids, {ids.count(unknown)} of them [UNK]; {len(vocabulary or [])} pieces; "
          f"{len(blocks)} blocks; {options.file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
