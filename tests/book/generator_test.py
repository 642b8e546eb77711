"""The parts of the book's generator, each on the smallest thing that it could get wrong."""
import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from website.book import Book
from website.code import Code, declared_here, indents, signature_of, split
from website import chat, check, counted, exercises, gallery, live, names, printed, record, runs, searched, series, source, svg, trained
from website.formula import formula
from website.lesson_page import LessonPage
from website.pencil import Pencil, is_formula, links
from website.prose import Prose

from book import stand_ins

ROOT = Path(__file__).resolve().parents[2]


def plain(math):
    """MathML without its tags, scripts in braces."""
    text = re.sub(r"<m(sub|sup|under)>(.*?)</m\1>", r"\2", math)
    return re.sub(r"<[^>]+>", "", text)


class Formulas(unittest.TestCase):
    def test_scripts(self):
        self.assertIn("<msub><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub>", formula("s_ij"))
        self.assertIn("<msubsup><mi>W</mi><mi>Q</mi><mi>T</mi></msubsup>", formula("W_Qᵀ"))
        self.assertIn("<msup><mi>e</mi><mrow><msub>", formula("e^{s_ij}"))
        self.assertIn("<msub><mi>k</mi><mn>1</mn></msub>", formula("k₁"))
        self.assertIn("<munder><mo>Σ</mo><mi>j</mi></munder>", formula("Σ_j α"))
        self.assertIn("<msqrt><mi>d</mi></msqrt>", formula("√d"))
        self.assertIn("<mover><mi>h</mi>", formula("h̃_t"))
        self.assertIn("<mrow><mi>i</mi><mn>1</mn></mrow>", formula("α_i1"))
        self.assertIn("<mtext>feed_forward</mtext>", formula("x + feed_forward(x)"))
        self.assertIn("<mo>″</mo>", formula("w''_n"))

    def test_formulas_in_prose(self):
        prose = Prose({}, lambda *_: None, lambda *_: None)
        for text in ("e^−a", "2^20", "a^V_{−1}", "read_t", "w''_n", "logits_t"):
            self.assertEqual(prose.inline(text), formula(text))
        self.assertEqual(prose.inline("((5 + n) / 6)^α, softmax(x)_c"), "((5 + n) / 6)<sup>α</sup>, softmax(x)<sub>c</sub>")
        self.assertEqual(prose.inline("is_a, log_p"), "<code>is_a</code>, <code>log_p</code>")

    def test_a_formula_and_its_brackets_are_on_one_line(self):
        prose = Prose({}, lambda *_: None, lambda *_: None)
        self.assertEqual(prose.inline("all (p_t), p_t"), f'all <span class="one-line">({formula("p_t")}),</span> {formula("p_t")}')
        self.assertEqual(prose.inline("p_t."), f'<span class="one-line">{formula("p_t")}.</span>')

    def test_nothing_is_lost(self):
        for text in ("(a cos φ − b sin φ) / 2σ²", "‖J‖² = Σ_i (α_i − α_i²)² + (Σ α_i²)²", "w ← w − η g", "x' = {1, 0.8}"):
            bare = lambda t: re.sub(r"[\s_^]", "", t).replace("²", "2").replace("'", "′")
            self.assertEqual(bare(plain(formula(text))), bare(text))

    def test_every_lesson(self):
        for path in (ROOT / "lessons").glob("[0-9]*/lesson.cpp"):
            for part in source.read(path.read_text()).parts:
                for block in part.blocks:
                    if block.kind == "pencil":
                        for row in block.text.split("\n"):
                            self.assertEqual(check.Page(formula(row)).faults, [], row)

    def test_what_is_a_formula(self):
        for text in ("q = W_Q x", "q · k_j", "2 / √2 = 1.414", "α = 1"):
            self.assertTrue(is_formula(text), text)
        for text in ("what I ask", "Luong, Pham and Manning 2015", "weights that add up to 1"):
            self.assertFalse(is_formula(text), text)


