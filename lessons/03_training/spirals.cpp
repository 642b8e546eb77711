// The task of lesson 03: points on two spirals in the plane, which wind around each other.
#include "lessons/03_training/spirals.hpp"

#include <cmath>
#include <vector>

#include "core/ops/join.hpp"
#include "core/tensor/create.hpp"

namespace tapestry::kit {

Points draw_spirals(std::uint64_t seed, std::uint64_t stream, Size count, DType dtype) {
  constexpr double kPi = 3.14159265358979323846, kTurns = 2, kNoise = 0.015;
  Random random(seed, stream);
  std::vector<double> x;
  std::vector<std::int64_t> labels;
  for (Size i = 0; i < count; ++i) {
    labels.push_back(i % 2);
    const double along = std::sqrt(random.uniform());  // the outer turns are longer and get more points
    const double radius = 0.1 + 0.9 * along;
    const double angle = 2 * kPi * kTurns * along + kPi * static_cast<double>(i % 2);
    x.push_back(radius * std::cos(angle) + kNoise * random.normal());
    x.push_back(radius * std::sin(angle) + kNoise * random.normal());
  }
  return {tensor(x, {count, 2}, dtype), Indices(labels, {count})};
}

Points draw(const Points& points, Random random, Size count) {
  std::vector<std::int64_t> which, labels;
  for (Size i = 0; i < count; ++i) {
    which.push_back(random.below(points.labels.count()));
    labels.push_back(points.labels.data()[which.back()]);
  }
  return {embedding(points.x, Indices(which, {count})), Indices(labels, {count})};  // these rows of points.x
}

}  // namespace tapestry::kit
