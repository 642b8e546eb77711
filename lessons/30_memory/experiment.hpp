// Compares lesson 30's three forms with each other, and trains a model with each write rule.
#pragma once

#include <array>
#include <functional>

#include "lessons/30_memory/tasks.hpp"

namespace tapestry::lesson30 {

/// The inputs of linear attention, as leaves: q and k (T, d), which are positive features, and v (T, e). Their type is
/// f64 unless draw_words() is called with another type.
struct Words {
  Tensor q, k, v;
  std::vector<Tensor> leaves() const { return {q, k, v}; }
};
/// Draws `count` random words with d = 8 and e = 6.
Words draw_words(Size count, std::uint64_t seed, DType dtype = DType::f64);

/// A form of linear attention: returns the reads (T, e).
using Form = std::function<Tensor(const Words&)>;
/// Compares the reads and the gradients of a form with those of linear_attend_by_word(), on 500 words in f32. The
/// largest difference must be at most 1e-5 of the largest number.
void check_apart(const char* name, const Form& form, std::uint64_t seed, kit::Report& report);

/// A loop over words with gates α and strengths β, each of shape (T).
using ByWord = Tensor (*)(const Words& x, WriteRule rule, const Tensor& alpha, const Tensor& beta);
/// Gradient-checks the delta rule with gates and strengths, and compares it with linear_attend() in chunks.
void check_delta(ByWord by_word, std::uint64_t seed, kit::Report& report);

/// Gradient-checks a layer with one head that is written by hand, x (T, width) → (T, width). Compares it with the layer
/// from nn/ that has the same weights.
void check_layer(Tensor (*by_hand)(const Tensor& x, const LinearAttention& layer), std::uint64_t seed,
                 kit::Report& report);

/// Trains a model with each of four rules on both tasks, with a matrix of `rows` rows. Judges the models on texts with
/// eight names per section. Prints a table and draws rules.svg. Returns the percentage of right answers on the updates,
/// by rule.
enum : std::size_t { kSum, kGate, kDelta, kBoth };
std::array<double, 4> train_rules(Size rows, const kit::Options& options, kit::Report& report);

}  // namespace tapestry::lesson30
