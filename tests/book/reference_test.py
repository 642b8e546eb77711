"""The reference: what is found in headers, what needs a comment, and what of it is shown."""
import functools
import re
import tempfile
import unittest
from html import unescape
from pathlib import Path

from website import declarations, doxygen, entries, missing, reference
from website.signature import joined, parameters

ROOT = Path(__file__).resolve().parents[2]
HEADER = """// What it is for.
#pragma once
namespace tapestry {
namespace detail {
int hidden();
}
int bare(int x);
/// Has one.
int said(int x);
int said(double x);

int said(char x);
/// The larger of two; least: the smaller.
int most(int a, int b);
int least(int a, int b);
int other(int a, int b);
/// a + b and a - b.
int operator+(Tensor a, Tensor b);
int operator-(Tensor a, Tensor b);
int operator*(Tensor a, Tensor b);
struct RunOptions {
  int steps = 1;  // how many
  double rate = 0.5;
};
/// A layer.
class Layer : public Module {
 public:
  explicit Layer(int width) : width_(width) { run({1, 2}); }
  Layer(const Layer&) = delete;
  int run(std::initializer_list<int> x = {1, 2}) const override;
  template <class F>
  requires std::invocable<F> int call(F f, int at = 0) { return f(at); }
  int size() const { return 1; }
  Layer* inner;
  int count;

 private:
  int width_;
};
}  // namespace tapestry
"""


@functools.cache
def whole():
    return reference.Reference(ROOT)


def found_in(text):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for library in doxygen.LIBRARIES:
            (root / library).mkdir()
        (root / "nn/made.hpp").write_text(text)
        return reference.Reference(root)


@unittest.skipUnless(doxygen.there(), "there is no Doxygen")
class Comments(unittest.TestCase):
    def test_every_public_declaration_has_its_comment(self):
        self.assertEqual(whole().missing(), [])

    def test_what_lacks_one(self):
        lines = HEADER.split("\n")
        lacking = [(place.split(": ")[1], lines[int(place.split(":")[1]) - 1].strip()) for place in found_in(HEADER).missing()]
        self.assertEqual(lacking, [
            ("bare", "int bare(int x);"),
            ("said", "int said(char x);"),  # a blank line ends what a comment is for
            ("other", "int other(int a, int b);"),  # the comment does not name it
            ("operator*", "int operator*(Tensor a, Tensor b);"),
            ("RunOptions::rate", "double rate = 0.5;"),
            ("Layer::call", "template <class F>"),
            ("Layer::count", "int count;"),
        ])

    def test_a_header_says_what_it_is_for(self):
        self.assertIn("nn/made.hpp:1: what the header is for", found_in(HEADER.split("\n", 1)[1]).missing())

    def test_what_is_shown(self):
        made = found_in(HEADER).headers[0]
        texts = [one.text for one in made.declarations]
        for text in ("explicit Layer(int width);", "class Layer : public Module", "double rate = 0.5;",
                     "template <class F>\nrequires std::invocable<F>\nint call(F f, int at = 0);",
                     "int run(std::initializer_list<int> x = {1, 2}) const override;"):
            self.assertIn(text, texts)
        for name in ("hidden", "width_", "delete"):
            self.assertNotIn(name, " ".join(texts))
        together = [entry.names for entry in made.entries]
        self.assertIn(["most", "least"], together)
        self.assertEqual(together.count(["said"]), 1)


@unittest.skipUnless(doxygen.there(), "there is no Doxygen")
class Declarations(unittest.TestCase):
    def test_each_is_its_own_text(self):
        for header in whole().headers:
            for one in header.declarations:
                for name in one.names:
                    self.assertIn(re.sub(r"\W", "", name), re.sub(r"\W", "", one.text), f"{one.file}:{one.start}")
                self.assertLess(one.text.count("\n"), 24, f"{one.file}:{one.start}")
                self.assertEqual([one.text.count(c) for c in "([{"], [one.text.count(c) for c in ")]}"], one.text)

    def test_places_are_apart(self):
        for room, _, headers in whole().rooms():
            places = [reference.anchor(entry.scope, name) for header in headers for entry in reference.every(header.entries)
                      for name in entry.names]
            twice = {place for place in places if places.count(place) > 1}
            self.assertEqual(twice, set(), room)


class Signatures(unittest.TestCase):
    def test_parameters(self):
        boxed = re.compile(r'<span class="whole">(.*?)</span>')
        for text, boxes in (
            ("Tensor f(const std::map<int, int>& a, int b = g(1, 2)) const;", ["const std::map<int, int>& a,", "int b = g(1, 2)) const;"]),
            ("Tensor operator()(int a, std::array<int, 2> b = {1, 2});", ["int a,", "std::array<int, 2> b = {1, 2});"]),
            ("Size count() const;", []),
        ):
            escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            html = parameters(escaped)
            self.assertEqual([unescape(box) for box in boxed.findall(html)], boxes)
            self.assertEqual(re.sub(r"<[^>]+>", "", html), escaped)

    def test_joined(self):
        self.assertEqual(joined("template <class F>\nint f(\n    int a,\n      int b);"), "template <class F>\nint f(int a, int b);")

    def test_names_in_a_comment(self):
        self.assertTrue(entries.is_named("least", "The larger of two; least: the smaller."))
        self.assertFalse(entries.is_named("least", "At leastwise."))
        self.assertTrue(entries.is_named("operator!", "a & b, and !a"))
        self.assertFalse(entries.is_named("operator|", "a & b"))

    def test_layers(self):
        one = lambda text: declarations.Declaration("type", text.split()[1], "", "", 1, text, [], "", 1, 1, [text.split()[1]])
        self.assertEqual(missing.layers([one("class B : public A"), one("class A : public Module"), one("class C : public D")]),
                         {"Module", "A", "B"})


if __name__ == "__main__":
    unittest.main()
