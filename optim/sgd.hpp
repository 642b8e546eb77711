// Stochastic gradient descent (Robbins & Monro 1951) with momentum (Polyak 1964) or Nesterov's (Sutskever et
// al. 2013).
#pragma once

#include <vector>

#include "optim/optimiser.hpp"

namespace tapestry {

struct SGDOptions {
  double learning_rate = 1e-2;  // η
  double momentum = 0;          // μ
  double weight_decay = 0;      // λ
  bool nesterov = false;        // step from where momentum leads to
};

/// d = g + λ w;  b ← μ b + d;  w ← w − η b, with Nesterov w ← w − η (d + μ b). PyTorch's conventions.
class SGD : public Optimiser {
 public:
  SGD() = default;
  explicit SGD(std::vector<Tensor> weights, const SGDOptions& options = {}) {
    add_group(std::move(weights), options);
  }

  /// Throws if an option is out of range.
  void add_group(std::vector<Tensor> weights, const SGDOptions& options);
  /// May be changed between steps; whether there is momentum may not.
  SGDOptions& group(std::size_t index = 0) { return groups_.at(index); }
  /// The number of groups.
  std::size_t groups() const { return groups_.size(); }

 private:
  std::span<const char* const> kept_names(std::size_t group) const override;
  bool counts_steps() const override { return false; }
  void update(std::span<const Ready> ready, double rate_factor, double gradient_scale) override;

  std::vector<SGDOptions> groups_;
};

}  // namespace tapestry
