// 1.2 divide: two more operations for the tape
// derive, 15 minutes
//
// The lesson's tape can add, subtract and multiply. Teach it to divide, z = x / y, and to take a square root,
// z = √x: write a line with the value and, for each input, the local derivative ∂z/∂input, as mul does. x and
// y are the values of the lines a and b; y is not 0, and under a root x > 0.
#include "lessons/grader/answer.hpp"

struct NumberTape {
  struct Input {
    std::size_t line;
    double local;  // ∂value/∂input
  };
  struct Line {
    double value;
    std::vector<Input> inputs;
  };
  std::vector<Line> lines;

  std::size_t write(double value, std::vector<Input> inputs) {
    lines.push_back({value, std::move(inputs)});
    return lines.size() - 1;
  }
  std::size_t mul(std::size_t a, std::size_t b) {
    return write(lines[a].value * lines[b].value, {{a, lines[b].value}, {b, lines[a].value}});
  }

  std::size_t divide(std::size_t a, std::size_t b) {
    //[ a line for x / y
    //: return not_written_yet();
    const double x = lines[a].value, y = lines[b].value;
    return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});  // x · y⁻¹: the power rule gives −y⁻²
    //]
  }

  std::size_t root(std::size_t a) {
    //[ a line for √x
    //: return not_written_yet();
    const double z = std::sqrt(lines[a].value);
    return write(z, {{a, 0.5 / z}});  // z · z = x, so 2z ∂z/∂x = 1
    //]
  }
};

// hint: x / y is x · y⁻¹. If y were a constant, what would ∂z/∂x be? And if x were, ∂z/∂y?
// hint: The power rule: ∂(yⁿ)/∂y = n yⁿ⁻¹, with n = −1 for a division and n = ½ for a root. ∂z/∂y = −x /
//   ____.
// hint: return write(value, {{a, …}, {b, …}}); as in mul. In a check by hand: 6 / 2 = 3, and 6 / 2.01 is
//   about 2.985, which is 1.5 times 0.01 less.
//
// wrong: The sign of ∂z/∂y: a larger y makes x / y smaller, for positive x and y.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, x / (y * y)}});
// wrong: ∂z/∂y is −x / y² and not −x / y. Compare 6 / 2 with 6 / 2.01.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, -x / y}});
// wrong: That is ∂(1/y)/∂y. Here x stands above it: double x, and z moves twice as much.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, -1 / (y * y)}});
// wrong: The other factor is what a *product* hands back. For x / y the factor of x is not y.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, y}, {b, x}});
// wrong: The two local derivatives stand at each other's input: y is the value of line b.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{b, 1 / y}, {a, -x / (y * y)}});
// wrong: The derivative of a root is 1 / (2√x). You multiply by the root where it divides: at x = 100 a
//   root grows by 0.05 for each 1, and not by 5.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 0.5 * z}});
// wrong: The ½ is missing: 10² = 100 and 10.1² is 102.01, so the root grows by 0.1 for each 2.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 1 / z}});
// wrong: C++ divides whole numbers without the fraction, so 1 / 2 is 0: write 0.5.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 1 / 2 / z}});
// wrong: You divide by 2x, and it should be twice the *root* of x.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 0.5 / lines[a].value}});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// All that `line` hands back to the input on line `of`.
double local(const NumberTape& tape, std::size_t line, std::size_t of) {
  double sum = 0;
  for (const NumberTape::Input& input : tape.lines.at(line).inputs)
    if (input.line == of) sum += input.local;
  return sum;
}

/// A number to one decimal, away from 0, of either sign.
double number(Judge& judge) {
  return 0.1 * static_cast<double>(judge.random().between(5, 60)) * (judge.random().chance(0.5) ? 1 : -1);
}

std::string named(const char* format, double x) {
  std::string text = std::to_string(x);
  return format + text.substr(0, text.find('.') + 2);
}

void division(Judge& judge, double x, double y) {
  constexpr double kStep = 1e-5;
  NumberTape tape;
  const std::size_t unused = tape.write(17, {}), b = tape.write(y, {}), a = tape.write(x, {});
  const std::size_t z = tape.divide(a, b);
  judge.example(named("x = ", x) + named(" and y = ", y) + "; expected derivatives are those of small steps");
  judge.that(z == 3 && tape.lines.size() == 4,
             "divide writes one line and returns its number; the tape has " +
                 std::to_string(tape.lines.size() - 3) + " new ones");
  judge.same(tape.lines[z].value, x / y, "the value of x / y");
  judge.same(
      {local(tape, z, a), local(tape, z, b)},
      {((x + kStep) / y - (x - kStep) / y) / (2 * kStep), (x / (y + kStep) - x / (y - kStep)) / (2 * kStep)},
      "∂(x / y)/∂x and ∂(x / y)/∂y", 1e-6);
  judge.same(local(tape, z, unused), 0.0, "what a line gets that is no input");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("divides 6 by 2, and says how 3 moves with both", [&] { division(judge, 6, 2); });
  judge.claim("divides any numbers", [&] {
    for (int i = 0; i < 10; ++i) division(judge, number(judge), number(judge));
  });
  judge.claim("takes roots, and says how they move", [&] {
    for (int i = 0; i < 10; ++i) {
      const double x = i == 0 ? 9 : std::abs(number(judge)), kStep = 1e-5;
      NumberTape tape;
      tape.write(17, {});
      const std::size_t a = tape.write(x, {}), z = tape.root(a);
      judge.example(named("x = ", x) + "; the expected derivative is that of small steps");
      judge.that(z == 2 && tape.lines.size() == 3, "root writes one line and returns its number");
      judge.same(tape.lines[z].value, std::sqrt(x), "√x");
      judge.same(local(tape, z, a), (std::sqrt(x + kStep) - std::sqrt(x - kStep)) / (2 * kStep), "∂√x/∂x",
                 1e-6);
    }
  });
  judge.claim("divides a line by itself, which nothing can move", [&] {
    NumberTape tape;
    const double x = number(judge);
    const std::size_t a = tape.write(x, {}), z = tape.divide(a, a);
    judge.example(named("x / x with x = ", x));
    judge.same(local(tape, z, a), 0.0, "∂(x / x)/∂x, both parts together");
  });
}
