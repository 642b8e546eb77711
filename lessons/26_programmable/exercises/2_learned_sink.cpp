// 26.2 learned_sink: a place to look at where there is nothing to see
// implement, 15 minutes
//
// Weights of a row sum to 1, so a head that finds nothing must still put its weight somewhere. A learned sink
// gives each head h a score b_h of its own, as if there were one more key with the value 0:
//
//     w_ij = e^{s_ij} / (e^{b_h} + Σ_j e^{s_ij}),        context_i = Σ_j w_ij v_j
//
// scores is (B, H, Tq, Tk), values (B, H, Tk, d), sink (H); the result is (B, H, Tq, d). Scores may be large.
#include "lessons/grader/answer.hpp"

Tensor attend_with_sink(const Tensor& scores, const Tensor& values, const Tensor& sink) {
  //[ three lines
  //: static_cast<void>(scores), static_cast<void>(values), static_cast<void>(sink);
  //: return not_written_yet();
  const Tensor none = zeros({scores.size(0), scores.size(1), scores.size(2), 1}, scores.dtype());
  const Tensor column = none + reshape(sink, {sink.size(0), 1, 1});  // (B, H, Tq, 1): b_h for each query
  const Tensor weights = softmax(concat({scores, column}, -1), -1);  // one key more
  return matmul(slice(weights, -1, 0, scores.size(3)), values);      // its value is 0: leave it out
  //]
}

// hint: What would softmax do if there were one more key, and its score were b_h? What does a value of 0 add?
// hint: concat({scores, ____}, -1) is (B, H, Tq, Tk + 1). Of its softmax, which columns meet the values?
// hint: zeros of (B, H, Tq, 1) plus reshape(sink, {H, 1, 1}) is b_h for each query of head h.
//
// wrong: The weights of the keys sum to 1: no weight ever goes to the sink. (Adding b_h to all scores changes
//   nothing: softmax takes away what is the same in a whole row.)
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = softmax(scores, -1);
// wrong: The sink has the score 0 in every head. b_h is learned, each head's own, and stands beside the scores
//   without being added to them.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = softmax(concat({scores, none}, -1), -1);
// wrong: e^s overflows if a score is large. Take the largest off first, as softmax does.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = exp(scores) / (exp(column) + sum(exp(scores), {-1}, Keep::yes));
// wrong: One largest number is taken off in all rows. A row far below another one then has e^s = 0 and e^b = 0,
//   and 0 / 0 is no number. Take off each row's own largest.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor all = concat({scores, column}, -1), less = exp(all - max(all));
// + const Tensor weights = less / sum(less, {-1}, Keep::yes);
// wrong: The largest is taken off the scores, but not off b_h. All terms of the sum must be measured from the
//   same top: e^{b − top}.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor less = exp(scores - max(scores, {-1}, Keep::yes));
// + const Tensor weights = less / (exp(column) + sum(less, {-1}, Keep::yes));
// wrong: You divide by b_h + Σ e^s, and not by e^{b_h} + Σ e^s: b is a score, as s is.
// - const Tensor weights = softmax(concat({scores, column}, -1), -1);
// + const Tensor weights = exp(scores) / (column + sum(exp(scores), {-1}, Keep::yes));
// wrong: The weights lose the first key and keep the sink: each value meets its neighbour's weight.
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
  judge.claim("gives the sink its share", [&] {
    judge.example("one head, b = ln 4; scores ln 2, ln 2; values 8 and 16");
    const double two = std::log(2.0);
    judge.same(attend_with_sink(tensor({{{{two, two}}}}, DType::f64), tensor({{{{8}, {16}}}}, DType::f64),
                                tensor({2 * two}, DType::f64)),
               tensor({{{{6}}}}, DType::f64), "the context");  // weights 2/8 and 2/8, 4/8 for the sink
  });
  judge.claim("gives each head its own sink, at any sizes", [&] {
    judge.each_size(
        {{"batch", 1, 3}, {"heads", 1, 3}, {"queries", 1, 3}, {"keys", 1, 4}, {"d", 1, 2}},
        [&](const Sizes& n) {
          const Tensor scores = judge.normal({n[0], n[1], n[2], n[3]}),
                       values = judge.normal({n[0], n[1], n[3], n[4]}), sink = judge.normal({n[1]});
          judge.same(attend_with_sink(scores, values, sink), by_loops(scores, values, sink), "the context");
        });
  });
  judge.claim("takes scores and sinks near 900 and near 0", [&] {
    judge.example("four heads: scores and b near 900; both near 0; scores near 900 alone; b near 900 alone");
    const Tensor values = judge.normal({1, 4, 3, 2}),
                 scores = judge.normal({1, 4, 2, 3}) + tensor({{{900}}, {{0}}, {{900}}, {{0}}}, DType::f64),
                 sink = judge.normal({4}) + tensor({900, 0, 0, 900}, DType::f64);
    judge.same(attend_with_sink(scores, values, sink), by_loops(scores, values, sink), "the context");
  });
  judge.claim("lets gradients through, to the sink too", [&] {
    judge.gradients(attend_with_sink,
                    {judge.normal({2, 3, 2, 3}), judge.normal({2, 3, 3, 2}), judge.normal({3})});
  });
}
