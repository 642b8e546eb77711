#include "lessons/kit/check/agreement.hpp"

#include <algorithm>
#include <cmath>

#include "core/tensor/error.hpp"

namespace tapestry::kit {

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.to_vector())
    most = std::max(most, std::isnan(value) ? HUGE_VAL : std::abs(value));
  return most;
}

double farthest(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size())
    fail("[farthest] the lists must be equally long, got {} and {} tensors", a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, largest(a[i].detach() - b[i].detach()));
  return most;
}

double relative_difference(const Tensor& a, const Tensor& b) { return farthest({a}, {b}) / largest(b); }

double percent_equal(const Indices& a, const Indices& b) {
  if (a.shape() != b.shape() || a.count() == 0)
    fail("[percent_equal] shapes must be equal and not empty, got {} and {}", to_string(a.shape()),
         to_string(b.shape()));
  const std::vector<std::int64_t> x = a.to_vector(), y = b.to_vector();
  double equal = 0;
  for (std::size_t i = 0; i < x.size(); ++i) equal += x[i] == y[i];
  return 100 * equal / static_cast<double>(x.size());
}

double percent_rows_equal(const Indices& a, const Indices& b) {
  if (a.shape() != b.shape() || a.rank() != 2 || a.count() == 0)
    fail("[percent_rows_equal] shapes must be equal, of rank 2 and not empty, got {} and {}",
         to_string(a.shape()), to_string(b.shape()));
  const std::vector<std::int64_t> x = a.to_vector(), y = b.to_vector();
  const auto places = static_cast<std::ptrdiff_t>(a.shape()[1]);
  double equal = 0;
  for (auto row = x.begin(), other = y.begin(); row != x.end(); row += places, other += places)
    equal += std::equal(row, row + places, other);
  return 100 * equal / static_cast<double>(a.shape()[0]);
}

Size weights_of(const Module& module) {
  Size count = 0;
  for (const Tensor& weight : module.parameters()) count += weight.count();
  return count;
}

}  // namespace tapestry::kit
