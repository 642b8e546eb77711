// Golden cases for tests of layers: reads what PyTorch computed, and compares.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "nn/module.hpp"
#include "tests/golden/golden.hpp"

namespace tapestry::testing {

/// One case of a file in tests/golden.
class GoldenCase {
 public:
  GoldenCase(const std::string& file, std::string name) : file_(file), name_(std::move(name)) {}

  bool has(const std::string& name) const { return file_.has(full(name)); }
  const Tensor& at(const std::string& name) const { return file_[full(name)]; }
  /// An input that asks for a gradient.
  Tensor input(const std::string& name) const { return variable(at(name), name); }
  Indices ids(const std::string& name) const { return file_.ids(full(name)); }
  Mask mask(const std::string& name) const { return file_.mask(full(name)); }
  ValidLengths lengths(const std::string& name = "lengths") const {
    return has(name) ? ValidLengths(file_.whole(full(name))) : ValidLengths();
  }

  /// Gives a model the case's parameters, in f64.
  void load_into(Module& model) const {
    State state;
    for (const auto& [name, unused] : model.state()) state.emplace(name, at(name));
    model.load_state(state);
  }

  void check(const std::string& name, const Tensor& found, double tolerance = 1e-11) const {
    test::check_close(found, at(name), tolerance, full(name));
  }
  void check_gradients(const std::vector<Tensor>& leaves) const {
    for (const Tensor& leaf : leaves) check("grad." + leaf.name(), leaf.grad());
  }
  /// Σ output ⊙ cotangent.
  Tensor weigh(const Tensor& output, const std::string& cotangent = "cotangent") const {
    return sum(output * at(cotangent));
  }

 private:
  std::string full(const std::string& name) const { return name_ + "/" + name; }

  test::Golden file_;
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
