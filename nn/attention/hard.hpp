// Hard attention: one key is drawn for each query, and read alone. A draw has no derivative, so the scores
// learn by an estimate of it: the score function (REINFORCE), or Gumbel noise with a softmax in place of
// the largest.
//
// Every draw takes the next site of this thread's random_state(), as dropout does: set_random(seed, step)
// before a step fixes all of them, whatever the number of threads.
#pragma once

#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"
#include "nn/attention/normalise.hpp"

namespace tapestry {

/// Standard Gumbel noise, −ln(−ln u) with u uniform: finite, the same in f32 (rounded) and f64, and element
/// i depends on the stream and i alone. The key with the largest score + noise is a draw from
/// softmax(scores) (Gumbel 1954).
Tensor gumbel_noise(const Dims& shape, const Stream& stream, DType dtype = DType::f32);

/// What gumbel_softmax() hands on.
enum class GumbelKind {
  soft,             ///< the softmax itself: a little of every key
  straight_through  ///< 1 at its largest weight, 0 elsewhere; the gradient is that of the softmax
};

/// Softmax of (scores + Gumbel noise) / τ, with noise that is new at each call (Jang, Gu & Poole 2017;
/// Maddison, Mnih & Teh 2017): as τ → 0 the weights become those of one drawn key. Its gradient is a biased
/// estimate of that of the draw, the less the smaller τ is, and varies the more. It draws in eval mode,
/// too: to read the likeliest key instead take hardmax_weights. τ ≤ 0 throws.
///     Attention reads{scaled_dot(), {.normalise = gumbel_softmax(0.5, GumbelKind::straight_through)}};
Normaliser gumbel_softmax(double temperature, GumbelKind kind = GumbelKind::soft);

/// One key for each query, drawn from softmax_weights(scores, mask).
struct Choice {
  /// (…, Tq, Tk): 1 at the drawn key, 0 elsewhere; no gradient. A query that may see no key has zeros
  /// alone.
  Tensor weights;
  /// (…, Tq): which key; −1 where there is none.
  Indices keys;
  /// (…, Tq): ln of the drawn key's probability, with gradient to the scores; 0 and none where there is no
  /// key.
  Tensor log_probability;
};
/// scores (…, Tq, Tk) and a mask that broadcasts to them, or none. What stands outside the mask touches
/// nothing. Scores without any key (Tk = 0) throw.
Choice choose(const Tensor& scores, const Mask& mask = {});

/// What to hand to backward after draws: L + (L − b) ln p, element by element, where no gradient flows
/// through the factor (L − b). Its *gradient* estimates that of the expected loss without bias (Williams
/// 1992, REINFORCE), if the baseline b does not depend on the draw; its value means nothing. `losses` of
/// any shape, one for each draw, lower is better; `log_probability` of the same shape (of several draws
/// behind one loss: their sum). Where losses depend on weights by another way than the draw, that gradient
/// flows, too. A baseline tensor broadcasts to the losses and gets no gradient: one that is learned has a
/// loss of its own.
Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, double baseline = 0);
Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, const Tensor& baseline);

/// A baseline: the mean of earlier losses, b ← d b + (1 − d) · mean of the batch. Use value() first, and
/// add the batch afterwards: a baseline that knows its own draw makes the estimate biased.
class MovingBaseline {
 public:
  /// d is in [0, 1).
  explicit MovingBaseline(double decay = 0.9);

  /// 0 before the first batch; that of the first batch is its mean.
  double value() const { return value_; }
  /// Losses of any shape, one or more; off the tape.
  void add(const Tensor& losses);

 private:
  double decay_, value_ = 0;
  bool begun_ = false;
};

}  // namespace tapestry
