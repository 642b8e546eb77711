// The three gradients of attention, tile by tile.
#pragma once

#include <array>

#include "core/tensor/tensor.hpp"

namespace tapestry::lesson25 {

/// The tensors that forward keeps for backward, in addition to the inputs.
struct Tiled {
  Tensor out, log_sum_exp;  // (Tq, d_v), (Tq, 1)
};

/// Returns the gradients with respect to q, k and v for d_out (Tq, d_v), processing `tile` keys at a time.
std::array<Tensor, 3> backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tiled& kept,
                               const Tensor& d_out, Size tile);

}  // namespace tapestry::lesson25
