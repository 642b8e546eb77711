// 1.1 backward: Derivatives of any line of a tape
// implement, 10 minutes
//
// As in the lesson, each line of a tape of numbers has a value and a list of inputs. Each input has the number of an
// earlier line, and a local derivative ∂value/∂input.
//
// The lesson computed the derivatives of the last line. Here you choose the line: write a function that returns
// ∂(line `of`)/∂(line i) for every line i of the tape. The result is 0 for each line that line `of` does not
// depend on. Visit each line at most once.
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
  gradient[of] = 1.0;                     // the derivative of the line with respect to itself
  for (std::size_t i = of + 1; i-- > 0;)  // lines after `of` cannot change it
    for (const Line::Input& input : lines[i].inputs)
      gradient[input.line] += gradient[i] * input.local;  // added: a line may be used many times
  return gradient;
  //]
}

// hint: Which one of the derivatives do you know without any computation? Which lines cannot change line `of`?
// hint: Go from line `of` down to line 0. When you reach a line, its gradient is complete. Add gradient[i] · ____ to
//   the gradient of each input. What if that input already has a part from another line?
// hint: for (std::size_t i = of + 1; i-- > 0;) counts down and ends after line 0. In the loop body, for each input:
//   gradient[input.line] += …
//
// wrong: A line that is used twice keeps only one part of its gradient. For error · error, the gradient of error and
//   of every line before it is exactly half of the right one. How must the two parts be combined?
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] = gradient[i] * input.local;
// wrong: You go through the tape from the front. When you reach a line, the lines that use it have not been visited
//   yet, so its gradient is still 0. Print gradient[i] in the loop to see it.
// - for (std::size_t i = of + 1; i-- > 0;)
// + for (std::size_t i = 0; i <= of; ++i)
// wrong: You add up the local derivatives alone. The chain rule multiplies two numbers: how fast `of` changes with
//   line i, and how fast line i changes with its input.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += input.local;
// wrong: The local derivative is missing. You pass the gradient on unchanged, as if every line were a sum.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += gradient[i];
// wrong: You start with 1 at the last line. The derivative that is 1 belongs to line `of`. Try a line in the middle
//   of the tape.
// - gradient[of] = 1.0;
// - for (std::size_t i = of + 1; i-- > 0;)
// + gradient.back() = 1.0;
// + for (std::size_t i = lines.size(); i-- > 0;)
// wrong: You multiply by the value of the input. The factor is in `local`: for x · y it is the value of the *other*
//   input, and for a sum it is 1.
// - gradient[input.line] += gradient[i] * input.local;
// + gradient[input.line] += gradient[i] * lines[input.line].value;
// wrong: You start with the value of line `of`. Gradients are derivatives, and the derivative of a line with respect
//   to itself is 1, whatever its value is.
// - gradient[of] = 1.0;
// + gradient[of] = lines[of].value;
// wrong: Your loop starts one line below `of`, so line `of` passes nothing on. It must be the first line that adds
//   to the gradients of its inputs.
// - for (std::size_t i = of + 1; i-- > 0;)
// + for (std::size_t i = of; i-- > 0;)

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes from the front, for a single line `by`, how fast each later line changes when line `by` changes.
double derivative(const std::vector<Line>& lines, std::size_t of, std::size_t by) {
  std::vector<double> moves(lines.size(), 0.0);
  moves[by] = 1;
  for (std::size_t i = by + 1; i < lines.size(); ++i)
    for (const Line::Input& input : lines[i].inputs) moves[i] += input.local * moves[input.line];
  return moves[of];
}

/// Returns a tape of random sums and products. Sometimes both inputs are the same line.
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
  judge.claim("computes the lesson's gradients of (w·x + b − y)²", [&] {
    const std::vector<Line> lines = {{2, {}},
                                     {3, {}},
                                     {1, {}},
                                     {5, {}},
                                     {6, {{0, 3}, {1, 2}}},
                                     {7, {{4, 1}, {2, 1}}},
                                     {2, {{5, 1}, {3, -1}}},
                                     {4, {{6, 2}, {6, 2}}}};
    judge.example(
        "lines 0 to 3 are w = 2, x = 3, b = 1, y = 5; lines 4 to 7 are w·x, + b, − y and error · error");
    judge.same(derivatives_of(7, lines), {12, 8, 4, -4, 4, 4, 4, 1}, "the derivatives of line 7");
    judge.same(derivatives_of(5, lines), {3, 2, 1, 0, 1, 1, 0, 0}, "the derivatives of line 5, w·x + b");
    judge.same(derivatives_of(0, lines), {1, 0, 0, 0, 0, 0, 0, 0}, "the derivatives of line 0, the leaf w");
  });
  judge.claim("computes the gradients of random sums and products", [&] {
    judge.each_size({{"numbers", 1, 4}, {"results", 1, 9}}, [&](const Sizes& n) {
      const std::vector<Line> lines = random_tape(judge, n[0], n[1]);
      const auto of = static_cast<std::size_t>(judge.random().below(std::ssize(lines)));
      std::vector<double> expected;
      for (std::size_t by = 0; by < lines.size(); ++by) expected.push_back(derivative(lines, of, by));
      judge.same(derivatives_of(of, lines), expected, "the derivatives of line " + std::to_string(of));
    });
  });
  judge.claim("visits each line at most once, however many paths there are", [&] {
    std::vector<Line> lines = {{1, {}}};
    for (std::size_t i = 0; i < 60; ++i) lines.push_back({2 * lines[i].value, {{i, 1}, {i, 1}}});
    judge.example("sixty times x + x: the last line is 2⁶⁰ x, and 2⁶⁰ paths lead back to x");
    judge.same(derivatives_of(60, lines).at(0), 0x1p60, "the derivative with respect to x");
  });
}
