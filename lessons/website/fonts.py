"""The book's fonts, reduced to the characters in use: Pagella for prose and formulas, JetBrains Mono for code."""
import hashlib
import logging
import os
import re
from pathlib import Path

from fontTools import subset

logging.getLogger("fontTools").setLevel(logging.ERROR)
GYRE = "opentype/public/tex-gyre"
FACES = [  # name, weight, style, file
    ("Pagella", 400, "normal", f"{GYRE}/texgyrepagella-regular.otf"),
    ("Pagella", 400, "italic", f"{GYRE}/texgyrepagella-italic.otf"),
    ("Pagella", 700, "normal", f"{GYRE}/texgyrepagella-bold.otf"),
    ("Pagella Math", 400, "normal", f"{GYRE}-math/texgyrepagella-math.otf"),
    ("JetBrains", 400, "normal", "truetype/jetbrains-mono/JetBrainsMono-Regular.ttf"),
]
FOLDERS = [Path("/usr/share/texmf/fonts"), Path("/usr/share/fonts"), Path("/usr/local/share/fonts")]
ALWAYS = "".join(map(chr, range(32, 127))) + "′″−×·…’“”→←≥≤√Σ∂▸▾✓‖σ"


def italics():
    """Returns the mathematical italic letters that browsers use for single letters in formulas."""
    letters = [chr(c) for c in range(0x1D434, 0x1D468) if c != 0x1D455] + ["ℎ"]
    return "".join(letters + [chr(c) for c in range(0x1D6E2, 0x1D71C)])


def find(file):
    return next((folder / file for folder in FOLDERS if (folder / file).exists()), None)


def write(folder, cache, prose, code):
    """Writes the fonts and returns their CSS, or "" if a font is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    css = []
    for name, weight, style, file in FACES:
        path = find(file)
        if path is None:
            continue
        wanted = code if name == "JetBrains" else prose + (italics() if name == "Pagella Math" else "")
        characters = "".join(sorted(set(wanted + ALWAYS)))
        target = f"{re.sub(r'[^a-z]', '', name.lower())}-{weight}-{style}.woff2"
        (folder / target).write_bytes(cut(path, characters, cache))
        css.append(f'@font-face{{font-family:"{name}";font-weight:{weight};font-style:{style};font-display:swap;'
                   f'src:url("fonts/{target}") format("woff2")}}')
    return "\n".join(css)


def cut(path, characters, cache):
    key = hashlib.sha256(f"{path}{path.stat().st_mtime}{characters}".encode()).hexdigest()[:16]
    kept = cache / f"{key}.woff2"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        options = subset.Options(flavor="woff2", layout_features=["kern", "liga", "mark", "mkmk", "ccmp", "ssty"],
                                 notdef_outline=True, name_IDs=[0, 1, 2, 13, 14], hinting=False)
        font = subset.load_font(str(path), options)
        cutter = subset.Subsetter(options)
        cutter.populate(text=characters)
        cutter.subset(font)
        part = kept.with_suffix(f".{os.getpid()}")  # two books may be made at the same time
        subset.save_font(font, str(part), options)
        part.replace(kept)
    return kept.read_bytes()