class Sources(unittest.TestCase):
    def test_each_line_is_shown_once(self):
        """Every line of every lesson.cpp is in one place of its page: head, a part, what to remember, or the rest."""
        for path in sorted((ROOT / "lessons").glob("[0-9]*/lesson.cpp")):
            text = path.read_text()
            lesson = source.read(text)
            shown = [lesson.time, lesson.idea, lesson.before.text, lesson.after.text, lesson.remember]
            shown += [block.text for block in lesson.head] + [b.text for part in lesson.parts for b in part.blocks]
            words = " ".join(" ".join(shown).split())
            for line in text.split("\n")[1:]:
                bare = " ".join(re.sub(r"^//(?!/) ?", "", line).split())
                if bare and not bare.startswith(("----", "Exercises: lessons/practise", "What to remember.")):
                    found = bare in words or all(piece.strip() in words for piece in re.split(r"[.] ", bare))
                    self.assertTrue(found or self.follows_exercises(text, line), f"{path.parent.name}: {bare}")

    def follows_exercises(self, text, line):
        return line in text[text.index("// Exercises: lessons/practise"):].split("\n\n")[0]

    def test_parts_are_the_programs_sections(self):
        for path in sorted((ROOT / "lessons").glob("[0-9]*/lesson.cpp")):
            text = path.read_text()
            titles = [part.title for part in source.read(text).parts]
            for title in re.findall(r'report\.section\("([^"]+)"\)', text):
                self.assertIn(title, titles, path.parent.name)

    def test_results_follow_the_questions_about_them(self):
        """On the page, text after a function with questions comes after the questions, as in the file: it tells the results."""
        none, told = ROOT / "no_modules", 0
        book = Book(ROOT, ROOT / "out/book", none)
        book.live = live.Live(ROOT, none)
        for path in sorted((ROOT / "lessons").glob("[0-9]*/lesson.cpp")):
            for part in LessonPage(book, path.parent).parts():
                if 'class="question"' in part["output"]:
                    where = f"{path.parent.name}, part {part['number']}"
                    self.assertFalse(any("At seed 1" in prose for prose, _ in part["rows"]), where)
                    told += any("At seed 1" in prose for prose, _ in part["rows_after"])
        self.assertGreater(told, 40)

    def test_pieces_of_code(self):
        text = "int a() {\n  x;\n\n  y;\n}\n\nvoid ask(kit::Report& report) {\n  report.ask(1);\n}\n\nint b;"
        self.assertEqual([piece.split("\n")[0] for piece in split(text)], ["int a() {", "void ask(kit::Report& report) {", "int b;"])

    def test_a_folded_function_shows_its_whole_signature(self):
        rows = ["// why", "void ask(const A& a,  // what", "         kit::Report& report) {", "  report.ask(a);", "}"]
        self.assertEqual(signature_of(rows), "void ask(const A& a, kit::Report& report)")

    def test_a_list_keeps_its_items(self):
        lines = list(enumerate([" Say:", "", " - one: a", "   and b", " - two: c"]))
        self.assertEqual([block.text for block in source.paragraphs(lines)], ["Say:", "- one: a and b", "- two: c"])


class Exercises(unittest.TestCase):
    def test_no_solution_is_shown(self):
        """What stands between //[ and //] in the source is not on the page."""
        for path in sorted((ROOT / "lessons").glob("[0-9]*/exercises/[0-9]*.cpp")):
            given = exercises.read(path, ROOT).starter
            text = path.read_text().split("//= judge")[0]
            self.assertNotIn("hint:", given)
            self.assertNotIn("wrong:", given)
            for hole in re.findall(r"//\[.*?\n(.*?)//\]", text, re.S):
                kept = [line.strip()[3:].strip() for line in hole.split("\n") if line.strip().startswith("//:")]
                for line in hole.split("\n"):
                    bare = line.strip()
                    if bare and not bare.startswith("//") and len(bare) > 12 and bare not in kept and text.count(bare) == 1:
                        self.assertNotIn(bare, given, path.name)


