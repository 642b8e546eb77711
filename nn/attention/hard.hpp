// Hard attention: each query draws one key and reads it alone. A draw has no derivative, so training uses an estimate
// of the gradient: the score-function estimator (REINFORCE), or a softmax with Gumbel noise.
//
// Every draw uses the next site of this thread's random_state(), as dropout does. So set_random(seed, step) before a
// step fixes all draws, for any number of threads.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/tensor.hpp"
#include "nn/attention/normalise.hpp"

namespace tapestry {

/// Returns standard Gumbel noise, −ln(−ln u) with u uniform. It is finite and the same in f32 (rounded) and
/// f64; element i depends only on the stream and i. The key with the largest score + noise is a draw from
/// softmax(scores) (Gumbel 1954).
Tensor gumbel_noise(const Dims& shape, const Stream& stream, DType dtype = DType::f32);

/// Forward value of gumbel_softmax().
enum class GumbelKind {
  soft,             ///< the softmax weights
  straight_through  ///< one-hot at the largest weight, with the gradient of the softmax
};

/// Returns a normaliser: softmax of (scores + Gumbel noise) / τ, with new noise at each call (Jang, Gu & Poole 2017;
/// Maddison, Mnih & Teh 2017). As τ → 0 the weights approach a one-hot draw. The gradient is a biased estimate; a
/// smaller τ has less bias and more variance. It also draws in eval mode; use hardmax_weights to read the likeliest
/// key. Throws unless τ is positive and finite.
///     Attention reads{scaled_dot(), {.normalise = gumbel_softmax(0.5, GumbelKind::straight_through)}};
Normaliser gumbel_softmax(double temperature, GumbelKind kind = GumbelKind::soft);

/// One key for each query, drawn from softmax_weights(scores, mask).
struct Choice {
  /// (…, Tq, Tk): one-hot at the drawn key, without gradient. All 0 for a query that may see no key.
  Tensor weights;
  /// (…, Tq): index of the drawn key; −1 if there is none.
  Indices keys;
  /// (…, Tq): log-probability of the drawn key, with gradient to the scores; 0 without gradient if there is
  /// no key.
  Tensor log_probability;
};
/// Draws one key for each query from scores (…, Tq, Tk), with an optional mask that broadcasts to them.
/// Masked pairs have no effect. Throws if there are no keys (Tk = 0).
Choice choose(const Tensor& scores, const Mask& mask = {});

/// Returns the surrogate loss L + (L − b) ln p, element by element, without gradient through the factor (L − b). Its
/// *gradient* estimates that of the expected loss without bias, if the baseline b does not depend on the draw
/// (Williams 1992, REINFORCE); its value has no meaning. `losses` has any shape, one for each draw, and lower is
/// better. `log_probability` has the same shape; for several draws behind one loss, pass their sum. If the losses also
/// depend on parameters in other ways than through the draw, that gradient is included. A baseline tensor broadcasts to
/// the losses and gets no gradient; a learned baseline needs a separate loss.
Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, double baseline = 0);
Tensor score_function_loss(const Tensor& losses, const Tensor& log_probability, const Tensor& baseline);

/// Baseline from a running mean of earlier losses: b ← d b + (1 − d) · mean of the batch. Call value() first
/// and add() afterwards: a baseline that depends on its own draw biases the estimate.
class MovingBaseline {
 public:
  /// `decay`: d in [0, 1); other values throw.
  explicit MovingBaseline(double decay = 0.9);

  /// Returns b: 0 before the first batch, and the mean of the first batch after it.
  double value() const { return value_; }
  /// Adds a batch of losses of any shape, at least one. No gradient flows through them.
  void add(const Tensor& losses);

 private:
  double decay_, value_ = 0;
  bool begun_ = false;
};

}  // namespace tapestry
