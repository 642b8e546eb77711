// Local attention (Luong, Pham & Manning 2015, section 3.2): each query sees only keys near a position p_t.
#pragma once

#include "core/tensor/mask.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// Window [p_t − D, p_t + D] of local attention. Positions count from 0.
struct Local {
  /// Rule for p_t.
  enum class Kind {
    /// p_t = t, the index of the query (local-m). Weights inside the window are unchanged.
    monotonic,
    /// p_t = S · sigmoid(v_p · tanh(W_p q_t)), S the length of the row (local-p). Weights inside the window
    /// are multiplied by exp(−(j − p_t)² / 2σ²), σ = D/2, and not normalised again.
    predictive
  };
  Kind kind = Kind::monotonic;  // local_m() or local_p()
  /// D: number of keys on either side.
  Size reach = 1;
  /// W_p is (hidden, query_width); local-p only.
  Size query_width = 0, hidden = 0;
};

/// local_m(): a window around the index of the query; local_p(): around a position predicted from the query.
/// Building the layer throws for reach < 0, and in local-p for reach 0.
Local local_m(Size reach);
Local local_p(Size reach, Size query_width, Size hidden);

/// The window of one call: a mask, and factors that decrease towards the edge.
struct Window {
  /// Visible pairs inside the window; undefined: all pairs.
  Mask mask = {};
  /// p_t (…, Tq), on the tape in local-p; undefined without a window.
  Tensor positions = {};
  /// Factor (…, Tq, Tk) of each weight; undefined: 1.
  Tensor gaussian = {};

  /// Returns weights (…, Tq, Tk) times `gaussian`.
  Tensor fade(const Tensor& weights) const;
};

/// Computes windows. Gradients reach p_t through the Gaussian. Membership in the window is piecewise constant
/// in p_t; a key at the edge enters or leaves with e⁻² of its weight.
class LocalWindow : public Module {
 public:
  /// Throws for D < 0, and for D = 0 in local-p (a Gaussian of width 0).
  LocalWindow(Parent parent, const Local& local);

  /// query (…, Tq, d_q), scores (…, Tq, Tk), and an optional mask that broadcasts to the scores. `step`: number of
  /// earlier queries. S counts the keys up to the last one that the query may see. If no key is left
  /// (in local-m, if p_t is past the end), the row of the mask is all false.
  Window operator()(const Tensor& query, const Tensor& scores, const Mask& mask, Size step) const;

  /// W_p (hidden, d_q) and v_p (hidden); undefined in local-m.
  Parameter weight, vector;

 private:
  Local local_;
};

}  // namespace tapestry
