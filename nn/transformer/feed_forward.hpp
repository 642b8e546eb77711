// The position-wise feed-forward layer of a transformer block.
#pragma once

#include <optional>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "nn/dropout.hpp"
#include "nn/linear.hpp"

namespace tapestry {

/// Activation of the hidden units. gelu_tanh: the tanh approximation of GELU. swiglu: silu(gate(x)) ⊙ in(x),
/// with silu(z) = z · sigmoid(z) and a third weight (Shazeer 2020, equation 6).
enum class Activation { relu, gelu, gelu_tanh, swiglu };

/// out(activation(in(x))) at every position: x (…, width) → (…, width) through `hidden` units (Vaswani et al.
/// 2017, equation 2). In training, dropout applies to the hidden units.
class FeedForward : public Module {
 public:
  FeedForward(Parent parent, Size width, Size hidden, Activation activation, Bias bias = Bias::yes,
              double dropout_rate = 0)
      : Module(std::move(parent)),
        in{{*this, "in"}, width, hidden, bias},
        out{{*this, "out"}, hidden, width, bias},
        dropout{{*this, "dropout"}, dropout_rate},
        activation_(activation) {
    if (activation == Activation::swiglu) gate.emplace(Parent{*this, "gate"}, width, hidden, bias);
  }

  Tensor operator()(const Tensor& x) const {
    const Tensor units = in(x);
    switch (activation_) {
      case Activation::relu:
        return out(dropout(relu(units)));
      case Activation::gelu:
        return out(dropout(gelu(units, Gelu::erf)));
      case Activation::gelu_tanh:
        return out(dropout(gelu(units, Gelu::tanh)));
      case Activation::swiglu:
        break;
    }
    const Tensor gates = (*gate)(x);
    return out(dropout(gates * sigmoid(gates) * units));
  }

  Linear in, out;
  /// Gate of swiglu; empty for other activations.
  std::optional<Linear> gate;
  Dropout dropout;

 private:
  Activation activation_;
};

}  // namespace tapestry
