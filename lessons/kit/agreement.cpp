#include "lessons/kit/agreement.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace tapestry::kit {

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.to_vector())
    most = std::max(most, std::isnan(value) ? HUGE_VAL : std::abs(value));
  return most;
}

double farthest(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) fail("{} tensors cannot be compared with {}", a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, largest(a[i].detach() - b[i].detach()));
  return most;
}

Size weights_of(const Module& module) {
  Size count = 0;
  for (const Tensor& weight : module.parameters()) count += weight.count();
  return count;
}

}  // namespace tapestry::kit
