// 2.5 engine_gradcheck: your engine checks itself
// implement, 25 minutes, piece gradcheck.hpp
//
// Your engine checks its own rules. f takes the leaves of a tape and gives a line of any shape. Its cotangent is given:
// c, of the shape of f's result. For each number of each input compare what backward() finds for L = Σ c · f with
// (L(x + ε) − L(x − ε)) / 2ε, ε = 1e-5, where this number alone moves. Divide each difference by max(1, |the quotient|),
// so that large derivatives may be off by more, and return the largest.
//
// NaN must not get through: a difference that is no number counts as infinity.
#include "engine/softmax.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

using Function = std::function<Value(const std::vector<Value>&)>;

/// L = Σ c · f(inputs), and where `gradients` is asked for ∂L/∂input of each.
inline double weighted(const Function& f, const std::vector<Array>& inputs, const Array& c,
                       std::vector<Array>* gradients = nullptr) {
  Tape tape;
  std::vector<Value> leaves;
  for (const Array& input : inputs) leaves.push_back(tape.leaf(input));
  const Value product = multiply(f(leaves), tape.leaf(c));
  if (gradients) {
    tape.backward(product);
    for (const Value& leaf : leaves)  // a leaf that f does not use has no numbers there
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
      x = was;  // the others are moved one at a time, too
      const double quotient = (more - less) / (2 * step);
      const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
      worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
    }
  return worst;
  //]
}

}  // namespace engine

// hint: For one number: what is L when it is a little larger, and a little smaller? Two calls of weighted().
// hint: Keep the number, set it to was + step, call weighted(), set it to was − step, call again, and then? Compare with
//   gradients[k].data[i].
// hint: std::max(worst, NaN) is worst, so a NaN gets lost there: ask std::isnan first, and let infinity stand for it.
//
// wrong: A number that was moved is not put back, so the next ones are moved at another place. Compare L before and
//   after the loop.
// - x = was;
// + x = was - step;
// wrong: The quotient is off by a factor of 2: L(x + ε) − L(x − ε) belongs to 2ε, for the two places are 2ε apart. With
//   f(x) = x it should be 1.
// - const double quotient = (more - less) / (2 * step);
// + const double quotient = (more - less) / step;
// wrong: A NaN gets through: std::max(worst, NaN) is worst. A derivative that is no number is the worst there is.
// - worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
// + worst = std::max(worst, apart);
// wrong: Only the first input is tried. A rule may be right for x and wrong for y.
// - for (std::size_t k = 0; k < inputs.size(); ++k)
// + for (std::size_t k = 0; k < 1; ++k)
// wrong: A derivative of 4 in place of 5 is off by 1, and of 4,999 in place of 5,000 as well: the second is nearly
//   right. Divide by max(1, |quotient|).
// - const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
// + const double apart = std::abs(gradients[k].data[i] - quotient);
// wrong: The quotient is divided by without its sign: of −12 and 1 the larger one is 1. It is max(1, |quotient|).
// - const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, std::abs(quotient));
// + const double apart = std::abs(gradients[k].data[i] - quotient) / std::max(1.0, quotient);
// wrong: What comes back is the last difference and not the largest: each number that is checked forgets the one before.
// - worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
// + worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;

//= judge
#include "lessons/grader/judge/engine.hpp"

namespace {

/// factor · x³, with a rule that says slope · x².
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
  judge.claim("finds nothing wrong with a right rule", [&] {
    judge.example("f(x) = x at 2");
    judge.between(gradcheck([](const std::vector<Value>& in) { return in[0] * 1.0; }, {{{1}, {2}}}, one), 0,
                  1e-9, "what is found");
    judge.example("f(x) = x³ at 2");
    judge.between(gradcheck(cubes(1, 3), {{{1}, {2}}}, one), 0, 1e-8, "what is found");
  });
  judge.claim("finds how wrong a wrong rule is, beside its size", [&] {
    judge.example("f(x) = x³ at 2, with a rule that says 2 x² = 8 in place of 12");
    judge.between(gradcheck(cubes(1, 2), {{{1}, {2}}}, one), 0.3333, 0.3334, "what is found: 4 of 12");
    judge.example("f(x) = x³ / 100 at 2, with a rule that says 0");
    judge.between(gradcheck(cubes(0.01, 0), {{{1}, {2}}}, one), 0.1199, 0.1201,
                  "what is found: 0.12, beside 1");
    judge.example("f(x) = −x³ at 2, with a rule that says −2 x² = −8 in place of −12");
    judge.between(gradcheck(cubes(-1, -2), {{{1}, {2}}}, one), 0.3333, 0.3334, "what is found: 4 of 12");
  });
  judge.claim("looks at each number of each input", [&] {
    judge.example("f(x, y) = x + y³ with a wrong rule for y");
    const auto second = [](const std::vector<Value>& in) { return in[0] + cube(in[1], 1, 2); };
    judge.between(gradcheck(second, {{{1}, {1}}, {{1}, {2}}}, one), 0.3333, 0.3334, "what is found");
    judge.example("f(x, y) = x³ + y³ with rules that say half of x's derivative and two thirds of y's");
    const auto both = [](const std::vector<Value>& in) { return cube(in[0], 1, 1.5) + cube(in[1], 1, 2); };
    judge.between(gradcheck(both, {{{1}, {2}}, {{1}, {2}}}, one), 0.4999, 0.5001,
                  "what is found: the larger");
    judge.example("f = x³ of five numbers, whose last has a wrong rule");
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
                  "what is found");
    judge.example("f = 10,000 (x + y + z)³, each moved alone");
    const auto sum = [](const std::vector<Value>& in) { return cube(engine::sum_to(in[0], {1}), 1e4, 3e4); };
    judge.between(gradcheck(sum, {{{3}, {0.3, 0.2, -0.4}}}, one), 0, 1e-7, "what is found");
  });
  judge.claim("lets no NaN through", [&] {
    const auto broken = [](const std::vector<Value>& in) {
      return in[0].tape->record(in[0].array(), {in[0]}, [](const Array& g) {
        Array d = g;
        d.data[0] = std::nan("");
        return std::vector{d};
      });
    };
    const double infinity = std::numeric_limits<double>::infinity();
    judge.example("f(x) = x with a rule that gives NaN");
    judge.same(gradcheck(broken, {{{1}, {2}}}, one), infinity, "what is found");
    judge.example("f(x) = x of two numbers, with a rule that gives NaN for the first");
    judge.same(gradcheck(broken, {{{2}, {2, 3}}}, {{2}, {1, 1}}), infinity, "what is found");
  });
  judge.claim("holds your engine's ops to it", [&] {
    judge.each_size({{"rows", 1, 3}, {"columns", 1, 4}}, [&](const Sizes& n) {
      const auto layer = [](const std::vector<Value>& in) {
        return engine::softmax(engine::tanh(engine::matmul(in[0], in[1]) + in[2]));
      };
      const Array c = grader::array_of<Array>(judge.normal({n[0], n[1]}));
      const std::vector<Array> inputs{grader::array_of<Array>(judge.normal({n[0], 2})),
                                      grader::array_of<Array>(judge.normal({2, n[1]})),
                                      grader::array_of<Array>(judge.normal({n[1]}))};
      judge.between(gradcheck(layer, inputs, c), 0, 1e-6, "what is found in softmax(tanh(x w + b))");
    });
  });
}
