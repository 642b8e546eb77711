// 21.2 take_a_head_out: and put its mean in its place
// implement, 10 minutes
//
// A layer of attention alone adds to the stream x what each of its heads says: x + Σ_h said_h. To find out
// what head number `head` is for, replace what it says by its mean over all sequences and all places, and
// leave the other heads as they are. So the head no longer tells one place from another, but what follows
// still gets an input of the usual size (zeros it has never seen).
//
// x (B, T, d), said (B, H, T, d); the result is (B, T, d). sum(x, {1}) sums over axis 1,
// mean(x, {0, 1}) averages over two axes, and select(x, axis, index) takes one slice out.
#include "lessons/grader/answer.hpp"

Tensor with_mean_of_head(const Tensor& x, const Tensor& said, Size head) {
  //[ about three lines
  //: return not_written_yet();
  const Tensor own = select(said, 1, head);  // (B, T, d)
  const Tensor usual = mean(own, {0, 1});    // (d): over sequences, then over places
  return x + sum(said, {1}) - own + usual;   // the others stay
  //]
}

// hint: What does the stream get without any change? Which part of it has to go, and what comes instead?
// hint: x + sum(said, {1}) - ____ + ____; the mean has one number for each of the d features.
// hint: own = select(said, 1, head) is (B, T, d), and mean(own, {0, 1}) is (d).
//
// wrong: The head's output is 0 now, not its mean. The rest of the model has never seen a stream without the
//   head, so its loss may rise for that reason alone.
// - return x + sum(said, {1}) - own + usual;
// + return x + sum(said, {1}) - own;
// wrong: The head still says what it said, and its mean is added to it.
// - return x + sum(said, {1}) - own + usual;
// + return x + sum(said, {1}) + usual;
// wrong: The stream itself is missing. A layer adds to what came in.
// - return x + sum(said, {1}) - own + usual;
// + return sum(said, {1}) - own + usual;
// wrong: You take the mean over the places of each sequence apart, which still tells one sequence from
//   another. With one sequence that does not show.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own, {1}, Keep::yes);
// wrong: You take the mean over the sequences at each place, which still tells one place from another.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own, {0});
// wrong: You take one mean over the features as well. Each feature of a head's output has a usual size of its
//   own.
// - const Tensor usual = mean(own, {0, 1});
// + const Tensor usual = mean(own);
// wrong: You put the mean in the place of all heads. Only one is to be taken out; what the others say stays.
// - return x + sum(said, {1}) - own + usual;
// + return x + usual;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// One number at a time.
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
        "two sequences of two places, d = 2; head 0 says (1, 10), (3, 10) in the first and (5, 30), "
        "(7, 70) in the second, so that its mean is (4, 30)");
    judge.same(with_mean_of_head(x, said, 0),
               tensor({{{124, 260}, {344, 480}}, {{564, 700}, {784, 920}}}, DType::f64), "the stream");
  });
  judge.claim("does so for any head and any sizes", [&] {
    judge.each_size(
        {{"sequences", 1, 3}, {"heads", 1, 4}, {"places", 1, 5}, {"d", 1, 3}}, [&](const Sizes& n) {
          const Tensor x = judge.normal({n[0], n[2], n[3]}), said = judge.normal({n[0], n[1], n[2], n[3]});
          const Size head = judge.random().below(n[1]);
          judge.same(with_mean_of_head(x, said, head), number_by_number(x, said, head), "the stream");
        });
  });
}
