// Stochastic gradient descent (Robbins & Monro 1951) with momentum (Polyak 1964) or Nesterov momentum (Sutskever et al.
// 2013).
#pragma once

#include <vector>

#include "optim/optimiser.hpp"

namespace tapestry {

/// Settings of one parameter group.
struct SGDOptions {
  double learning_rate = 1e-2;  // η
  double momentum = 0;          // μ
  double weight_decay = 0;      // λ, added to the gradient as λ w
  bool nesterov = false;        // Nesterov momentum; requires momentum > 0
};

/// Stochastic gradient descent, with PyTorch's conventions. For a weight w with gradient g and velocity b:
///     d = g + λ w,  b ← μ b + d,  w ← w − η b, or with Nesterov w ← w − η (d + μ b)
class SGD : public Optimiser {
 public:
  SGD() = default;
  explicit SGD(std::vector<Tensor> weights, const SGDOptions& options = {}) {
    add_group(std::move(weights), options);
  }

  /// Adds weights as a new group with its own options. Throws Error if an option is out of range, or if a weight is
  /// not a leaf, is not dense or is already in a group.
  void add_group(std::vector<Tensor> weights, const SGDOptions& options);
  /// Options of a group; you may change them between steps, but must not switch momentum on or off. step() checks their
  /// ranges again.
  SGDOptions& group(std::size_t index = 0) { return groups_.at(index); }
  /// Number of groups.
  std::size_t groups() const { return groups_.size(); }

 private:
  void check_options() const override;
  std::span<const char* const> buffer_names(std::size_t group) const override;
  bool counts_steps() const override { return false; }
  void update(std::span<const Ready> ready, double rate_factor, double gradient_scale) override;

  std::vector<SGDOptions> groups_;
};

}  // namespace tapestry
