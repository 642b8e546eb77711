# Texts that programs stumble over, and changes that make such texts of good ones. All are bytes.
from campaign import ENGLISH

LINE = b"the small dog sees a red house\n"
RIGHT_TO_LEFT = "הכלב הקטן רואה בית אדום\n".encode()
COMBINING = (
    "e\u0301le\u0300ve ga\u0308nse n\u0303 Z" + "\u0351\u036b\u0343\u0302\u034f\u0334\u0319" * 4 + "A\n"
).encode()


def hostile(random):
    """Name → (text, whether it has to be refused: None leaves it to the lesson)."""
    good = LINE * 40
    noise = bytes(random.randrange(256) for _ in range(4000))
    many = "".join(chr(c) for c in range(0x4E00, 0x4E00 + 6000))
    return {
        "good": (good, False),
        "empty": (b"", True),
        "one byte": (b"a", True),
        "one newline": (b"\n", True),
        "NUL": (good[:100] + b"\0" + good[100:], True),
        "NUL at the end": (good + b"\0", True),
        "only NUL": (b"\0" * 500, True),
        "a bad byte": (good[:100] + b"\xff" + good[100:], True),
        "a lone continuation": (good + b"\x80\n", True),
        "half a character at the end": (good + b"caf\xc3", True),
        "overlong": (good + b"\xc0\xaf\n", True),
        "a surrogate": (good + b"\xed\xa0\x80\n", True),
        "beyond Unicode": (good + b"\xf4\x90\x80\x80\n", True),
        "UTF-16": (good.decode().encode("utf-16"), True),
        "Latin-1": (good + "garçon\n".encode("latin-1"), True),
        "noise": (noise, None),
        "BOM": (b"\xef\xbb\xbf" + good, False),
        "BOM alone": (b"\xef\xbb\xbf", True),
        "CRLF": (good.replace(b"\n", b"\r\n"), False),
        "CR": (good.replace(b"\n", b"\r"), None),
        "mixed line ends": (good + LINE.replace(b"\n", b"\r\n") * 3 + LINE, False),
        "no last newline": (good[:-1], False),
        "one line": (good.replace(b"\n", b" "), None),
        "newlines": (b"\n" * 600, None),
        "spaces": (b" " * 600 + b"\n", None),
        "spaces and tabs": (b" \t " * 200 + b"\n", None),
        "an empty line inside": (good + b"\n" + good, None),
        "other line ends": (good.replace(b"red", "red\u2028old\u2029\u0085\x0b\x0c".encode()), None),
        "right to left": (RIGHT_TO_LEFT * 40, False),
        "marks of direction": ((good.decode().replace("dog", "\u202edog\u202c \u2066x\u2069")).encode(), False),
        "combining": (COMBINING * 40, None),
        "only combining": ("\u0301\u0308\n".encode() * 200, None),
        "wide": (("日本語 テキスト 한국어 😀 👩\u200d👧\n" * 40).encode(), False),
        "escapes": (good.replace(b"dog", b"\x1b[2J\x1b]0;x\x07dog"), None),
        "markup": (b'</text><script>a & b</script> "x" <unk> <end> <start> <pad>\n' * 40, None),
        "format": (b"%s %n {} {0} ${PATH} $(id) `id` \\n \\x00 --help\n" * 40, None),
        "commas and quotes": (b'a,"b",c;d\te\n' * 60, None),
        "non-characters": (("\ufffe\uffff\U0010ffff\ue000 x\n" * 60).encode(), None),
        "no-break spaces": (("le\u00a0chat\u202fdort\u3000ici \u200b x\n" * 60).encode(), None),
        "a long word": (good + b"a" * 3000 + b"\n", None),
        "a very long word": (good + bytes(random.choice(b"abcdefghij") for _ in range(60000)) + b"\n", None),
        "a long line": (good + b"dog " * 3000 + b"\n", None),
        "a very long line": (good + b"dog cat " * 200000 + b"\n", None),
        "an alphabet": ((many + "\n").encode(), None),
        "words never twice": (b"".join(b"w%d x%d\n" % (i, i) for i in range(3000)), None),
        "one letter": (b"a" * 5000 + b"\n", None),
        "two letters a line": (b"a b\n" * 2000, False),
    }


def mutated(random, text):
    """`text` after one to four changes."""
    for _ in range(random.randint(1, 4)):
        text = random.choice(CHANGES)(random, text)
    return text


def place(random, text):
    return random.randint(0, len(text))


def insert(random, text):
    pieces = (
        b"\0",
        b"\xff",
        b"\xc3",
        b"\x80",
        b"\xef\xbb\xbf",
        b"\r",
        b"\r\n",
        b"\n",
        b"\n\n",
        b"\t",
        b"\x0b",
        b"\x1b[31m",
        b" " * 50,
        "\u2028".encode(),
        "\u202e".encode(),
        "\u0301".encode(),
        "😀".encode(),
        "日本".encode(),
        b"<end>",
        b"<unk>",
        b"\xed\xa0\x80",
        "ﬁ".encode(),
        "\u00a0".encode(),
        "\u200b".encode(),
        b"@@",
        b"</w>",
        b"\x7f",
        "\u0085".encode(),
        b"a" * 300,
    )
    at = place(random, text)
    return text[:at] + random.choice(pieces) * random.choice((1, 1, 1, 2, 20)) + text[at:]


def flip(random, text):
    at = random.randrange(len(text)) if text else 0
    return text[:at] + bytes([text[at] ^ 1 << random.randrange(8)]) + text[at + 1 :] if text else b"x"


def drop(random, text):
    at = place(random, text)
    return text[:at] + text[at + random.choice((1, 2, 10, 200)) :]


def cut(random, text):
    return text[: place(random, text)]


def repeat(random, text):
    at = place(random, text)
    return text[:at] + text[at : at + random.choice((1, 8, 60))] * random.choice((2, 10, 200)) + text[at:]


def join_lines(random, text):
    return text.replace(b"\n", b" ", random.choice((1, 3, 30)))


def split_words(random, text):
    return text.replace(b" ", b"\n", random.choice((1, 3, 30)))


def swap(random, text):
    a, b = sorted((place(random, text), place(random, text)))
    return text[b:] + text[a:b] + text[:a]


def other_words(random, text):
    return text.replace(
        random.choice(ENGLISH).encode(),
        bytes(random.choice(b"abcxyz\xc3\xa9 -'.,") for _ in range(random.randint(0, 12))),
    )


CHANGES = [insert, insert, insert, flip, drop, cut, repeat, join_lines, split_words, swap, other_words]
