// The optimisers Adam (Kingma & Ba 2015, algorithm 1) and AdamW (Loshchilov & Hutter 2019, algorithm 2). As in
// PyTorch, AdamW's learning rate also multiplies the decay.
#pragma once

#include <vector>

#include "optim/optimiser.hpp"

namespace tapestry {

/// Settings of one parameter group of Adam.
struct AdamOptions {
  double learning_rate = 1e-3;  // η
  double beta1 = 0.9;           // β₁, decay of the first moment m
  double beta2 = 0.999;         // β₂, decay of the second moment v
  double epsilon = 1e-8;        // ε
  double weight_decay = 0;      // λ: added to the gradient as λ w; in AdamW, shrinks the weights
};

/// Adam, where g is the gradient of weight w, plus λ w if λ is not decoupled (the kernel is in
/// core/simd/optimiser_step.hpp):
///     m ← β₁ m + (1 − β₁) g        m̂ = m / (1 − β₁ᵗ)
///     v ← β₂ v + (1 − β₂) g²       v̂ = v / (1 − β₂ᵗ)
///     w ← w − η m̂ / (√v̂ + ε)
/// Each weight has its own step count t. So a weight that is unfrozen later starts with t = 1.
class Adam : public Optimiser {
 public:
  Adam() = default;
  explicit Adam(std::vector<Tensor> weights, const AdamOptions& options = {}) {
    add_group(std::move(weights), options);
  }

  /// Adds weights as a new group with its own options. Throws Error if an option is out of range, or if a weight is
  /// not a leaf, is not dense or is already in a group.
  void add_group(std::vector<Tensor> weights, const AdamOptions& options);
  /// Options of a group; you may change them between steps. step() checks them again.
  AdamOptions& group(std::size_t index = 0) { return groups_.at(index); }
  /// Number of groups.
  std::size_t groups() const { return groups_.size(); }

 protected:
  /// If `decoupled`, λ shrinks the weights, w ← (1 − η λ) w before the step, instead of changing the gradient.
  explicit Adam(bool decoupled) : decoupled_(decoupled) {}

 private:
  void check_options() const override;
  std::span<const char* const> buffer_names(std::size_t group) const override;
  bool counts_steps() const override { return true; }
  void update(std::span<const Ready> ready, double rate_factor, double gradient_scale) override;

  std::vector<AdamOptions> groups_;
  bool decoupled_ = false;
};

/// Settings of one parameter group of AdamW.
struct AdamWOptions {
  double learning_rate = 1e-3;  // η
  double beta1 = 0.9;           // β₁, decay of the first moment m
  double beta2 = 0.999;         // β₂, decay of the second moment v
  double epsilon = 1e-8;        // ε
  double weight_decay = 1e-2;   // λ, shrinks the weights: w ← (1 − η λ) w
};

/// Adam with decoupled weight decay: w ← (1 − η λ) w, then Adam's step.
class AdamW : public Adam {
 public:
  AdamW() : Adam(true) {}
  explicit AdamW(std::vector<Tensor> weights, const AdamWOptions& options = {}) : Adam(true) {
    add_group(std::move(weights), options);
  }
  /// Adds weights as a new group. Throws Error as Adam::add_group() does.
  void add_group(std::vector<Tensor> weights, const AdamWOptions& o) {
    Adam::add_group(std::move(weights), {o.learning_rate, o.beta1, o.beta2, o.epsilon, o.weight_decay});
  }
};

}  // namespace tapestry
