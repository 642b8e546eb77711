// Checks lesson 30's forms of linear attention against nn/'s, and trains a model with each write rule.
#pragma once

#include <array>
#include <functional>

#include "lessons/30_memory/tasks.hpp"

namespace tapestry::lesson30 {

/// The inputs of linear attention, as leaves: q and k (T, d) with the feature map already applied, and v (T, e).
struct QKV {
  Tensor q, k, v;
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
/// Draws the inputs of `count` words, with positive q and k, d = 8 and e = 6.
QKV random_qkv(Size count, std::uint64_t seed, DType dtype = DType::f64);

/// Computes linear attention in one of its forms and returns the reads (T, e).
using Form = std::function<Tensor(const QKV&)>;
/// Checks a form against linear_attend_by_token() on 500 words in f32. The reads and the gradients may differ by at
/// most 1e-5 of their largest value.
void check_form(const char* name, const Form& form, std::uint64_t seed, kit::Report& report);

/// Linear attention as a loop over words, with gates α and write strengths β, each (T).
using ByWord = Tensor (*)(const QKV& x, WriteRule rule, const Tensor& alpha, const Tensor& beta);
/// Gradient-checks the delta rule with gates and strengths, and compares it with linear_attend() in chunks.
void check_delta(ByWord by_word, std::uint64_t seed, kit::Report& report);

/// Gradient-checks a layer with one head that is written by hand, x (T, width) → (T, width). Compares it with the layer
/// from nn/ that has the same weights.
void check_layer(Tensor (*by_hand)(const Tensor& x, const LinearAttention& layer), std::uint64_t seed,
                 kit::Report& report);

/// Indices of the rules: the sum rule and the delta rule, without and with a gate.
enum : std::size_t { kSum, kGate, kDelta, kBoth };
/// Trains a model with each of four rules on both tasks, with a matrix of `rows` rows. Prints the accuracy for 2 to 8
/// pairs, checks it for 8, and draws rules.svg. Returns the percentage of right answers on the updates with 8 pairs, by
/// rule.
std::array<double, 4> train_rules(Size rows, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
