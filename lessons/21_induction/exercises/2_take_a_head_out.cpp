// 21.2 take_a_head_out: Replace a head by its mean
// implement, 10 minutes
//
// An attention-only layer adds the outputs of its heads to the stream x. The new stream is x + Σ_h said_h,
// where said_h is the output of head h. To find out what head number `head` contributes, replace its output by
// the mean of this output over all sequences and all places, and leave the other heads unchanged. Then the head
// no longer distinguishes one place from another, but the later layers still get the head's usual contribution.
// (With zeros instead of the mean, they would get an input unlike any in training.)
//
// The shapes are x (B, T, d) and said (B, H, T, d). Return a tensor (B, T, d). These ops help: sum(x, {1}) sums
// over axis 1, mean(x, {0, 1}) averages over two axes, and select(x, axis, index) returns one slice.
#include "lessons/grader/answer.hpp"

Tensor with_mean_of_head(const Tensor& x, const Tensor& said, Size head) {
  //[ about three lines
  //: return not_written_yet();
  const Tensor own = select(said, 1, head);  // (B, T, d)
  const Tensor usual = mean(own, {0, 1});    // (d): over all sequences and all places
  return x + sum(said, {1}) - own + usual;   // the other heads stay unchanged
  //]
}

// hint: What is the new stream when no head is changed? Which term must be removed, and which one must be
//   added?
// hint: x + sum(said, {1}) - ____ + ____. The mean has one number for each of the d features.
// hint: own = select(said, 1, head) has the shape (B, T, d), and mean(own, {0, 1}) has the shape (d).
//
// wrong: You replaced the head's output by 0 instead of its mean. The later layers have never had such an input
//   in training, so the loss may rise for that reason alone.
// - return x + sum(said, {1}) - own + usual;
// + return x + sum(said, {1}) - own;
// wrong: You add the mean, but the head's own output is still in the sum. Subtract it.
// - return x + sum(said, {1}) - own + usual;
// + return x + sum(said, {1}) + usual;
// wrong: The stream x is missing. A layer adds its heads to its input.
// - return x + sum(said, {1}) - own + usual;
// + return sum(said, {1}) - own + usual;
// wrong: You average over the places of each sequence separately, so the mean still distinguishes sequences.
//   With a single sequence the mistake does not show.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own, {1}, Keep::yes);
// wrong: You average over the sequences at each place separately, so the mean still distinguishes places.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own, {0});
// wrong: You average over the features, too. Each feature of a head's output needs its own mean.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own);
// wrong: You replaced the outputs of all heads. Replace only one head, and leave the others unchanged.
// - return x + sum(said, {1}) - own + usual;
// + return x + usual;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the result in loops.
Tensor number_by_number(const Tensor& x, const Tensor& said, Size head) {
  const Size batch = said.size(0), heads = said.size(1), time = said.size(2), width = said.size(3);
  std::vector<double> result;
  for (Size b = 0; b < batch; ++b)
    for (Size t = 0; t < time; ++t)
      for (Size c = 0; c < width; ++c) {
        double number = x.at({b, t, c});
        for (Size h = 0; h < heads; ++h) {
          if (h != head) {
            number += said.at({b, h, t, c});
            continue;
          }
          double all = 0;
          for (Size row = 0; row < batch; ++row)
            for (Size place = 0; place < time; ++place) all += said.at({row, h, place, c});
          number += all / static_cast<double>(batch * time);
        }
        result.push_back(number);
      }
  return tensor(result, {batch, time, width}, DType::f64);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("replaces one of two heads by its mean", [&] {
    const Tensor x = tensor({{{100, 200}, {300, 400}}, {{500, 600}, {700, 800}}}, DType::f64);
    const Tensor said = tensor(
        {{{{1, 10}, {3, 10}}, {{20, 30}, {40, 50}}}, {{{5, 30}, {7, 70}}, {{60, 70}, {80, 90}}}}, DType::f64);
    judge.example(
        "two sequences of two places, d = 2; the output of head 0 is (1, 10), (3, 10) in the first and (5, 30), "
        "(7, 70) in the second, so that its mean is (4, 30)");
    judge.same(with_mean_of_head(x, said, 0),
               tensor({{{124, 260}, {344, 480}}, {{564, 700}, {784, 920}}}, DType::f64), "the stream");
  });
  judge.claim("replaces the right head for other sizes", [&] {
    judge.each_size(
        {{"sequences", 1, 3}, {"heads", 1, 4}, {"places", 1, 5}, {"d", 1, 3}}, [&](const Sizes& n) {
          const Tensor x = judge.normal({n[0], n[2], n[3]}), said = judge.normal({n[0], n[1], n[2], n[3]});
          const Size head = judge.random().below(n[1]);
          judge.same(with_mean_of_head(x, said, head), number_by_number(x, said, head), "the stream");
        });
  });
}
