// Golden numbers for tests: a file of tests/golden by its name, its tensors by "case/tensor", and a
// comparison that says where two tensors differ most.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/io/safetensors.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"

namespace tapestry::test {

/// The folder of the golden files.
inline std::filesystem::path golden_folder() {
#ifdef TAPESTRY_GOLDEN_DIR
  return TAPESTRY_GOLDEN_DIR;
#else
  return std::filesystem::path(__FILE__).parent_path();
#endif
}

/// One golden file, e.g. Golden("gru"). Everything in it is f64; whole numbers become Indices, masks and
/// lengths on request.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_(read_safetensors(golden_folder() / (name + ".safetensors"))) {}

  bool has(const std::string& name) const { return file_.tensors.count(name) != 0; }
  const Tensor& operator[](const std::string& name) const { return file_.at(name); }
  double number(const std::string& name) const { return file_.at(name).item(); }
  /// The number, or `otherwise` where the file has none.
  double number(const std::string& name, double otherwise) const {
    return has(name) ? number(name) : otherwise;
  }

  std::vector<std::int64_t> whole(const std::string& name) const {
    std::vector<std::int64_t> result;
    for (const double value : file_.at(name).to_vector()) result.push_back(static_cast<std::int64_t>(value));
    return result;
  }
  Indices ids(const std::string& name) const { return Indices(whole(name), file_.at(name).shape()); }
  /// 1 = may attend.
  Mask mask(const std::string& name) const {
    const Tensor& x = file_.at(name);
    const auto values = std::make_unique<bool[]>(static_cast<std::size_t>(x.count()) + 1);
    std::size_t i = 0;
    for (const double value : x.to_vector()) values[i++] = value != 0;
    return Mask(std::span<const bool>(values.get(), i), x.shape());
  }

  /// The first parts of the names: "adam", "adam_odd", … — with `depth` 2 "softmax/large", ….
  std::set<std::string> cases(int depth = 1) const {
    std::set<std::string> result;
    for (const auto& [name, tensor] : file_.tensors) {
      std::size_t end = std::string::npos;
      for (int i = 0; i < depth; ++i) end = name.find('/', end == std::string::npos ? 0 : end + 1);
      if (end != std::string::npos) result.insert(name.substr(0, end));
    }
    return result;
  }

 private:
  SafeTensors file_;
};

/// Empty if the tensors agree: same shape, and no element further apart than `tolerance` times the largest
/// expected value (1 if all are zero). Otherwise where they differ most, and by how much. NaN agrees with
/// nothing.
inline std::string difference(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (actual.shape() != expected.shape())
    return fmt::format("shape {}, expected {}", to_string(actual.shape()), to_string(expected.shape()));
  const std::vector<double> a = actual.to_vector(), e = expected.to_vector();
  double largest = 0, worst = 0;
  std::size_t place = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(e[i]));
    const double apart = std::isfinite(a[i]) && std::isfinite(e[i]) ? std::abs(a[i] - e[i])
                         : a[i] == e[i]                             ? 0
                                                                    : HUGE_VAL;
    if (apart > worst) {
      worst = apart;
      place = i;
    }
  }
  if (largest == 0) largest = 1;
  if (worst <= tolerance * largest) return {};
  Dims index = Dims::filled(actual.rank(), 0);
  auto rest = static_cast<Size>(place);
  for (int axis = actual.rank() - 1; axis >= 0; --axis) {
    index[axis] = rest % actual.shape()[axis];
    rest /= actual.shape()[axis];
  }
  return fmt::format(
      "at {} of {}: {:.17g}, expected {:.17g}, apart by {:.3g} (largest value {:.3g}, tolerance {:.3g})",
      to_string(index), to_string(actual.shape()), a[place], e[place], worst, largest, tolerance);
}

/// Fails the test, naming `what` and the worst element, if the tensors differ (see difference()).
inline void check_close(const Tensor& actual, const Tensor& expected, double tolerance,
                        const std::string& what) {
  INFO(what);
  CHECK(difference(actual, expected, tolerance) == "");
}

}  // namespace tapestry::test
