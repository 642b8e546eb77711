// Attention's three gradients, tile by tile.
#pragma once

#include <array>

#include "core/tensor/tensor.hpp"

namespace tapestry::lesson25 {

/// What forward keeps for backward, besides the inputs.
struct Tiled {
  Tensor out, log_sum_exp;  // (Tq, d_v), (Tq, 1)
};

/// The gradients for q, k and v, given d_out (Tq, d_v); `tile` keys at a time.
std::array<Tensor, 3> backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tiled& kept,
                               const Tensor& d_out, Size tile);

}  // namespace tapestry::lesson25
