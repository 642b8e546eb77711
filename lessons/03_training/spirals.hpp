// The task of lesson 03: points on two spirals in the plane, which wind around each other.
#pragma once

#include <cstdint>

#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct Points {
  Tensor x;        ///< (N, 2)
  Indices labels;  ///< (N): 0 or 1, the spiral on which the point lies
};

/// Draws `count` points, alternating between the first and the second spiral. Both spirals turn twice around the
/// centre. The second is the first, rotated by half a turn.
Points draw_spirals(std::uint64_t seed, std::uint64_t stream, Size count, DType dtype = DType::f32);

/// Draws a batch of `count` points at random, with replacement.
Points draw(const Points& points, Random random, Size count);

}  // namespace tapestry::kit
