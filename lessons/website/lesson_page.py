"""A lesson's page: its parts in rows of prose and code, each followed by the part's output and pictures."""
import re
from html import escape

from website import code as cpp
from website import chat, exercises, plays, printed, runs, series, source, trained

TARGETS = ('<div class="wide" tabindex="0" role="group" aria-label="Targets"><table class="targets">{}<tbody>{}</tbody>'
           "</table></div>")
HEAD = ('<thead><tr><th scope="col">quantity</th><th scope="col">this run</th><th scope="col">target</th>'
        '<th scope="col"><span class="hidden">result</span></th></tr></thead>')
VERDICTS = {"ok": "good", "MISSED": "bad", "FAILED": "bad"}


class LessonPage:
    def __init__(self, book, folder):
        self.book, self.folder = book, folder
        self.program = (folder / "lesson.cpp").read_text()
        self.lesson = source.read(self.program)
        self.local = cpp.declared_here(self.program)
        kept = book.runs_folder / folder.name
        self.run = runs.Run(kept) if (kept / "output.txt").exists() else None
        self.live = book.live.of(folder)
        self.change = bool(self.live) and book.practise.changeable(folder)
        self.named = set()  # blocks that the reader can change
        self.trained = trained.of(folder, book.modules, self.live, self.run)
        self.chat = chat.of(folder, book.live)
        self.play = plays.html(self.lesson.number, self.run, book.prose)
        self.questions = 0

    @property
    def slug(self):
        return self.folder.name

    @property
    def href(self):
        return f"lessons/{self.slug}.html"

    def base(self):
        return f"lessons/{self.slug}"

    def prose(self, text):
        return self.book.prose.inline(text, self.base())

    def head(self):
        return [self.prose(block.text) if block.kind == "prose" else self.book.pencil.html(block.text)
                for block in self.lesson.head]

    def parts(self):
        """Returns the parts as dictionaries; a row is [prose, code]. The rows that follow a function with questions are
        "rows_after": they discuss its results, so they come after the output, as in the file."""
        sections = {title: found for title, found in self.run.sections} if self.run else {}
        shown = []
        for part in self.lesson.parts:
            first = sections.get(part.title, [])[:1]
            asked = 1 + max((i for i, block in enumerate(part.blocks) if block.kind == "code" and cpp.reports(block.text)),
                            default=len(part.blocks))
            shown.append({"number": part.number, "title": self.prose(part.title), "anchor": f"part-{part.number}",
                          "asks_first": bool(first) and first[0].kind == "question", "plain": part.title, "rows": self.rows(part.blocks[:asked]),
                          "output": self.output(sections.get(part.title, [])), "rows_after": self.rows(part.blocks[asked:])})
        return shown

    def rows(self, blocks):
        rows = []
        for block in blocks:
            if block.kind == "code":
                html = self.book.code.pieces(block.text, block.line, self.local, self.changeable if self.change else None)
                if rows and rows[-1][1] == "":
                    rows[-1][1] = html
                else:
                    rows.append(["", html])
                continue
            if not rows or rows[-1][1]:
                rows.append(["", ""])
            rows[-1][0] = joined_lists(rows[-1][0] + self.block(block))
        return rows

    def changeable(self, html, text, line):
        """Returns a piece of code with its place in lesson.cpp, for "Change it" (lessons/web/practise/change.mjs)."""
        name = cpp.declared_names(text)
        if not name or name in self.named:
            return html
        self.named.add(name)
        return f'<div class="changeable" data-name="{escape(name)}" data-line="{line}" data-lines="{text.count(chr(10)) + 1}">{html}</div>'

    def block(self, block):
        if block.kind == "prose":
            return self.book.prose.paragraph(block.text, self.base())
        return self.book.pencil.html(block.text)

    def folded(self, block):
        return self.book.code.block(block.text, self.local)

    # ---- the recorded run

    def output(self, found):
        """Returns the output of one part. The output after a question is covered until the reader answers it."""
        out, rows = [], []
        covered, asked = False, 0

        def flush():
            if rows:
                head = HEAD if any("colspan" not in row for row in rows) else ""
                out.append(TARGETS.format(head, "".join(rows)))
            rows.clear()

        for piece in found:
            if piece.kind in ("target", "figure"):
                if asked and not covered:
                    out.append('<div class="after">')
                    covered = True
                rows.append(self.target(piece))
                continue
            flush()
            if piece.kind == "question":
                out.append(("</div>" if covered else "") + self.question(piece))
                covered, asked = False, asked + 1
                continue
            if piece.kind == "answer":
                out.append(self.play_after(piece.name))
                asked -= 1
                if covered and asked == 0:
                    out.append("</div>")
                    covered = False
                continue
            if asked and not covered:
                out.append('<div class="after">')
                covered = True
            out.append(getattr(self, piece.kind)(piece) + self.play_after(piece.name))
        flush()
        return "".join(out) + ("</div>" if covered else "")

    def play_after(self, name):
        """Returns the interactive picture if its place is after this piece of the run."""
        return self.play[1] if self.play and name and self.play[0] == name else ""

    def question(self, piece):
        self.questions += 1
        key = f"question-{self.questions}"
        choices = ""
        for i, choice in enumerate(piece.choices):
            letter = "abcde"[i]
            choices += (f'<li><button type="button" data-letter="{letter}"><b>{letter}</b>'
                        f"<span>{without_links(self.prose(choice))}</span></button></li>")
        right = f' data-right="{piece.right}"' if piece.right else ""
        return (f'<section class="question" id="{key}" data-key="{self.lesson.number} {escape(piece.name)}"{right} '
                f'aria-label="Question: {escape(piece.name)}"><p class="asks">{self.prose(piece.text)}</p>'
                f'<ol>{choices}</ol><div class="why" aria-live="polite" tabindex="-1" hidden><p class="verdict"></p>'
                f"<p>{self.prose(piece.why)}</p></div>"
                f'<p class="open"><button type="button" class="quiet">Show without answering</button></p></section>')

    def text(self, piece):
        return printed.html(piece.text, self.prose)

    def target(self, piece):
        if piece.kind == "figure":
            return f'<tr><th scope="row">{self.prose(piece.name)}</th><td colspan="3">{escape(piece.why)}</td></tr>'
        name, goal = self.prose(piece.name), escape(piece.text.removeprefix("target "))
        verdict = "✓" if piece.verdict == "ok" else escape(piece.verdict)
        met = f'<td class="{VERDICTS.get(piece.verdict, "")}">{verdict}</td>'
        quoted = f'<td class="quoted">{goal}</td>' if goal.startswith("the text says") else f"<td>{goal}</td>"
        if not piece.why:
            return f'<tr><th scope="row" colspan="3">{name}</th>{met}</tr>'
        return f'<tr><th scope="row">{name}</th><td>{escape(piece.why)}</td>{quoted}{met}</tr>'

    def picture(self, piece):
        return self.book.figures.html(piece.name, self.run.picture(piece.name))

    def maps(self, piece):
        return series.html(piece.name, self.run.data(piece.name), self.book.figures)

    @property
    def has_series(self):
        return bool(self.run) and any(piece.kind == "maps" for _, found in self.run.sections for piece in found)

    def tries(self):
        """Returns [(anchor, name)] of the interactive parts of this page, without its questions."""
        found = [(f"play-{self.lesson.number}", self.play[3])] if self.play else []
        found += [("trained", self.trained.answers.heading)] if self.trained else []
        found += [("chat", "Talk to a model")] if self.chat and self.chat.bytes else []
        return found + ([("here", "Run the whole lesson")] if self.live else [])

    # ---- the rest of the page

    def exercises(self):
        shown = []
        for exercise in exercises.of(self.folder, self.book.root):
            task = joined_lists("".join(map(self.block, exercise.task)))
            starter = self.book.code.block(exercise.starter, cpp.declared_here(exercise.starter))
            lines = exercise.starter.count("\n") + 1
            works = self.book.practise.works(self.lesson.number).get(exercise.number, "")
            shown.append({"exercise": exercise, "title": self.prose(exercise.title), "task": task,
                          "starter": starter, "lines": lines, "works": works})
        return shown

    def exercise_count(self):
        return len(list(self.folder.glob("exercises/[0-9]*.cpp")))

    def files(self):
        """Returns the lesson's files, with links to their pages."""
        return [(path.name, self.book.link_file(path.relative_to(self.book.root).as_posix(), ""))
                for path in sorted(self.folder.iterdir()) if path.suffix in (".cpp", ".hpp")]

    def loss_line(self):
        """Returns a sentence with the first and last loss of each training run."""
        told = [f"{first:g} → {last:g} in {steps:,} steps" for steps, first, last in self.run.losses[:6]]
        more = len(self.run.losses) - len(told)
        return "First and last loss of each training run: " + "; ".join(told) + (f"; and {more} more." if more > 0 else ".")

    def plain(self):
        """Returns [(anchor, heading, words)] for the search."""
        asked = self.run.sections if self.run else []
        entries = [("", self.lesson.name.replace("_", " "), " ".join([self.lesson.idea] + [b.text for b in self.lesson.head]))]
        for part in self.lesson.parts:
            words = [b.text if b.kind != "code" else " ".join(re.findall(r"//+ ?(.*)", b.text)) for b in part.blocks]
            words += [piece.text for title, found in asked if title == part.title for piece in found if piece.kind == "question"]
            entries.append((f"part-{part.number}", part.title, " ".join(words)))
        entries.append(("remember", "What to remember", self.lesson.remember))
        for exercise in exercises.of(self.folder, self.book.root):
            entries.append((f"exercise-{exercise.number}", f"Exercise {exercise.number}: {exercise.title}",
                            " ".join([exercise.name.replace("_", " ")] + [b.text for b in exercise.task])))
        return entries


def joined_lists(html):
    return html.replace("</ul><ul>", "")


def without_links(html):
    """Removes links, which a button cannot contain."""
    return re.sub(r"</?a\b[^>]*>", "", html)
