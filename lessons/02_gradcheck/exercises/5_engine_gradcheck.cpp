// 2.5 engine_gradcheck: Gradient checking for your engine
// implement, 25 minutes, piece gradcheck.hpp
//
// Write a gradient checker for the rules of your engine. The function f takes the leaves of a tape and returns a Value
// of any shape. The cotangent c is given and has the shape of f's result. The loss is L = Σ c · f. Compare two numbers
// for each element x of each input:
//
//     the gradient from backward()              the quotient (L(x + ε) − L(x − ε)) / 2ε with ε = 1e-5
//
// For each quotient, change only this element by ε. Divide the absolute difference of the two numbers by max(1,
// |quotient|), so that the error is relative when the quotient is larger than 1 in absolute value. Return the maximum
// over all elements of all inputs.
//
// NaN must not pass the check. If a difference is NaN, replace it by infinity.
#include "engine/softmax.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

using Function = std::function<Value(const std::vector<Value>&)>;

/// Returns L = Σ c · f(inputs). If `gradients` is given, appends ∂L/∂input of each input to it.
inline double weighted(const Function& f, const std::vector<Array>& inputs, const Array& c,
                       std::vector<Array>* gradients = nullptr) {
  Tape tape;
  std::vector<Value> leaves;
  for (const Array& input : inputs) leaves.push_back(tape.leaf(input));
  const Value product = multiply(f(leaves), tape.leaf(c));
  if (gradients) {
    tape.backward(product);
    for (const Value& leaf : leaves)  // the gradient of a leaf that f does not use is empty
      gradients->push_back(leaf.gradient().data.empty() ? filled(leaf.array().shape, 0) : leaf.gradient());
  }
  double sum = 0;
  for (const double number : product.array().data) sum += number;
  return sum;
}

inline double gradcheck(const Function& f, std::vector<Array> inputs, const Array& c) {
  const double step = 1e-5;
  std::vector<Array> gradients;
  weighted(f, inputs, c, &gradients);
  double worst = 0;
  //[ about ten lines
  //: return not_written_yet();
  for (std::size_t k = 0; k < inputs.size(); ++k)
    for (std::size_t i = 0; i < inputs[k].data.size(); ++i) {
      double& x = inputs[k].data[i];
      const double was = x;
      x = was + step;
      const double more = weighted(f, inputs, c);
      x = was - step;
      const double less = weighted(f, inputs, c);
      x = was;  // restore it: only one element changes at a time
      const double quotient = (more - less) / (2 * step);
      const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
      worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
    }
  return worst;
  //]
}

}  // namespace engine

// hint: Choose one element x. What is L(x + ε), and what is L(x − ε)? Call weighted() once for each.
// hint: Save the element as `was`. Set the element to was + step and call weighted(). Then set it to was − step and
//   call weighted() again. Compare the quotient with gradients[k].data[i]. What must you do before the next element?
// hint: std::max(worst, NaN) returns worst, so a NaN gets lost. Test std::isnan first, and replace NaN by infinity.
//
// wrong: You don't restore an element after changing it, so all later quotients are computed for changed inputs.
//   Compare L before and after the loop.
// - x = was;
// + x = was - step;
// wrong: The quotient is too large by a factor of 2. The points x + ε and x − ε are 2ε apart, so divide by 2ε. For f(x)
//   = x, the quotient should be 1.
// - const double quotient = (more - less) / (2 * step);
// + const double quotient = (more - less) / step;
// wrong: A NaN passes the check, because std::max(worst, NaN) returns worst. Replace NaN by infinity.
// - worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
// + worst = std::max(worst, apart);
// wrong: You check only the first input. A rule can be right for x and wrong for y.
// - for (std::size_t k = 0; k < inputs.size(); ++k)
// + for (std::size_t k = 0; k < 1; ++k)
// wrong: You return the absolute error. If the quotient is 5, the gradient 4 has an absolute error of 1. If the
//   quotient is 5,000, the gradient 4,999 has the same absolute error but is nearly right. Divide by max(1,
//   |quotient|).
// - const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
// + const double apart = std::abs(gradients[k].data[i] - quotient);
// wrong: You divide by max(1, quotient). If the quotient is −12, you divide by 1. Divide by max(1, |quotient|).
// - const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
// + const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, quotient);
// wrong: You return the last error, not the largest one. At each element, your code overwrites the error from the
//   previous element.
// - worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
// + worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;

//= judge
#include "lessons/grader/judge/engine.hpp"

namespace {

/// Returns factor · x³, recorded with the rule slope · x².
engine::Value cube(const engine::Value& x, double factor, double slope) {
  const engine::Array kept = x.array();
  return x.tape->record(
      engine::each(kept, [=](double a) { return factor * a * a * a; }), {x}, [=](const engine::Array& g) {
        return std::vector{engine::each(g, kept, [=](double p, double a) { return p * slope * a * a; })};
      });
}

}  // namespace

