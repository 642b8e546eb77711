// 19.1 pre_norm_block: A pre-norm block
// implement, 10 minutes
//
// In most of today's models, each norm of a block comes before a sublayer: attention, or the feed-forward. The
// block computes two steps:
//
//     x ← x + attention(norm_1(x)),        then        x ← x + feed_forward(norm_2(x))
//
// Write this block for any norms and sublayers. Each of them is a function from (B, T, d) to (B, T, d), and so is
// the block.
#include "lessons/grader/answer.hpp"

using Function = std::function<Tensor(const Tensor&)>;  // (B, T, d) → (B, T, d)

Tensor pre_norm_block(const Tensor& x, const Function& norm_1, const Function& attention,
                      const Function& norm_2, const Function& feed_forward) {
  //[ two lines
  //: return not_written_yet();
  const Tensor y = x + attention(norm_1(x));  // attention gets the normed x, the sum gets x itself
  return y + feed_forward(norm_2(y));         // the second step starts from y
  //]
}

// hint: Which x does the residual add to the sublayer's result: the input x or the normed x?
// hint: y = x + attention(____). The second step has the same form, with y in place of x.
// hint: return y + feed_forward(norm_2(____)).
//
// wrong: Your norms come after the sums: norm(x + sublayer(x)). That is the post-norm block of 2017. There x passes
//   through every norm on its way from the first block to the last, and so does the gradient on its way back.
// - const Tensor y = x + attention(norm_1(x));
// - return y + feed_forward(norm_2(y));
// + const Tensor y = norm_1(x + attention(x));
// + return norm_2(y + feed_forward(y));
// wrong: You add the normed input instead of x. When the sublayers return 0, such a block returns the normed x, but
//   it should return x.
// - const Tensor y = x + attention(norm_1(x));
// - return y + feed_forward(norm_2(y));
// + const Tensor first = norm_1(x), y = first + attention(first);
// + const Tensor second = norm_2(y);
// + return second + feed_forward(second);
// wrong: Your feed-forward gets the block's input x instead of the result of the attention step. So the
//   feed-forward cannot use the information that attention has just added.
// - return y + feed_forward(norm_2(y));
// + return y + feed_forward(norm_2(x));
// wrong: Your second sum adds to the block's input x. So the result of the attention step reaches the output
//   only through the feed-forward.
// - return y + feed_forward(norm_2(y));
// + return x + feed_forward(norm_2(y));
// wrong: The second norm is missing. The feed-forward gets y itself, however large the sum has become.
// - return y + feed_forward(norm_2(y));
// + return y + feed_forward(y);
// wrong: The second residual is missing. Everything that the feed-forward does not pass on is lost.
// - return y + feed_forward(norm_2(y));
// + return feed_forward(norm_2(y));
// wrong: Both residuals are missing, so x itself does not reach the output. Add each sublayer's result to the
//   input of its step.
// - const Tensor y = x + attention(norm_1(x));
// - return y + feed_forward(norm_2(y));
// + const Tensor y = attention(norm_1(x));
// + return feed_forward(norm_2(y));
// wrong: Your second step uses the first norm again. Each of the two norms has its own scale and shift.
// - return y + feed_forward(norm_2(y));
// + return y + feed_forward(norm_1(y));

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/transformer/block.hpp"

void judge(Judge& judge) {
  judge.claim("applies norms, sublayers and sums in the right order", [&] {
    judge.example(
        "x = 3, norm_1(x) = 10 x, attention(x) = x + 1, norm_2(x) = 100 x, feed_forward(x) = x + 2");
    const Tensor came = pre_norm_block(
        full({1, 1, 1}, 3, DType::f64), [](const Tensor& x) { return 10 * x; },
        [](const Tensor& x) { return x + 1; }, [](const Tensor& x) { return 100 * x; },
        [](const Tensor& x) { return x + 2; });
    // 3 + (30 + 1) = 34, then 34 + (3400 + 2)
    judge.same(came, full({1, 1, 1}, 3436, DType::f64), "the result");
  });
  judge.claim("returns x when both sublayers return zeros", [&] {
    const Tensor x = judge.normal({2, 3, 4});
    const Function nothing = [](const Tensor&in) { return 0 * in; },
                   doubled = [](const Tensor&in) { return 2 * in; };
    judge.same(pre_norm_block(x, doubled, nothing, doubled, nothing), x, "the result");
  });
  judge.claim("agrees with nn/'s block when its sublayers are nn/'s", [&] {
    judge.each_size({{"batch", 1, 3}, {"tokens", 1, 5}, {"width / 2", 1, 3}}, [&](const Sizes& n) {
      TransformerBlock block({.width = 2 * n[2], .heads = 2, .hidden = 5, .norm_position = NormPosition::pre},
                             {});
      const Tensor x = judge.normal({n[0], n[1], 2 * n[2]});
      block.initialise(judge.random().next(), x.dtype());
      const Tensor came = pre_norm_block(
          x, [&](const Tensor& in) { return (*block.self_norm)(in); },
          [&](const Tensor& in) { return (*block.self)(in, in, in).context; },
          [&](const Tensor& in) { return (*block.feed_forward_norm)(in); },
          [&](const Tensor& in) { return (*block.feed_forward)(in); });
      judge.same(came, block(x), "the result");
    });
  });
}
