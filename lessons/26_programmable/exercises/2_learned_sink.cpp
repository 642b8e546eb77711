// 26.2 learned_sink: A learned attention sink
// implement, 15 minutes
//
// The weights of a row sum to 1. So a head must put its weight somewhere even if no key is relevant. With a
// *sink*, each head h learns a score b_h. The sink acts as one more key with the score b_h and the value 0:
//
//     w_ij = e^{s_ij} / (e^{b_h} + Σ_j e^{s_ij}),        context_i = Σ_j w_ij v_j
//
// The shapes are scores (B, H, Tq, Tk), values (B, H, Tk, d) and sink (H). Return the contexts (B, H, Tq, d).
// The scores may be large.
#include "lessons/grader/answer.hpp"

Tensor attend_with_sink(const Tensor& scores, const Tensor& values, const Tensor& sink) {
  //[ three lines
  //: static_cast<void>(scores), static_cast<void>(values), static_cast<void>(sink);
  //: return not_written_yet();
  const Tensor none = zeros({scores.size(0), scores.size(1), scores.size(2), 1}, scores.dtype());
  const Tensor column = none + reshape(sink, {sink.size(0), 1, 1});  // (B, H, Tq, 1): b_h for each query
  const Tensor weights = softmax(concat({scores, column}, -1), -1);  // with one more key
  return matmul(slice(weights, -1, 0, scores.size(3)), values);      // the sink's value is 0: leave it out
  //]
}

// hint: If there were one more key with the score b_h, what would softmax do? What does its value 0 add to
//   the context?
// hint: concat({scores, ____}, -1) has the shape (B, H, Tq, Tk + 1). Which columns of its softmax belong to
//   the values?
// hint: Zeros of the shape (B, H, Tq, 1) plus reshape(sink, {H, 1, 1}) give b_h for each query of head h.
//
// wrong: The weights of the keys sum to 1, so the sink gets no weight. (Adding b_h to all scores has no
//   effect either, because softmax cancels a number that is the same in a whole row.)
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = softmax(scores, -1);
// wrong: Your sink has the score 0 in every head. It must have the learned score b_h of its head. Append b_h
//   to the scores; do not add it to them.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = softmax(concat({scores, none}, -1), -1);
// wrong: e^s overflows if a score is large. Subtract the largest score first, as softmax does.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = exp(scores) / (exp(column) + sum(exp(scores), {-1}, Keep::yes));
// wrong: You subtract the same number, the largest of all scores, in every row. If a row is far below another
//   one, its e^s and e^b are all 0, and 0 / 0 is NaN. Subtract the largest number of each row.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor all = concat({scores, column}, -1), less = exp(all - max(all));
// + const Tensor weights = less / sum(less, {-1}, Keep::yes);
// wrong: You subtract the largest score from the scores, but not from b_h. All terms of the sum must be
//   relative to the same top: use e^{b − top}.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor less = exp(scores - max(scores, {-1}, Keep::yes));
// + const Tensor weights = less / (exp(column) + sum(less, {-1}, Keep::yes));
// wrong: You divide by b_h + Σ e^s. Like s, b_h is a score, so divide by e^{b_h} + Σ e^s.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = exp(scores) / (column + sum(exp(scores), {-1}, Keep::yes));
// wrong: You drop the weight of the first key and keep the sink's. So each value is multiplied with the
//   weight of the next key.
// - return matmul(slice(weights, -1, 0, scores.size(3)), values);
// + return matmul(slice(weights, -1, 1, scores.size(3) + 1), values);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Tensor by_loops(const Tensor& scores, const Tensor& values, const Tensor& sink) {
  std::vector<double> out;
  for (Size b = 0; b < scores.size(0); ++b)
    for (Size h = 0; h < scores.size(1); ++h)
      for (Size i = 0; i < scores.size(2); ++i) {
        double top = sink.at({h}), sum = 0;
        for (Size j = 0; j < scores.size(3); ++j) top = std::max(top, scores.at({b, h, i, j}));
        std::vector<double> row(static_cast<std::size_t>(values.size(3)), 0.0);
        sum = std::exp(sink.at({h}) - top);
        for (Size j = 0; j < scores.size(3); ++j) {
          const double weight = std::exp(scores.at({b, h, i, j}) - top);
          sum += weight;
          for (Size c = 0; c < values.size(3); ++c)
            row[static_cast<std::size_t>(c)] += weight * values.at({b, h, j, c});
        }
        for (const double x : row) out.push_back(x / sum);
      }
  return tensor(out, {scores.size(0), scores.size(1), scores.size(2), values.size(3)}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("gives the sink its weight", [&] {
    judge.example("one head, b = ln 4; scores ln 2, ln 2; values 8 and 16");
    const double two = std::log(2.0);
    judge.same(attend_with_sink(tensor({{{{two, two}}}}, DType::f64), tensor({{{{8}, {16}}}}, DType::f64),
                                tensor({2 * two}, DType::f64)),
               tensor({{{{6}}}}, DType::f64), "the context");  // weights 2/8 and 2/8, 4/8 for the sink
  });
  judge.claim("uses each head's own sink, for any sizes", [&] {
    judge.each_size(
        {{"batch", 1, 3}, {"heads", 1, 3}, {"queries", 1, 3}, {"keys", 1, 4}, {"d", 1, 2}},
        [&](const Sizes& n) {
          const Tensor scores = judge.normal({n[0], n[1], n[2], n[3]}),
                       values = judge.normal({n[0], n[1], n[3], n[4]}), sink = judge.normal({n[1]});
          judge.same(attend_with_sink(scores, values, sink), by_loops(scores, values, sink), "the context");
        });
  });
  judge.claim("works for scores and sinks near 900 and near 0", [&] {
    judge.example("four heads: scores and b near 900; both near 0; scores near 900 alone; b near 900 alone");
    const Tensor values = judge.normal({1, 4, 3, 2}),
                 scores = judge.normal({1, 4, 2, 3}) + tensor({{{900}}, {{0}}, {{900}}, {{0}}}, DType::f64),
                 sink = judge.normal({4}) + tensor({900, 0, 0, 900}, DType::f64);
    judge.same(attend_with_sink(scores, values, sink), by_loops(scores, values, sink), "the context");
  });
  judge.claim("has the right gradients, also for the sink", [&] {
    judge.gradients(attend_with_sink,
                    {judge.normal({2, 3, 2, 3}), judge.normal({2, 3, 3, 2}), judge.normal({3})});
  });
}
