"""Runs Doxygen on the headers and returns each public declaration with its file, lines and scope."""
import fcntl
import hashlib
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import namedtuple

LIBRARIES = ("core", "nn", "optim")
SPACES = ("tapestry", "tapestry::simd")  # others are kernels for one instruction set, or detail
KINDS = {"function", "friend", "variable", "typedef", "enum"}
SETTINGS = """
INPUT = {input}
FILE_PATTERNS = *.hpp
RECURSIVE = YES
OUTPUT_DIRECTORY = {output}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
MARKDOWN_SUPPORT = NO
AUTOLINK_SUPPORT = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = TAPESTRY_SIMD_TAG=tag
QUIET = YES
WARNINGS = NO
"""

Found = namedtuple("Found", "kind name scope file line end")  # scope: "" or the class that it is a member of


def there():
    return shutil.which("doxygen") is not None


def headers(root):
    return sorted(path for library in LIBRARIES for path in (root / library).rglob("*.hpp"))


def declarations(root, folder):
    """Returns [Found] in the order of the files. Doxygen runs again when a header has changed, for one book at a time."""
    text = hashlib.sha256(SETTINGS.encode())
    for path in headers(root):
        text.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        stamp = folder / "stamp"
        if not stamp.exists() or stamp.read_text() != text.hexdigest():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            settings = SETTINGS.format(input=" ".join(f'"{root / library}"' for library in LIBRARIES), output=f'"{folder}"')
            subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=root, stderr=subprocess.DEVNULL)
            stamp.write_text(text.hexdigest())
    found = set()
    for path in (folder / "xml").glob("*.xml"):
        if path.name.startswith(("class", "struct", "namespacetapestry", "concept", "union")):
            for part in ElementTree.parse(path).getroot().iter("compounddef"):
                found |= set(of_part(part, root))
    return sorted(found, key=lambda one: (one.file, one.line, one.name))


def of_part(part, root):
    whole = part.findtext("compoundname").replace(" ", "")
    if part.get("kind") == "namespace":
        scope = "" if whole in SPACES else None
    else:
        space = next((space for space in reversed(SPACES) if whole.startswith(space + "::")), None)
        scope = whole[len(space) + 2:] if space else None
        hidden = scope is None or "<" in scope or part.get("prot", "public") != "public"
        scope = None if hidden or scope.split("::")[0] in ("detail", "internal", "tag") else scope
        if scope:
            outer, _, name = scope.rpartition("::")
            yield placed(part, "type" if part.get("kind") != "concept" else "concept", name, outer, root)
    if scope is not None:
        for member in part.iter("memberdef"):
            if member.get("kind") in KINDS and member.get("prot") == "public" and shown(member):
                yield placed(member, member.get("kind").replace("friend", "function"), member.findtext("name"), scope, root)


def shown(member):
    """Returns whether a declaration belongs in the reference: no friend class, deleted function or defaulted member."""
    arguments = (member.findtext("argsstring") or "").replace(" ", "")
    if arguments.endswith("=delete") or "".join(member.find("type").itertext() if member.find("type") is not None else "") in (
            "friend class", "friend struct", "class", "struct"):
        return False
    return not arguments.endswith("=default") and not member.findtext("name").startswith("~") and bool(member.findtext("name"))


def placed(element, kind, name, scope, root):
    at = element.find("location")
    file, line = (at.get("declfile"), at.get("declline")) if at.get("declline") else (at.get("file"), at.get("line"))
    inside = at.get("bodyfile") == file and not at.get("declline") and int(at.get("bodystart", "-1")) >= int(line)
    body = at.get("bodyend", "-1") if inside else "-1"
    file = file.removeprefix(f"{root}/")
    return Found(kind, name, scope, file, int(line), max(int(line), int(body)))
