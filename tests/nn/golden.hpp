// Golden cases for tests of layers: reads what PyTorch computed, and compares.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/create.hpp"
#include "core/ops/ops.hpp"
#include "core/safetensors.hpp"
#include "core/tape.hpp"
#include "nn/module.hpp"
#include "tests/catch.hpp"

namespace tapestry::testing {

/// One case of a file in tests/golden.
class GoldenCase {
 public:
  GoldenCase(const std::string& file, std::string name)
      : file_(read_safetensors(std::string(TAPESTRY_GOLDEN_DIR) + "/" + file + ".safetensors")),
        name_(std::move(name)) {}

  bool has(const std::string& name) const { return file_.tensors.count(name_ + "/" + name) > 0; }
  const Tensor& at(const std::string& name) const { return file_.at(name_ + "/" + name); }
  /// An input that asks for a gradient.
  Tensor input(const std::string& name) const { return variable(at(name), name); }
  Indices ids(const std::string& name) const {
    const std::vector<double> values = at(name).to_vector();
    return Indices(std::vector<std::int64_t>(values.begin(), values.end()), at(name).shape());
  }
  Mask mask(const std::string& name) const {
    const Indices numbers = ids(name);
    Mask zero = equal(numbers, 0);
    return !zero;
  }
  ValidLengths lengths(const std::string& name = "lengths") const {
    if (!has(name)) return {};
    const std::vector<double> values = at(name).to_vector();
    return ValidLengths(std::vector<Size>(values.begin(), values.end()));
  }

  /// Gives a model the case's parameters, in f64.
  void load_into(Module& model) const {
    State state;
    for (const auto& [name, unused] : model.state()) state.emplace(name, at(name));
    model.load_state(state);
  }

  void check(const std::string& name, const Tensor& found, double tolerance = 1e-11) const {
    INFO(name_ << "/" << name);
    const Tensor& wanted = at(name);
    REQUIRE(to_string(found.shape()) == to_string(wanted.shape()));
    const std::vector<double> a = found.to_vector(), b = wanted.to_vector();
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(b[i]));
      REQUIRE(std::isfinite(a[i]));
      worst = std::max(worst, std::abs(a[i] - b[i]));
    }
    CHECK(worst <= tolerance * std::max(largest, 1e-3));
  }
  void check_gradients(const std::vector<Tensor>& leaves) const {
    for (const Tensor& leaf : leaves) check("grad." + leaf.name(), leaf.grad());
  }
  /// Σ output ⊙ cotangent.
  Tensor weigh(const Tensor& output, const std::string& cotangent = "cotangent") const {
    return sum(output * at(cotangent));
  }

 private:
  SafeTensors file_;
  std::string name_;
};

/// The same shape, type and values (a NaN equals nothing).
inline bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && a.to_vector() == b.to_vector();
}

inline bool all_finite(const Tensor& x) {
  for (double value : x.to_vector())
    if (!std::isfinite(value)) return false;
  return true;
}

}  // namespace tapestry::testing
