"""Where each public name of the library is declared."""
import re
from collections import namedtuple

Place = namedtuple("Place", "file line href says")
DECLARED = [
    re.compile(r"^(?:\[\[[^\]]*\]\] )?(?:class|struct|enum class|enum) (?:\[\[[^\]]*\]\] )?(\w+)\b(?!.*;\s*$)"),
    re.compile(r"^using (\w+) ="),
    re.compile(r"^(?:inline )?constexpr [\w:<>, ]+?\b(k[A-Z]\w*|\w+) ?[={]"),
    re.compile(r"^(?:template <.*?> )?(?:\[\[\w+\]\] |inline |constexpr |static |friend |explicit )*"
               r"(?:const )?[A-Z_a-z][\w:]*(?:<.*>)?(?: const)?[&*]* ?(\w+)\("),
]
LIBRARIES = ("core/ops", "core/tensor", "core", "nn", "optim", "lessons/kit")
KEYWORDS = {"if", "for", "while", "return", "switch", "sizeof", "main", "operator", "defined", "assert", "decltype"}


def page_of(file):
    return "source/" + file.replace("/", "-") + ".html"


def files(root):
    found = []
    for library in LIBRARIES:
        for path in sorted((root / library).rglob("*.hpp")):
            file = path.relative_to(root).as_posix()
            if file not in found:
                found.append(file)
    return found


def declared(root):
    """Returns {name: Place}: the first declaration of each name, without the namespaces detail."""
    names = {}
    for file in files(root):
        if "/detail" in file or file.startswith("core/simd"):
            continue
        detail, comment = False, []
        for number, line in enumerate((root / file).read_text().split("\n"), 1):
            if re.match(r"namespace (tapestry::)?(\w+::)?detail|namespace \{", line):
                detail = True
            elif detail and line.startswith("}  // namespace"):
                detail = False
            if line.startswith("///"):
                comment.append(line[3:].strip())
                continue
            for pattern in () if detail else DECLARED:
                match = pattern.match(line)
                if match and match.group(1) not in KEYWORDS:
                    says = " ".join(comment).split(". ")[0][:200]
                    names.setdefault(match.group(1), Place(file, number, f"../{page_of(file)}#L{number}", says))
                    break
            if not line.startswith("template"):
                comment = []
    return names