class Names(unittest.TestCase):
    def test_declarations(self):
        found = names.declared(ROOT)
        for name, file in (("matmul", "core/ops/matmul.hpp"), ("Tensor", "core/tensor/tensor.hpp"), ("Attention", "nn/attention/attention.hpp")):
            place = found[name]
            self.assertEqual(place.file, file)
            self.assertIn(name, (ROOT / file).read_text().split("\n")[place.line - 1])

    def test_where_a_file_leads(self):
        """Into the guide, to a lesson, or to the source; named from the top, or from the folder that names it."""
        book = Book.__new__(Book)
        book.root, book.sources = ROOT, set()
        for file, base, page in (("lessons/real_text.md", "lessons/15_translate", "guide/real_text"),
                                 ("README.md", "nn/attention", "guide/tour"), ("debugging.md", "core", "guide/debugging"),
                                 ("lessons/05_pooling/lesson.cpp", "", "lessons/05_pooling"),
                                 ("experiment.cpp", "lessons/13_local", "source/lessons-13_local-experiment.cpp")):
            self.assertEqual(book.link_file(file, base), f"../{page}.html")
        self.assertIsNone(book.link_file("none.md", "lessons"))

    def test_a_lessons_own_names_are_not_linked(self):
        code = Code(names.declared(ROOT))
        self.assertIn("<a ", code.block("softmax(x);"))
        self.assertNotIn("<a ", code.block("softmax(x);", {"softmax"}))
        self.assertNotIn("<a ", code.block("x.softmax();"))
        self.assertNotIn("<a ", code.block("std::exp(e) + std::max(s, e);"))
        self.assertEqual(code.block("softmax(softmax(x));").count("<a "), 1)
        self.assertEqual(code.block("softmax(softmax(x));", number=1).count("<a "), 2)
        self.assertIn("sum", declared_here("  double sum = 0;\n"))

    def test_a_line_goes_on_to_the_right_of_its_beginning(self):
        html = Code({}).block("f(\n    a);\n" + " " * 20 + "b")
        self.assertIn('<span class="l i4">    a', html)
        self.assertIn(f'<span class="l i20"><span class="deep">{" " * 20}</span>b', html)
        self.assertIn(".i20{--i:20}", indents())


class Tables(unittest.TestCase):
    def setUp(self):
        self.pencil = Pencil(Prose({}, lambda *_: None, lambda *_: None), lambda text: text)

    def test_a_table(self):
        html = self.pencil.html("x   weight\n1     0.3\n2     0.7")
        self.assertIn('<th scope="col">weight</th>', html)
        self.assertEqual(html.count("<td"), 4)

    def test_a_matrix(self):
        html = self.pencil.html("a = (1 2)   b = (5)\n    (3 4)       (6)")
        self.assertEqual((html.count("<mtable>"), html.count("<mtr>")), (2, 4))
        self.assertEqual(html.count('class="piece"'), 2)

    def test_a_sign_goes_on_from_what_stands_before(self):
        self.assertEqual(plain(self.pencil.group(["c       = Σ_j α_j", "score_j = v · k_j"])).count("="), 2)
        self.assertNotIn("piece", self.pencil.group(["c       = Σ_j α_j   the context", "score_j = v · k_j   of each key"]))

    def test_what_is_said_of_each_stays_beside_it(self):
        self.assertEqual(self.pencil.html("q = W_Q x    what I ask    k = W_K x    what I offer").count('class="pair"'), 2)
        for alike in ("a = 1    b = 2    c = 3    d = 4", "a = 1    the first    b = 2    c = 3"):
            self.assertNotIn("pair", self.pencil.html(alike))

    def test_a_drawing_of_lines(self):
        self.assertIn("drawing", self.pencil.html(" 0  1 |  2  3\n-------+-------\n 8  9 | 10 11"))

    def test_a_long_formula_may_break(self):
        """Before what equals; inside brackets, in what is short, and in a sum that fits it stays whole."""
        self.assertEqual(links("a_i = max(b = 1) = c", "=←", 10), ["a_i", "= max(b = 1)", "= c"])
        self.assertEqual(links("−a − b", "−", 3), ["−a", "− b"])
        self.assertEqual(links("a = b", "=", 10), ["a = b"])
        html = self.pencil.html("∂h = 0.5 (1 − h₃²) = 0.484 · 0.434")
        self.assertEqual((html.count("<math>"), html.count('<mo form="infix">=')), (3, 2))

    def test_rows_or_columns(self):
        """A table whose rows can be read alone is stacked on a phone; numbers below numbers are not."""
        self.assertIn('"pencil steps"', self.pencil.html("s = q k     what is asked\nc = Σ s v   what is read"))
        self.assertIn('"pencil"', self.pencil.html("j      0     1\nfade   0.3   0.8"))
        self.assertIn('"pencil"', self.pencil.html("rank 0   1   →   11\nrank 1   2   →   12"))
        html = self.pencil.html("greedy   a 0.6   →   a c 0.6 · 0.4 = 0.24\nbeam     b 0.4   →   b c 0.4 · 0.9 = 0.36")
        self.assertEqual((html.count('<p class="step">'), html.count('<p class="step">→ ')), (4, 2))


