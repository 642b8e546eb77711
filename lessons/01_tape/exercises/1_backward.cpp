// 1.1 backward: read the tape from the back
// implement, 10 minutes
//
// A tape of numbers, as in the lesson: each line has a value and, for each of its inputs, the line it stands
// on (always an earlier one) and the local derivative ∂value/∂input. Write ∂(line `of`)/∂(line i) for every
// line i of the tape; the lesson asked for the last line, here it may be any. A line that the asked one does
// not depend on gets 0, and each line may be read only once.
#include "lessons/grader/answer.hpp"

struct Line {
  double value;
  struct Input {
    std::size_t line;
    double local;  // ∂value/∂input
  };
  std::vector<Input> inputs;
};

std::vector<double> derivatives_of(std::size_t of, const std::vector<Line>& lines) {
  //[ about five lines
  //: return not_written_yet();
  std::vector<double> gradient(lines.size(), 0.0);
  gradient[of] = 1.0;                     // of itself
  for (std::size_t i = of + 1; i-- > 0;)  // what comes after `of` cannot change it
    for (const Line::Input& input : lines[i].inputs)
      gradient[input.line] += gradient[i] * input.local;  // added: a line may be read many times
  return gradient;
  //]
}

// hint: Which one derivative do you know without any work? And from which line on is there nothing to hand
//   back?
// hint: Go from line `of` down to line 0. A line that is reached has its whole gradient, and gives each
//   input gradient[i] · ____. What if that input has been given a part before?
// hint: for (std::size_t i = of + 1; i-- > 0;) goes down and ends after line 0. Inside, for each input:
//   gradient[input.line] += …
//
// wrong: Lines that are read twice keep one part only: with error · error that is exactly half of
//   everything before it. Each use hands back a derivative of its own. What has to be done with two of them?
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] = gradient[i] * input.local;
// wrong: You walk from the front. When you come to a line, what uses it has not been read yet, so it has
//   nothing to hand on: print gradient[i] as you come to each line.
// - for (std::size_t i = of + 1; i-- > 0;)
// + for (std::size_t i = 0; i <= of; ++i)
// wrong: You add up the local derivatives alone. The chain rule multiplies: how much `of` moves with line
//   i, times how much line i moves with its input.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += input.local;
// wrong: The local derivative is left out: what arrives at a line is handed on as it is, as if all lines were sums.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += gradient[i];
// wrong: You start with 1 at the last line. The derivative that is 1 is that of the line that was asked
//   for; try a line in the middle.
// - gradient[of] = 1.0;
// - for (std::size_t i = of + 1; i-- > 0;)
// + gradient.back() = 1.0;
// + for (std::size_t i = lines.size(); i-- > 0;)
// wrong: You multiply by the input's value. What an input hands on is in `local`; for x · y that is the
//   value of the *other* one, and for a sum it is 1.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += gradient[i] * lines[input.line].value;
// wrong: You start with the value of the line. It is a derivative that is handed back, and that of a line
//   with respect to itself is 1, however large its value.
// - gradient[of] = 1.0;
// + gradient[of] = lines[of].value;
// wrong: You begin below the line that was asked for, so it hands nothing back. It is the first whose
//   inputs get something.
// - for (std::size_t i = of + 1; i-- > 0;)
// + for (std::size_t i = of; i-- > 0;)

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// From the front, for one line at a time: how each later line moves when line `by` moves.
double derivative(const std::vector<Line>& lines, std::size_t of, std::size_t by) {
  std::vector<double> moves(lines.size(), 0.0);
  moves[by] = 1;
  for (std::size_t i = by + 1; i < lines.size(); ++i)
    for (const Line::Input& input : lines[i].inputs) moves[i] += input.local * moves[input.line];
  return moves[of];
}

/// Sums and products of lines drawn at random, one of them twice now and then.
std::vector<Line> random_tape(Judge& judge, Size numbers, Size results) {
  std::vector<Line> lines;
  const auto any = [&] { return static_cast<std::size_t>(judge.random().below(std::ssize(lines))); };
  for (Size i = 0; i < numbers; ++i)
    lines.push_back({0.25 * static_cast<double>(judge.random().between(2, 6)), {}});
  for (Size i = 0; i < results; ++i) {
    const std::size_t a = any(), b = any();
    const double x = lines[a].value, y = lines[b].value;
    if (judge.random().chance(0.5))
      lines.push_back({x + y, {{a, 1}, {b, 1}}});
    else
      lines.push_back({x * y, {{a, y}, {b, x}}});
  }
  return lines;
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives the lesson's gradients of (w·x + b − y)²", [&] {
    const std::vector<Line> lines = {{2, {}},
                                     {3, {}},
                                     {1, {}},
                                     {5, {}},
                                     {6, {{0, 3}, {1, 2}}},
                                     {7, {{4, 1}, {2, 1}}},
                                     {2, {{5, 1}, {3, -1}}},
                                     {4, {{6, 2}, {6, 2}}}};
    judge.example(
        "w = 2, x = 3, b = 1, y = 5 are lines 0 to 3; then w·x, + b, − y, and error · error, line 7");
    judge.same(derivatives_of(7, lines), {12, 8, 4, -4, 4, 4, 4, 1}, "the derivatives of line 7");
    judge.same(derivatives_of(5, lines), {3, 2, 1, 0, 1, 1, 0, 0}, "the derivatives of line 5, w·x + b");
    judge.same(derivatives_of(0, lines), {1, 0, 0, 0, 0, 0, 0, 0}, "the derivatives of line 0, a number");
  });
  judge.claim("does so for any sums and products", [&] {
    judge.each_size({{"numbers", 1, 4}, {"results", 1, 9}}, [&](const Sizes& n) {
      const std::vector<Line> lines = random_tape(judge, n[0], n[1]);
      const auto of = static_cast<std::size_t>(judge.random().below(std::ssize(lines)));
      std::vector<double> expected;
      for (std::size_t by = 0; by < lines.size(); ++by) expected.push_back(derivative(lines, of, by));
      judge.same(derivatives_of(of, lines), expected, "the derivatives of line " + std::to_string(of));
    });
  });
  judge.claim("reads each line once, however many paths there are", [&] {
    std::vector<Line> lines = {{1, {}}};
    for (std::size_t i = 0; i < 60; ++i) lines.push_back({2 * lines[i].value, {{i, 1}, {i, 1}}});
    judge.example("sixty times x + x: the last line is 2⁶⁰ x, and 2⁶⁰ paths lead back to x");
    judge.same(derivatives_of(60, lines).at(0), 0x1p60, "the derivative with respect to x");
  });
}
