"""What the book says of a series of maps, in website/series.py, is true of the recorded ones."""
import unittest
from pathlib import Path

from website import runs, series

ROOT = Path(__file__).resolve().parents[2]


class Maps:
    """A recorded series: each of its maps by the options of its choices, in words."""

    def __init__(self, lesson, name):
        self.data = runs.Run(ROOT / "lessons/website/runs" / lesson).data(name)
        self.axes = series.axes(self.data)
        self.columns = self.data["columns"]
        self.of = {choice["name"]: choice["of"] for choice in self.data["choices"]}
        self.steps = self.of["step"]

    def rows(self, **options):
        """Rows of weights, in hundredths."""
        picked = [choice["of"].index(options[choice["name"]]) for choice in self.data["choices"]]
        return [[round(100 * value) for value in row] for row in series.heatmap(self.data, picked)["values"]]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class WhatToSee(unittest.TestCase):
    def test_each_is_told(self):
        kept = {path.stem for path in (ROOT / "lessons/website/runs").glob("*/data/*.json") if '"maps":[[' in path.read_text()}
        self.assertEqual(set(series.SEE), kept)

    def test_lesson_11(self):
        """The largest weight of a row is on the letter or beside it: of few at step 50, of most at 100, of all at the end."""
        maps = Maps("11_bahdanau", "alignment_over_training")
        def near(step, letters):
            rows = maps.rows(step=step, letters=letters)
            return mean(abs(row.index(max(row)) - (len(rows) - 1 - i)) <= 1 for i, row in enumerate(rows))
        for letters, (rows, columns) in zip(maps.of["letters"], maps.axes[1]):
            self.assertEqual(rows, columns[-2::-1])
            self.assertLess(max(near(step, letters) for step in ("0", "50")), 0.4)
            self.assertGreater(near("100", letters), 0.7)
            self.assertEqual(near(maps.steps[-1], letters), 1)
        own = [mean(row[-2 - i] for i, row in enumerate(maps.rows(step=maps.steps[-1], letters=letters))) for letters in maps.of["letters"]]
        self.assertEqual(own, sorted(own, reverse=True))

    def test_lesson_16_agreement(self):
        """The gap's row: with projections it finds the noun within 20 steps; without, it stays with itself for long."""
        maps = Maps("16_self_attention", "agreement_over_training")
        gap, noun = maps.columns.index("_"), maps.columns.index("girl")
        row = lambda step, projections: maps.rows(step=step, projections=projections)[gap]
        self.assertLess(row("0", "with")[noun], 10)
        self.assertGreater(row("20", "with")[noun], 90)
        self.assertGreater(min(row(step, "without")[gap] for step in ("0", "10", "20")), 90)
        self.assertEqual(max(row("200", "without")), row("200", "without")[gap])
        self.assertLess(row("200", "without")[gap], 70)

    def test_lesson_16_like(self):
        """Squares on the diagonal, b before a; the more often a kind occurs, the less for each, and the more in all."""
        maps = Maps("16_self_attention", "like_over_training")
        kinds = maps.columns
        def own(step):
            return {kind: mean(row[kinds.index(kind)] for row, name in zip(maps.rows(step=step), kinds) if name == kind)
                    for kind in kinds}
        times = {kind: kinds.count(kind) for kind in kinds}
        self.assertLess(mean(own("0").values()), 6)
        b_first = own("75")
        self.assertGreater(b_first["b"], 20)
        self.assertLess(b_first["a"], 5)
        each = {count: mean(v for kind, v in own(maps.steps[-1]).items() if times[kind] == count) for count in (1, 2, 3, 4)}
        self.assertEqual(sorted(each, key=each.get), [4, 3, 2, 1])
        self.assertEqual(sorted(each, key=lambda count: count * each[count]), [1, 2, 3, 4])

    def test_lesson_18(self):
        """Of question i the first key is i, the second i + 5: each of two heads has one, one head has the second, then both."""
        maps = Maps("18_multi_head", "two_questions_over_training")
        self.assertEqual([name.split(",")[0] for name in maps.data["rows"]], [name[0] for name in maps.columns])
        self.assertEqual([name[3] for name in maps.data["rows"]], [maps.columns[(i + 5) % 12][0] for i in range(12)])
        def shares(step, head):
            rows = maps.rows(step=step, head=head)
            return [mean(rows[i][(i + back) % 12] for i in range(12)) for back in (0, 5)]
        for step in maps.steps[maps.steps.index("100"):]:
            ends = sorted(shares(step, head) for head in ("1 of 2", "2 of 2"))
            self.assertTrue(ends[0][0] < 5 and ends[0][1] > 80 and ends[1][0] > 80 and ends[1][1] < 5, ends)
        early, late = shares("100", "the only one"), shares("1000", "the only one")
        self.assertTrue(early[0] < 5 and early[1] > 80, early)
        self.assertTrue(late[0] > early[0] + 10 and late[0] < late[1] < early[1] - 20, late)

    def test_lesson_20(self):
        """Shares on larger digits, on what is written, and on the digit that comes next."""
        maps = Maps("20_gpt", "sorting_over_training")
        digits = maps.columns.index("=")
        read, next_ = zip(*(row.split(" → ") for row in maps.data["rows"]))
        def share(step, layer, head, which):
            rows = maps.rows(step=step, layer=layer, head=head)
            return mean(sum(v for column, v in enumerate(row) if which(i, column)) for i, row in enumerate(rows))
        larger = lambda i, column: column < digits and (read[i] == "=" or maps.columns[column] > read[i])
        written = lambda i, column: column > digits
        comes = lambda i, column: column < digits and maps.columns[column] == next_[i]
        self.assertGreater(share(maps.steps[-1], "1", "3", larger), 60)
        self.assertLess(share("0", "1", "3", larger), 45)
        self.assertGreater(share(maps.steps[-1], "3", "3", written), 60)
        self.assertLess(max(share(maps.steps[-1], layer, head, comes) for layer in "123" for head in "1234"), 35)

    def test_lesson_21(self):
        """The upper heads' weight one place right of an earlier copy: none at first, then all, then one."""
        maps = Maps("21_induction", "heads_over_training")
        n, period = len(maps.columns), int(maps.data["title"].split()[-1])
        def stripes(step, head):
            rows = maps.rows(step=step, layer="upper", head=head)
            return mean(sum(rows[i][j] for j in range(i) if (i - j) % period == period - 1) for i in range(period + 1, n))
        shares = [[stripes(step, head) for head in maps.of["head"]] for step in maps.steps]
        self.assertLess(max(shares[0]), 30)
        self.assertTrue(any(min(step) > 30 for step in shares), shares)
        self.assertEqual([share > 50 for share in sorted(shares[-1])], [False, False, False, True])


if __name__ == "__main__":
    unittest.main()