class Printed(unittest.TestCase):
    def kinds(self, *rows):
        return [kind for kind, _ in printed.kinds(list(rows))]

    def test_what_stands_beside_what(self):
        self.assertEqual(printed.kinds(["   1 chains    29.5 GFLOP/s"]), [("pairs", [["1 chains", "29.5 GFLOP/s"]])])
        self.assertEqual(printed.kinds(["  central  1", "  forward  2", "  nn, opti 3"])[0][1][2], ["nn, opti", "3"])
        self.assertEqual(printed.kinds([" " * 20 + "right", "  soft              86.5 %"])[0][1][0], ["", "right"])

    def test_what_stays_as_it_stands(self):
        """Tables with more columns, with what stands above them and rows that lack a figure; letters below letters; drawings."""
        self.assertEqual(self.kinds("    d   mean   variance", "   16      1          2"), ["columns"])
        self.assertEqual(self.kinds(" " * 30 + "bytes", "  heads   16   512   512", "  chance        512"), ["columns"])
        self.assertEqual(self.kinds("  read     h e j g j f", "  wanted   d i i a g b"), ["columns"])
        self.assertEqual(self.kinds("  ├─ a  1", "  └─ b  2"), ["columns"])

    def test_what_is_beside_a_table(self):
        self.assertEqual(self.kinds("  Per query:", "   d   dot   sum", "  16   0.2   2.8", "  It grows."), ["said", "columns", "said"])
        html = printed.html("  One.\n\n  Two, which is long.\n\n  a   b   c\n\n  d   e   f", str)
        self.assertEqual((html.count("<pre"), html.count('class="l')), (2, 3))


class Runs(unittest.TestCase):
    SVG = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9"><title>A chart</title>'
           '<rect width="9" height="9" fill="#ffffff"/><circle cx="1.02" cy="2" r="4" fill="#0072b2"/></svg>')

    def test_drawings_go(self):
        text = "0\n1. One\n  before\n\n  A chart\n  ●\n   x\n  picture: out/a.svg\n  after\n"
        self.assertEqual(runs.without_drawings(text, {"a": "A chart"}), "0\n1. One\n  before\n\n  picture: a.svg\n  after\n")

    def test_pieces(self):
        _, sections = runs.pieces("t\n\n1. One\n\n  ? Why?\n    a  so\n    b  not so\n\n  loss    0.5 (target ≤ 1)  ok\n"
                                  "\n  ? it: b, not so. Because.\n")
        question, target, answer = sections[0][1]
        self.assertEqual((question.right, question.why, target.name, target.verdict), ("b", "Because.", "loss", "ok"))

    def test_figures(self):
        """A figure of the report is one; a row of a table is not."""
        short, long_ = f"  {'the share':44}  9.5 %", "  a name that is longer than its forty-four columns  0.25"
        self.assertEqual(runs.FIGURE.match(short).groups(), ("the share", "9.5 %"))
        self.assertEqual(runs.FIGURE.match(long_).groups(), ("a name that is longer than its forty-four columns", "0.25"))
        for row in ("  always no: the base rate                         64.53 %", f"  {'one      1.5':44}  9.5 %"):
            self.assertIsNone(runs.FIGURE.match(row), row)

    def test_losses(self):
        text = "  1/20   5 %  loss 2.5  3 x/s\n 20/20 100 %  loss 0.5\n  1/20   5 %  loss 1.5\n 20/20 100 %  loss 0.25\n"
        self.assertEqual(runs.losses(text), [[20, 2.5, 0.5], [20, 1.5, 0.25]])

    def test_small_pictures(self):
        small = svg.small(svg.read(self.SVG))
        self.assertIn('d="M1 2h0" stroke="#0072b2" stroke-width="8"', small)

    def test_colours_come_back(self):
        for shares, stops in ((svg.HEAT_SHARES, svg.HEAT), (svg.SIGNED_SHARES, svg.SIGNED)):
            for i in range(101):
                self.assertAlmostEqual(svg.share_of(svg.mixed(stops, i / 100), shares), i / 100, delta=0.004)


