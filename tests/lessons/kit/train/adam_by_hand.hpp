// Adam on plain numbers, for tests of training loops: nothing of optim/ is in it.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/tensor/create.hpp"
#include "nn/module.hpp"

namespace tapestry::kit {

/// The weights of a model by name, and what Adam keeps of each.
class AdamByHand {
 public:
  using Decays = std::function<bool(const std::string& name)>;

  AdamByHand(Module& model, double rate, double beta2, double decay = 0, Decays decays = {})
      : model_(model), rate_(rate), beta2_(beta2), decay_(decay), decays_(std::move(decays)) {}

  /// Gradients of all weights together cut to length 1, then one step; `factor` is the schedule's.
  void step(double factor) {
    ++steps_;
    const std::vector<Tensor> weights = model_.parameters();
    double squares = 0;
    for (const Tensor& weight : weights)
      for (const double g : weight.grad().to_vector()) squares += g * g;
    cuts_ += squares > 1;
    const double cut = std::min(1.0, 1 / (std::sqrt(squares) + 1e-6)), rate = rate_ * factor;
    const auto t = static_cast<double>(steps_);
    for (Tensor weight : weights) {
      const std::string name = weight.name();
      std::vector<double> values = weight.to_vector();
      const std::vector<double> gradients = weight.grad().to_vector();
      std::vector<double>&mean = means_[name], &square = squares_[name];
      mean.resize(values.size());
      square.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double g = gradients[i] * cut;
        mean[i] = 0.9 * mean[i] + 0.1 * g;
        square[i] = beta2_ * square[i] + (1 - beta2_) * g * g;
        if (decays_ && decays_(name)) values[i] -= rate * decay_ * values[i];
        values[i] -= rate * (mean[i] / (1 - std::pow(0.9, t))) /
                     (std::sqrt(square[i] / (1 - std::pow(beta2_, t))) + 1e-8);
      }
      weight.clear_grad();
      assign(weight, tensor(values, weight.shape(), weight.dtype()));
    }
  }

  /// Steps whose gradients were cut: a test of clipping wants some, and some that were not.
  Size cuts() const { return cuts_; }

 private:
  Module& model_;
  double rate_, beta2_, decay_;
  Decays decays_;
  Size steps_ = 0, cuts_ = 0;
  std::map<std::string, std::vector<double>> means_, squares_;
};

/// w falls from 1 to `floor` along half a cosine while p goes from 0 to 1.
inline double half_cosine(double p, double floor) {
  return floor + (1 - floor) * (1 + std::cos(3.14159265358979323846 * std::min(1.0, p))) / 2;
}

/// How far the weights of one model are from those of another, by name.
inline double farthest(const State& a, const State& b) {
  double most = 0;
  for (const auto& [name, weight] : a) {
    const std::vector<double> one = weight.to_vector(), other = b.at(name).to_vector();
    for (std::size_t i = 0; i < one.size(); ++i) most = std::max(most, std::abs(one[i] - other.at(i)));
  }
  return most;
}

}  // namespace tapestry::kit
