// One sound attention and seven broken ones: the patients of lesson 07's clinic.
#pragma once

#include <functional>
#include <vector>

#include "core/core.hpp"

namespace tapestry::lesson07 {

/// A *head* is an attention on its own slice of q, k and v. The outputs of the heads are concatenated. This model has
/// two heads.
constexpr Size kHeads = 2;

/// Takes q, k and v (B, T, H·d) and valid (B, T), which is false at padding. Returns (B, T, H·d). The attention is
/// causal: query i may attend to the keys 0 to i.
using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& valid)>;

struct Patient {
  const char* name;
  Attend attend;
  Size ahead = 1;  ///< Distance in columns from a position to its target.
};

/// Returns all attentions. The sound one is the first.
const std::vector<Patient>& patients();

}  // namespace tapestry::lesson07
