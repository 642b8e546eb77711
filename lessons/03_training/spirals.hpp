// Two spirals in the plane, wound into each other: the task of lesson 03.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"
#include "lessons/kit/random.hpp"

namespace tapestry::kit {

struct Points {
  Tensor x;        ///< (N, 2)
  Indices labels;  ///< (N): 0 or 1, the spiral that it lies on
};

/// `count` points, in turns on the first spiral and on the second. Both wind twice around the middle; the
/// second is the first, turned by half a circle.
Points draw_spirals(std::uint64_t seed, std::uint64_t stream, Size count, DType dtype = DType::f32);

/// A batch: `count` of the points, drawn at random, and none is put aside.
Points draw(const Points& points, Random random, Size count);

}  // namespace tapestry::kit
