// Local attention (Luong, Pham & Manning 2015, section 3.2): look only at the keys near a position p_t.
#pragma once

#include "core/tensor/values.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Where the window [p_t − D, p_t + D] stands. Positions count from 0.
struct Local {
  /// How p_t is found.
  enum class Kind {
    /// p_t = t, the number of the query (local-m); inside the window nothing is weighed down.
    monotonic,
    /// p_t = S · sigmoid(v_p · tanh(W_p q_t)), S the length of the row (local-p); inside the window weights
    /// are multiplied by exp(−(j − p_t)² / 2σ²), σ = D/2, and not normalised again.
    predictive
  };
  Kind kind = Kind::monotonic;  // local_m() or local_p()
  /// D: how many keys to either side.
  Size reach = 1;
  /// W_p is (hidden, query_width); local-p only.
  Size query_width = 0, hidden = 0;
};

/// local_m(): a window at the query's own number; local_p(): at a place that is predicted from the query.
/// Making the layer throws for reach < 0, and in local-p for reach 0.
Local local_m(Size reach);
Local local_p(Size reach, Size query_width, Size hidden);

/// What a window does to the steps of the pipeline: it narrows the mask, and fades weights.
struct Window {
  /// The pairs that count; none: all of them.
  Mask mask = {};
  /// p_t (…, Tq), on the tape in local-p; none without a window.
  Tensor positions = {};
  /// The factor (…, Tq, Tk) of each weight; none: 1.
  Tensor gaussian = {};

  /// weights (…, Tq, Tk) times `gaussian`.
  Tensor fade(const Tensor& weights) const;
};

/// Makes windows. Gradients reach p_t through the Gaussian; which keys lie in the window is piecewise
/// constant in p_t, and a key at the edge enters or leaves with e⁻² of its weight.
class LocalWindow : public Module {
 public:
  /// D = 0 in local-p (a Gaussian of no width) and D < 0 throw.
  LocalWindow(Parent parent, const Local& local);

  /// query (…, Tq, d_q), scores (…, Tq, Tk), a mask that broadcasts to the scores or none; `step`: queries
  /// that came before. S counts the keys up to the last that the query may see. Where no key is left (p_t has
  /// run past the end in local-m) the row is empty.
  Window operator()(const Tensor& query, const Tensor& scores, const Mask& mask, Size step) const;

  /// W_p (hidden, d_q) and v_p (hidden); empty handles in local-m.
  Parameter weight, vector;

 private:
  Local local_;
};

}  // namespace tapestry