class Picked(unittest.TestCase):
    def test_functions_of_the_gallery(self):
        """A function whole, with the comment that stands right above it."""
        text = ('// ---- A part ----\n\n// Words.\n//     j ≤ i\nMechanism a(Size n) {\n  return {.name = "A", .x = [] {\n  }};\n}\n'
                '\nMechanism b() { return {.name = "B"}; }\nint c() {\n}\n')
        found = gallery.functions(text)
        self.assertEqual(list(found), ["A", "B"])
        self.assertEqual(found["A"][0], [" Words.", "     j ≤ i"])
        self.assertTrue(found["A"][1].startswith("Mechanism a") and found["A"][1].endswith("}};\n}"))
        self.assertEqual(found["B"], ([], 'Mechanism b() { return {.name = "B"}; }'))

    def test_a_number_that_a_slider_turns(self):
        knob = lambda usual, least, most, step=1.0: {"usual": usual, "least": least, "most": most, "step": step}
        self.assertEqual(gallery.following("the last six", [knob(6.0, 5.0, 7.0)]),
                         'the last <span class="turned" data-knob="0" data-words="five six seven">six</span>')
        self.assertIn('"single second third">third</span>', gallery.following("every third", [knob(3.0, 1.0, 3.0)]))
        self.assertEqual(gallery.following("the last six", [knob(6.0, 0.5, 7.0), knob(5.0, 1.0, 9.0)]), "the last six")

    def test_the_gallerys_source(self):
        """Every mechanism of the list is found in the source, with a formula above it."""
        found = {}
        for file in gallery.FILES:
            found |= gallery.functions((ROOT / "lessons" / gallery.LESSON / file).read_text())
        for entry in runs.Run(ROOT / "lessons/website/runs" / gallery.LESSON).data("gallery")["entries"]:
            self.assertIn(entry["name"], found)
            self.assertTrue(any(row.startswith("     ") for row in found[entry["name"]][0]), entry["name"])

    def test_which_map(self):
        choices = [{"of": ["10", "20", "30"], "grows": True}, {"of": ["lower", "upper"], "grows": False}]
        self.assertEqual(series.last(choices), [2, 0])
        self.assertEqual([series.index(choices, [a, b]) for a in range(3) for b in range(2)], list(range(6)))

    def test_what_to_see_in_counts(self):
        """What the pictures of lessons 10, 12 and 19 say of their runs."""
        kept = lambda slug: runs.Run(ROOT / "lessons/website/runs" / slug)
        found = counted.lengths(kept("10_bottleneck"))
        strings, letters = ([[y for _, y in dots] for _, dots in found[key]] for key in ("strings", "letters"))
        for narrow, wide in zip(strings, strings[1:]):
            self.assertTrue(all(a <= b for a, b in zip(narrow, wide)))
            gained = sum(y >= 50 for y in wide) - sum(y >= 50 for y in narrow)
            self.assertTrue(2 <= gained <= 5, gained)
        self.assertTrue(all(forced >= free >= whole for forced, free, whole in zip(*letters, strings[1])))
        for name, file, dots in counted.score_maps(kept("12_luong"))["scores"]:
            drawn = kept("12_luong").picture(file)
            letters = [drawn["columns"].index(label[0]) for label in drawn["rows"]]
            pairs = [sum(row[at:at + 2]) for at, row in zip(letters, drawn["values"])]
            if name in ("location", "fully connected"):
                most = [row.index(max(row)) for row in drawn["values"]]
                self.assertGreaterEqual(max(map(most.count, most)), len(most) - 1, name)
                self.assertTrue(all(a[1] > b[1] for a, b in zip(dots, dots[1:])), name)
            else:
                self.assertGreater(min(pairs), 0.5, name)
        ledger = counted.parts(kept("19_block"))
        follow = lambda blocks: [recipe[0] for recipe in ledger["recipes"] if min(recipe[blocks][1:3]) > 90]
        self.assertEqual(len(ledger["recipes"]) - len(follow(1)), 1)
        self.assertEqual(follow(2), ["+ norm", "+ feed-forward (whole)"])
        self.assertLess(ledger["gradients"]["no residual"][-1], 1e-9)
        self.assertGreater(min(ledger["gradients"]["no norm"]), 50)

    def test_every_lesson_of_a_list_is_linked(self):
        prose = Prose({}, lambda *_: None, lambda number: f"{number}.html")
        html = prose.inline("As in lessons 11, 12 and 13, and in lesson 05.", None)
        self.assertEqual(re.findall(r'href="(\d\d)\.html"', html), ["11", "12", "13", "05"])

    def test_lines_that_are_gone_are_told(self):
        """A run that no longer prints something: a line, a section, a target."""
        def run(output):
            folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
            runs.keep(folder / "run", output, "", [], [], 1)
            return runs.Run(folder / "run")
        whole = "t\n\n1. One\n\n  the first 3 of 4\n  the second\n\n2. Two\n\n  more\n"
        kept = run(whole)
        self.assertEqual(record.texts(kept, run(whole.replace("3 of 4", "7 of 8"))), [])
        self.assertEqual(record.texts(kept, run(whole.replace("  the second\n", ""))), ["no longer printed: the second"])
        gone = record.skeleton(kept, run(whole.split("\n2. Two")[0] + "\n"), False)
        self.assertEqual(gone, ['recorded, but missing now: section "Two"'])

    def test_data_are_compared(self):
        """Other words, another shape, or numbers that are far from those kept."""
        def run(value):
            folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
            runs.keep(folder / "run", "t\n\n1. One\n\n  maps: /x/maps.json\n", "", [], [self.file(folder, value)], 1)
            return runs.Run(folder / "run")
        kept = run({"name": "a", "of": [100, 0, 0, 0]})
        self.assertEqual([piece.name for piece in kept.sections[0][1]], ["maps"])
        self.assertEqual(record.data(kept, run({"name": "a", "of": [90, 9, 0, 0]})), [])
        for other in ({"name": "b", "of": [100, 0, 0, 0]}, {"name": "a", "of": [100, 0, 0]}, {"name": "a", "of": [0, 100, 0, 0]}):
            self.assertEqual(len(record.data(kept, run(other))), 1, other)
        fine = run({"coarse": [100, 100], "fine": [1, 0, 1, 0]})
        self.assertEqual(len(record.data(fine, run({"coarse": [100, 100], "fine": [0, 1, 1, 0]}))), 1, "each list has its own scale")

    @staticmethod
    def file(folder, value):
        path = folder / "maps.json"
        path.write_text(json.dumps(value))
        return path


