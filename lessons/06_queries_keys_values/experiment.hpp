// The experiment of lesson 06. Each query is a rotated key, and the model must learn the rotation to find the value of
// this key.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson06 {

/// The inputs, besides the values, that are projected by a learned matrix: neither queries nor keys, the queries (W_Q),
/// or both (W_Q and W_K). W_V is always learned. Queries or keys that are not projected are used unchanged.
enum class Projected { nothing, queries, both };

/// The chapter's attend() with the layers of nn/: a Linear without bias for queries, keys and values, and Attention
/// with the score scaled_dot().
struct Retriever : Module {
  /// Takes the width of queries and keys, the width of the values before W_V, the width of the context, and the inputs
  /// that are projected.
  Retriever(Size width, Size value_width, Size context_width, Projected projected);
  /// (…, Tq, width), (…, Tk, width), (…, Tk, value_width) → context (…, Tq, context_width), weights (…, Tq, Tk).
  AttentionOutput operator()(const Tensor& query, const Tensor& key, const Tensor& value) const;

  Linear w_q, w_k, w_v;
  Attention attention;
  Projected projected;
};

struct Outcome {
  double answer_accuracy;  ///< percentage of right answers
  double key_accuracy;     ///< percentage of queries whose largest weight is on the right key
  Tensor w_q, w_k;  ///< (d, d): the values after training; the initial values if the matrix was not used
};

/// Returns R (d, d) with d = 8, the random rotation that the model must learn. It is the same in all batches.
Tensor hidden_rotation(std::uint64_t seed);
/// Returns a random rotation (width, width): the product of one rotation by a random angle for each pair of axes.
Tensor random_rotation(Size width, kit::Random random);

/// Trains a Retriever for options.steps steps and tests it on new batches.
Outcome train_and_test(Projected projected, const kit::Options& options);
/// The outcomes of three models, one for each value of Projected.
struct Outcomes {
  Outcome nothing, queries, both;
  double
      most_frequent;  ///< percentage of right answers of a model that always names the most frequent symbol
};
/// Trains one model for each value of Projected, and prints a row for each. The last row is the percentage of right
/// answers of a model that always names the most frequent symbol of the sixteen keys.
Outcomes train_three(const kit::Options& options);

/// Returns the cosine similarity of two matrices, each flattened to a vector.
double cosine_similarity(const Tensor& a, const Tensor& b);

/// Four words x (4, 3), the matrices W_Q, W_K and W_V (3, 3), and the context (4, 3) that NumPy computed from
/// them.
struct KnownWords {
  Tensor x, w_q, w_k, w_v, context;
};
KnownWords known_words();

/// Draws the attention weights (3, 3) of the French words "je t' aime" over the English words "I love you" as
/// je_t_aime.svg.
void draw_je_t_aime(const Tensor& weights, const kit::Options& options);
/// Draws the learned W_Qᵀ W_K, scaled to R's norm, on the left and R on the right, as matrices.svg.
void draw_matrices(const Tensor& product, const Tensor& rotation, const kit::Options& options);

}  // namespace tapestry::lesson06
