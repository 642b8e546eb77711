// Lesson 30's checks of the three forms, and its training.
#pragma once

#include <array>
#include <functional>

#include "lessons/30_memory/tasks.hpp"

namespace tapestry::lesson30 {

/// q and k (T, d), v (T, e), f64: positive features, as leaves.
struct Words {
  Tensor q, k, v;
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
Words draw_words(Size count, std::uint64_t seed, DType dtype = DType::f64);

using Form = std::function<Tensor(const Words&)>;
/// f32, 500 words: how far a form is from linear_attend_by_word(), value and gradients, as a share of the largest
/// number; the target is 1e-5.
void check_apart(const char* name, const Form& form, std::uint64_t seed, kit::Report& report);

/// The delta rule with gates α and strengths β (T), word by word: gradcheck, and nn/'s in chunks beside it.
using ByWord = Tensor (*)(const Words& x, WriteRule rule, const Tensor& alpha, const Tensor& beta);
void check_delta(ByWord by_word, std::uint64_t seed, kit::Report& report);

/// A layer of one head by hand, x (T, width) → (T, width), with the weights of nn/'s: gradcheck, and nn/'s beside it.
void check_layer(Tensor (*by_hand)(const Tensor& x, const LinearAttention& layer), std::uint64_t seed,
                 kit::Report& report);

/// Trains four rules on both tasks, with so many rows d of the matrix, and judges them with eight names; prints a
/// table, and draws rules.svg. Returns the updates that are right, in per cent, by rule.
enum : std::size_t { kSum, kGate, kDelta, kBoth };
std::array<double, 4> train_rules(Size rows, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