class Searched(unittest.TestCase):
    def test_words(self):
        """What the search shows: no Markdown, and scripts in braces that hold no space."""
        for text, expected in (("c_t = GRU([e_t; c_t], s_{t − 1})", "c_{t} = GRU([e_{t}; c_{t}], s_{t\u00a0−\u00a01})"),
                               ("e^{s_j}, `at_end()`, |q| and a * b", "e^{s_{j}}, at_end(), |q| and a * b"),
                               ("*new words*, **stress**, [a page](a.md#b)", "new words, stress, a page"),
                               ("| term | here |\n|---|---|\n| `dy` | x |", "term · here dy · x"), ("- one\n- two", "one two")):
            self.assertEqual(searched.words(text), expected)


class Pages(unittest.TestCase):
    def test_faults_are_seen(self):
        page = check.Page('<p id="a"><b id="a"></p><i style="x"></i>')
        self.assertEqual(len(page.faults), 3, page.faults)


class LiveLessons(unittest.TestCase):
    def of(self, number):
        return next((ROOT / "lessons").glob(f"{number}_*/lesson.cpp")).read_text()

    def test_options(self):
        """The options that a page offers are those that the lesson adds to its command line."""
        told = {number: [(k.name, k.start, k.least, k.most, k.choices, k.whole) for k in live.knobs(self.of(number))]
                for number in ("05", "21", "27", "30", "31")}
        self.assertEqual(told["05"], [])
        self.assertEqual(told["21"], [("task", "repeat", "", "", ("repeat", "bigram", "pairs", "gcd"), False)])
        self.assertEqual(told["27"], [("temperature", "1", "0.01", "100", (), False), ("added", "30", "0.1", "10000", (), False)])
        self.assertEqual(told["30"], [("rows", "16", "1", "512", (), True)])
        says = {number: [k.says for k in live.knobs(self.of(number))] for number in ("28", "32")}
        self.assertEqual(says, {"28": ["standard deviation of the initial queries and keys"], "32": ["units of each layer"]})
        self.assertEqual(told["31"], [("hidden", "32", "1", "1024", (), True), ("start", "habit", "", "", ("habit", "undecided"), False)])

    def test_steps(self):
        self.assertEqual([live.steps(self.of(number)) for number in ("03", "05", "02", "25")], [4000, 300, 0, 0])

    def test_listed(self):
        for slug in live.listed(ROOT):
            self.assertTrue((ROOT / "lessons" / slug / "lesson.cpp").exists(), slug)

    def test_modules(self):
        """No module, half a module, or one that is older than its lesson: then the page has no button."""
        with tempfile.TemporaryDirectory() as folder:
            modules, lesson = Path(folder), ROOT / "lessons/05_pooling"
            have = lambda: live.Live(ROOT, modules).of(lesson)
            self.assertIsNone(have())
            (modules / "05_pooling").mkdir()
            (modules / "05_pooling/lesson.js").write_text("")
            self.assertIsNone(have())
            (modules / "05_pooling/lesson.wasm").write_bytes(b"0" * 900_000)
            self.assertEqual((have().steps, have().size()), (300, "0.9 MB"))
            shutil.copytree(modules / "05_pooling", modules / "24_pretrained")
            self.assertIsNone(live.Live(ROOT, modules).of(ROOT / "lessons/24_pretrained"))
            os.utime(modules / "05_pooling/lesson.wasm", (0, 0))
            book = live.Live(ROOT, modules)
            self.assertIsNone(book.of(lesson))
            self.assertIn("the programs of 05 are older", book.summary(33))

    def test_trained_models(self):
        """Weights without what only training needs; no model without a module, or without weights."""
        header, data = trained.split(trained.without_optimiser(stand_ins.weights()))
        self.assertEqual(header["__metadata__"]["value.step"], "7")
        self.assertEqual([(name, t["data_offsets"]) for name, t in header.items() if name != "__metadata__"], [("model/w", [0, 4])])
        self.assertEqual(data, b"\0\0\x80\x3f")
        for number, answers in trained.ANSWERS.items():
            folder = next(path for path in (ROOT / "lessons").iterdir() if path.name.startswith(number))
            program = "".join(path.read_text() for path in folder.glob("*.cpp"))
            self.assertIn(f"// ---- {answers.part}. ", program)
            self.assertIn(folder.name, live.listed(ROOT))
            with tempfile.TemporaryDirectory() as work:
                modules = Path(work)
                module = live.LiveLesson(folder.name, 1, 1, [], 900_000)
                self.assertIsNone(trained.of(folder, modules, module))
                (modules / folder.name).mkdir()
                (modules / folder.name / trained.NAME).write_bytes(stand_ins.weights())
                self.assertIsNone(trained.of(folder, modules, None))
                self.assertEqual(trained.of(folder, modules, module).words, list(stand_ins.WORDS))
        self.assertIsNone(trained.of(ROOT / "lessons/05_pooling", modules, module))

    def test_chat(self):
        """Options with the defaults of the command line; no chat without its program, or with one that is older than its sources."""
        with tempfile.TemporaryDirectory() as work:
            modules, lesson = Path(work), ROOT / "lessons/38_chat"
            have = lambda: chat.of(lesson, live.Live(ROOT, modules))
            self.assertEqual([(k.name, k.start, k.least, k.most, k.whole) for k in have().knobs],
                             [("temperature", "0.7", "0", "100", False), ("top-k", "40", "0", "1000000", True),
                              ("top-p", "0.95", "1e-6", "1", False), ("max", "512", "1", "1000000", True)])
            self.assertIsNone(chat.of(ROOT / "lessons/05_pooling", live.Live(ROOT, modules)))
            self.assertEqual(have().bytes, 0)
            stand_ins.make(ROOT, modules)
            self.assertGreater(have().bytes, (lesson / chat.TINY).stat().st_size)
            old = (lesson / "page/chat_page.cpp").stat().st_mtime - 1
            os.utime(modules / chat.SLUG / "chat.wasm", (old, old))
            self.assertEqual(have().bytes, 0)


if __name__ == "__main__":
    unittest.main()
