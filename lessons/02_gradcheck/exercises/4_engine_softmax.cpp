// 2.4 engine_softmax: Softmax and its rule for your engine
// derive, 25 minutes, piece softmax.hpp
//
// The softmax of a row of scores s is y_j = e^{s_j} / Σ_l e^{s_l}. The softmax depends only on the differences of the
// scores. So first subtract the largest score of the row from all its scores, so that the exponentials cannot overflow.
// If all scores of a row are −∞ (for a query that may not attend to any key), return zeros for this row.
//
// Write the forward pass and the rule. The rule receives g, the gradient of the loss L with respect to y, and returns
// ∂L/∂s_j = Σ_l g_l ∂y_l/∂s_j. The lesson derives this rule for one row, with x for s and dy for g. In your
// code, each row along the last axis is a separate softmax, whatever the number of axes before it.
#include "engine/matmul.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Calls f(begin, end) for each row along the last axis. The elements of the row are begin to end − 1.
template <class F>
void each_row(const Array& x, F f) {
  const auto size = static_cast<std::size_t>(x.shape.back());
  for (std::size_t begin = 0; begin < x.data.size(); begin += size) f(begin, begin + size);
}

inline Array softmax_of(const Array& s) {
  Array y = filled(s.shape, 0);
  each_row(s, [&](std::size_t begin, std::size_t end) {
    //[ one row, about six lines
    //: not_written_yet();
    double largest = s.data[begin], total = 0;
    for (std::size_t j = begin; j < end; ++j) largest = std::max(largest, s.data[j]);
    if (std::isinf(largest) && largest < 0) return;  // −∞ − (−∞) would be NaN
    for (std::size_t j = begin; j < end; ++j) total += y.data[j] = std::exp(s.data[j] - largest);
    for (std::size_t j = begin; j < end; ++j) y.data[j] /= total;
    //]
  });
  return y;
}

inline Value softmax(const Value& s) {
  const Array y = softmax_of(s.array());
  const Rule rule = [y](const Array& g) {
    Array of_s = filled(y.shape, 0);
    each_row(y, [&](std::size_t begin, std::size_t end) {
      //[ one row, about three lines
      //: not_written_yet();
      double mean = 0;  // Σ_l y_l g_l, the mean of g weighted with y
      for (std::size_t j = begin; j < end; ++j) mean += y.data[j] * g.data[j];
      for (std::size_t j = begin; j < end; ++j) of_s.data[j] = y.data[j] * (g.data[j] - mean);
      //]
    });
    return std::vector{of_s};
  };
  return s.tape->record(y, {s}, rule);
}

}  // namespace engine

// hint: For two scores, y_1 = e^a / (e^a + e^b). The quotient rule gives ∂y_1/∂a = y_1 − y_1² and
//   ∂y_1/∂b = −y_1 y_2. What is ∂y_l/∂s_j in general, for l = j and for l ≠ j?
// hint: ∂y_l/∂s_j = y_l (1{l = j} − y_j), where 1{…} is 1 if the condition holds and else 0. Insert this derivative
//   into Σ_l g_l ∂y_l/∂s_j. The result is y_j g_j minus y_j times a sum that does not depend on j.
// hint: ∂L/∂s_j = y_j (g_j − Σ_l y_l g_l). Compute the sum first. In the forward pass, find the largest score and
//   return if it is −∞. Then subtract the largest score from each score, exponentiate the differences, sum the results,
//   and divide by the sum.
//
// wrong: You use only the diagonal of the Jacobian, y_j (1 − y_j) g_j. When s_j grows, all other outputs y_l shrink, so
//   their gradients g_l contribute too.
// - for (std::size_t j = begin; j < end; ++j) of_s.data[j] = y.data[j] * (g.data[j] - mean);
// + for (std::size_t j = begin; j < end; ++j) of_s.data[j] = y.data[j] * (1 - y.data[j]) * g.data[j];
// wrong: You compute the unweighted mean of g. Compute a weighted mean in which each g_l has the weight y_l.
// - for (std::size_t j = begin; j < end; ++j) mean += y.data[j] * g.data[j];
// + for (std::size_t j = begin; j < end; ++j) mean += g.data[j] / static_cast<double>(end - begin);
// wrong: The factor y_j is missing. An output y_j that is nearly 0 hardly changes when s_j changes.
// - for (std::size_t j = begin; j < end; ++j) of_s.data[j] = y.data[j] * (g.data[j] - mean);
// + for (std::size_t j = begin; j < end; ++j) of_s.data[j] = g.data[j] - mean;
// wrong: e^800 is infinite in a double, and ∞/∞ is NaN. First subtract the largest score of the row. The outputs don't
//   change.
// - for (std::size_t j = begin; j < end; ++j) total += y.data[j] = std::exp(s.data[j] - largest);
// + for (std::size_t j = begin; j < end; ++j) total += y.data[j] = std::exp(s.data[j]);
// wrong: You subtract the largest score of the whole array. If all scores of a row are far below this score, all
//   exponentials of the row are 0, and 0/0 is NaN. Subtract the largest score of each row.
// - for (std::size_t j = begin; j < end; ++j) largest = std::max(largest, s.data[j]);
// + for (const double score : s.data) largest = std::max(largest, score);
// wrong: A row whose scores are all −∞ becomes NaN, because −∞ − (−∞) is NaN. Its outputs must be 0.
// - if (std::isinf(largest) && largest < 0) return;
// + if (false) return;

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Array, engine::Tape, engine::Value;
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  judge.claim("turns scores into weights", [&] {
    judge.example("the scores (log 1, log 3)");
    judge.same(engine::softmax_of({{2}, {0, std::log(3.0)}}).data, {0.25, 0.75}, "the weights");
    judge.example("the scores (800, 800)");
    judge.same(engine::softmax_of({{2}, {800, 800}}).data, {0.5, 0.5}, "the weights");
    judge.example("two rows of scores, (800, 0) and (−800, −800)");
    judge.same(engine::softmax_of({{2, 2}, {800, 0, -800, -800}}).data, {1, 0, 0.5, 0.5}, "the weights");
    judge.example("the scores (−∞, 2)");
    judge.same(engine::softmax_of({{2}, {minus_infinity, 2}}).data, {0, 1}, "the weights");
    judge.example("the scores (−∞, −∞)");
    judge.same(engine::softmax_of({{2}, {minus_infinity, minus_infinity}}).data, {0, 0}, "the weights");
  });
  judge.claim("computes the gradient of two scores", [&] {
    Tape tape;
    const Value s = tape.leaf({{2}, {0, std::log(3.0)}});
    tape.backward(engine::softmax(s) * tape.leaf({{2}, {1, 5}}));
    judge.example("the weights (1/4, 3/4) and g = (1, 5)");
    judge.same(s.gradient().data, {-0.75, 0.75}, "the gradient of the scores");
  });
  judge.claim("agrees with Tapestry for arrays of three axes", [&] {
    judge.each_size({{"blocks", 1, 2}, {"rows", 1, 3}, {"columns", 1, 5}}, [&](const Sizes& n) {
      grader::agree<Tape>(
          judge, {judge.normal({n[0], n[1], n[2]})},
          [](const std::vector<Value>& in) { return engine::softmax(in[0]); },
          [](const std::vector<Tensor>& in) { return tapestry::softmax(in[0], -1); });
    });
  });
}
