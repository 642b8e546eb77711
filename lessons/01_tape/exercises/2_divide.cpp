// 1.2 divide: Division and square roots for the tape
// derive, 15 minutes
//
// The lesson's tape can add, subtract and multiply. Add two operations: a division z = x / y, and a square root z = √x.
//
// Each function writes one line, as mul does. The line has the value z and, for each input, the local derivative
// ∂z/∂input. x is the value of line a, and y is the value of line b. In a division y is not 0. In a root x is positive.
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

// hint: x / y is x · y⁻¹. If y were a constant, what would ∂z/∂x be? If x were a constant, what would ∂z/∂y be?
// hint: The power rule is ∂(yⁿ)/∂y = n yⁿ⁻¹, with n = −1 for a division and n = ½ for a root. So ∂z/∂y = −x / ____.
// hint: Write return write(value, {{a, …}, {b, …}}); as in mul. Check your derivative with an example: 6 / 2 = 3,
//   and 6 / 2.01 is about 2.985. The result fell by 1.5 times 0.01.
//
// wrong: The sign of ∂z/∂y is wrong. For positive x and y, a larger y makes x / y smaller.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, x / (y * y)}});
// wrong: ∂z/∂y is −x / y², not −x / y. Compare 6 / 2 with 6 / 2.01.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, -x / y}});
// wrong: You return ∂(1/y)/∂y for ∂z/∂y. The numerator is x, not 1: if x doubles, z changes twice as fast with y.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, 1 / y}, {b, -1 / (y * y)}});
// wrong: You use the other input as the local derivative. That is right for a *product*. For x / y, ∂z/∂x is not y.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{a, y}, {b, x}});
// wrong: You exchanged the inputs of the two local derivatives. y is the value of line b, so ∂z/∂y belongs to b.
// - return write(x / y, {{a, 1 / y}, {b, -x / (y * y)}});
// + return write(x / y, {{b, 1 / y}, {a, -x / (y * y)}});
// wrong: The derivative of a root is 1 / (2√x). You multiply by the root instead of dividing by it. At x = 100 the
//   root changes 0.05 times as fast as x, not 5 times.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 0.5 * z}});
// wrong: The factor ½ is missing. 10² is 100 and 10.1² is 102.01: the root grows by 0.1 when x grows by about 2.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 1 / z}});
// wrong: In C++ the division of two integers drops the fraction, so 1 / 2 is 0. Write 0.5.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 1 / 2 / z}});
// wrong: You divide by 2x. The derivative of a root is 1 divided by twice the *root* of x.
// - return write(z, {{a, 0.5 / z}});
// + return write(z, {{a, 0.5 / lines[a].value}});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns the sum of the local derivatives of `line` for the input on line `of`.
double local(const NumberTape& tape, std::size_t line, std::size_t of) {
  double sum = 0;
  for (const NumberTape::Input& input : tape.lines.at(line).inputs)
    if (input.line == of) sum += input.local;
  return sum;
}

/// Returns a random number with one decimal, positive or negative but never 0.
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
  judge.example(named("x = ", x) + named(" and y = ", y) +
                "; the expected derivatives are central differences");
  judge.that(z == 3 && tape.lines.size() == 4,
             "divide writes one line and returns its number; it has written " +
                 std::to_string(tape.lines.size() - 3) + " lines");
  judge.same(tape.lines[z].value, x / y, "the value of x / y");
  judge.same(
      {local(tape, z, a), local(tape, z, b)},
      {((x + kStep) / y - (x - kStep) / y) / (2 * kStep), (x / (y + kStep) - x / (y - kStep)) / (2 * kStep)},
      "∂(x / y)/∂x and ∂(x / y)/∂y", 1e-6);
  judge.same(local(tape, z, unused), 0.0, "the local derivative for a line that is no input");
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("divides 6 by 2, and computes the two local derivatives", [&] { division(judge, 6, 2); });
  judge.claim("divides random numbers", [&] {
    for (int i = 0; i < 10; ++i) division(judge, number(judge), number(judge));
  });
  judge.claim("computes square roots and their local derivatives", [&] {
    for (int i = 0; i < 10; ++i) {
      const double x = i == 0 ? 9 : std::abs(number(judge)), kStep = 1e-5;
      NumberTape tape;
      tape.write(17, {});
      const std::size_t a = tape.write(x, {}), z = tape.root(a);
      judge.example(named("x = ", x) + "; the expected derivative is a central difference");
      judge.that(z == 2 && tape.lines.size() == 3, "root writes one line and returns its number");
      judge.same(tape.lines[z].value, std::sqrt(x), "√x");
      judge.same(local(tape, z, a), (std::sqrt(x + kStep) - std::sqrt(x - kStep)) / (2 * kStep), "∂√x/∂x",
                 1e-6);
    }
  });
  judge.claim("divides a line by itself, with the derivative 0", [&] {
    NumberTape tape;
    const double x = number(judge);
    const std::size_t a = tape.write(x, {}), z = tape.divide(a, a);
    judge.example(named("x / x with x = ", x));
    judge.same(local(tape, z, a), 0.0, "∂(x / x)/∂x, the sum of both parts");
  });
}
