// One sound attention and seven broken ones: the patients of lesson 07's clinic.
#pragma once

#include <functional>
#include <vector>

#include "core/core.hpp"

namespace tapestry::lesson07 {

/// A *head* is an attention of its own on a slice of q, k and v; the outputs stand side by side. Here are
/// two.
constexpr Size kHeads = 2;

/// q, k, v (B, T, H·d) and valid (B, T), true where no padding stands → (B, T, H·d). Causal: query i sees
/// keys up to i.
using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid)>;

struct Patient {
  const char* name;
  Attend attend;
  Size ahead = 1;  ///< how many columns further on the target of a place stands
};

/// The sound one first.
const std::vector<Patient>& patients();

}  // namespace tapestry::lesson07
