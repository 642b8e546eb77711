// 19.1 pre_norm_block: where the norms and the residuals go
// implement, 10 minutes
//
// A block with its norms in front of the parts, as today's models have them, does in this order:
//
//     x ← x + attend(norm_1(x)),        then        x ← x + feed(norm_2(x))
//
// Write it for any parts: each is a function from (B, T, d) to (B, T, d), and so is the block.
#include "lessons/grader/answer.hpp"

using Part = std::function<Tensor(const Tensor&)>;  // (B, T, d) → (B, T, d)

Tensor pre_norm_block(const Tensor& x, const Part& norm_1, const Part& attend_part, const Part& norm_2,
                      const Part& feed) {
  //[ two lines
  //: return not_written_yet();
  const Tensor y = x + attend_part(norm_1(x));  // the part reads the normed x, the sum takes x as it is
  return y + feed(norm_2(y));                   // and the second part goes on from y
  //]
}

// hint: What does a residual keep, the x that came in or the x that was normed?
// hint: y = x + attend_part(____). The second half has the same form, with y for x.
// hint: return y + feed(norm_2(____)).
//
// wrong: Each norm stands after its sum: norm(x + part(x)). That is the block of 2017 (post). There every
//   norm lies in the way of x from the first block to the last, and with it of the gradient.
// - const Tensor y = x + attend_part(norm_1(x));
// - return y + feed(norm_2(y));
// + const Tensor y = norm_1(x + attend_part(x));
// + return norm_2(y + feed(y));
// wrong: The residual is taken from the normed input: a block whose parts add nothing then hands on the
//   normed x and not x. Make both parts return 0 and look: the block should return x.
// - const Tensor y = x + attend_part(norm_1(x));
// - return y + feed(norm_2(y));
// + const Tensor first = norm_1(x), y = first + attend_part(first);
// + const Tensor second = norm_2(y);
// + return second + feed(second);
// wrong: The feed-forward reads the x that came in, not what attention made of it. The block's two parts then
//   stand side by side, and the feed-forward cannot think about what was just read.
// - return y + feed(norm_2(y));
// + return y + feed(norm_2(x));
// wrong: The second sum adds to the x that came in: what attention found is lost behind the feed-forward.
// - return y + feed(norm_2(y));
// + return x + feed(norm_2(y));
// wrong: The second norm is missing: the feed-forward reads y, however large the sum has become.
// - return y + feed(norm_2(y));
// + return y + feed(y);
// wrong: The second residual is missing: what the feed-forward does not hand on is gone.
// - return y + feed(norm_2(y));
// + return feed(norm_2(y));
// wrong: Neither half has its residual: x itself goes no further than into the first norm. Each part's result
//   is added to what the half began with.
// - const Tensor y = x + attend_part(norm_1(x));
// - return y + feed(norm_2(y));
// + const Tensor y = attend_part(norm_1(x));
// + return feed(norm_2(y));
// wrong: The second half uses the first norm again. Each norm has a scale and a shift of its own.
// - return y + feed(norm_2(y));
// + return y + feed(norm_1(y));

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/transformer/block.hpp"

void judge(Judge& judge) {
  judge.claim("puts parts, norms and sums in their order", [&] {
    judge.example("x = 3, norm_1(x) = 10 x, attend(x) = x + 1, norm_2(x) = 100 x, feed(x) = x + 2");
    const Tensor came = pre_norm_block(
        full({1, 1, 1}, 3, DType::f64), [](const Tensor& x) { return 10 * x; },
        [](const Tensor& x) { return x + 1; }, [](const Tensor& x) { return 100 * x; },
        [](const Tensor& x) { return x + 2; });
    // 3 + (30 + 1) = 34, then 34 + (3400 + 2)
    judge.same(came, full({1, 1, 1}, 3436, DType::f64), "what comes out");
  });
  judge.claim("hands x on where the parts add nothing", [&] {
    const Tensor x = judge.normal({2, 3, 4});
    const Part nothing = [](const Tensor&in) { return 0 * in; },
               doubled = [](const Tensor&in) { return 2 * in; };
    judge.same(pre_norm_block(x, doubled, nothing, doubled, nothing), x, "what comes out");
  });
  judge.claim("does with the library's parts what the library's block does", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 5}, {"width / 2", 1, 3}}, [&](const Sizes& n) {
      TransformerBlock block({.width = 2 * n[2], .heads = 2, .hidden = 5, .norm_place = NormPlace::pre}, {});
      const Tensor x = judge.normal({n[0], n[1], 2 * n[2]});
      block.initialise(judge.random().next(), x.dtype());
      const Tensor came = pre_norm_block(
          x, [&](const Tensor& in) { return (*block.self_norm)(in); },
          [&](const Tensor& in) { return block.self(in, in, in).context; },
          [&](const Tensor& in) { return (*block.feed_forward_norm)(in); },
          [&](const Tensor& in) { return (*block.feed_forward)(in); });
      judge.same(came, block(x), "what comes out");
    });
  });
}