void judge(Judge& judge) {
  using engine::Array, engine::gradcheck, engine::Value;
  const Array one{{1}, {1}};
  const auto cubes = [](double factor, double slope) {
    return [=](const std::vector<Value>& in) { return cube(in[0], factor, slope); };
  };
  judge.claim("finds no error in a right rule", [&] {
    judge.example("f(x) = x at 2");
    judge.between(gradcheck([](const std::vector<Value>& in) { return in[0] * 1.0; }, {{{1}, {2}}}, one), 0,
                  1e-9, "the largest error");
    judge.example("f(x) = x³ at 2");
    judge.between(gradcheck(cubes(1, 3), {{{1}, {2}}}, one), 0, 1e-8, "the largest error");
  });
  judge.claim("returns the error of a wrong rule, relative to the quotient", [&] {
    judge.example("f(x) = x³ at 2, with a rule that returns 2 x² = 8 instead of 12");
    judge.between(gradcheck(cubes(1, 2), {{{1}, {2}}}, one), 0.3333, 0.3334, "the error: 4 of 12");
    judge.example("f(x) = x³ / 100 at 2, with a rule that returns 0");
    judge.between(gradcheck(cubes(0.01, 0), {{{1}, {2}}}, one), 0.1199, 0.1201,
                  "the error: 0.12, divided by 1");
    judge.example("f(x) = −x³ at 2, with a rule that returns −2 x² = −8 instead of −12");
    judge.between(gradcheck(cubes(-1, -2), {{{1}, {2}}}, one), 0.3333, 0.3334, "the error: 4 of 12");
  });
  judge.claim("checks each element of each input", [&] {
    judge.example("f(x, y) = x + y³ with a wrong rule for y");
    const auto second = [](const std::vector<Value>& in) { return in[0] + cube(in[1], 1, 2); };
    judge.between(gradcheck(second, {{{1}, {1}}, {{1}, {2}}}, one), 0.3333, 0.3334, "the largest error");
    judge.example(
        "f(x, y) = x³ + y³ with rules that return half of the derivative of x and two thirds of that of y");
    const auto both = [](const std::vector<Value>& in) { return cube(in[0], 1, 1.5) + cube(in[1], 1, 2); };
    judge.between(gradcheck(both, {{{1}, {2}}, {{1}, {2}}}, one), 0.4999, 0.5001, "the larger error");
    judge.example("f = x³ of five numbers, with a wrong rule for the last one");
    const auto last = [](const std::vector<Value>& in) {
      const Array kept = in[0].array();
      return in[0].tape->record(
          engine::each(kept, [](double a) { return a * a * a; }), {in[0]}, [=](const Array& g) {
            Array d = engine::each(g, kept, [](double p, double a) { return p * 3 * a * a; });
            d.data.back() *= 2;
            return std::vector{d};
          });
    };
    judge.between(gradcheck(last, {{{5}, {1, 1, 1, 1, 1}}}, {{5}, {1, 1, 1, 1, 1}}), 0.99, 1.01,
                  "the largest error");
    judge.example("f = 10,000 (x + y + z)³, where each number changes alone");
    const auto sum = [](const std::vector<Value>& in) { return cube(engine::sum_to(in[0], {1}), 1e4, 3e4); };
    judge.between(gradcheck(sum, {{{3}, {0.3, 0.2, -0.4}}}, one), 0, 1e-7, "the largest error");
  });
  judge.claim("counts NaN as infinity", [&] {
    const auto broken = [](const std::vector<Value>& in) {
      return in[0].tape->record(in[0].array(), {in[0]}, [](const Array& g) {
        Array d = g;
        d.data[0] = std::nan("");
        return std::vector{d};
      });
    };
    const double infinity = std::numeric_limits<double>::infinity();
    judge.example("f(x) = x with a rule that returns NaN");
    judge.same(gradcheck(broken, {{{1}, {2}}}, one), infinity, "the largest error");
    judge.example("f(x) = x of two numbers, with a rule that returns NaN for the first");
    judge.same(gradcheck(broken, {{{2}, {2, 3}}}, {{2}, {1, 1}}), infinity, "the largest error");
  });
  judge.claim("passes the ops of your engine", [&] {
    judge.each_size({{"rows", 1, 3}, {"columns", 1, 4}}, [&](const Sizes& n) {
      const auto layer = [](const std::vector<Value>& in) {
        return engine::softmax(engine::tanh(engine::matmul(in[0], in[1]) + in[2]));
      };
      const Array c = grader::array_of<Array>(judge.normal({n[0], n[1]}));
      const std::vector<Array> inputs{grader::array_of<Array>(judge.normal({n[0], 2})),
                                      grader::array_of<Array>(judge.normal({2, n[1]})),
                                      grader::array_of<Array>(judge.normal({n[1]}))};
      judge.between(gradcheck(layer, inputs, c), 0, 1e-6, "the largest error of softmax(tanh(x w + b))");
    });
  });
}
