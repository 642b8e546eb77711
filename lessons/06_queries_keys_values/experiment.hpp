// The experiment of lesson 06: a model learns to find the value of a key, given the key rotated by an unknown rotation.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson06 {

/// The learned projections: W_V alone, W_Q and W_V, or all three. Queries and keys without a learned projection are
/// used unchanged.
enum class LearnedProjections { v, qv, qkv };

/// The chapter's attend() built from nn/: a Linear without bias for queries, keys and values, and Attention with the
/// score scaled_dot().
struct Retriever : Module {
  /// `width` is that of queries and keys. W_V maps values of `value_width` numbers to `context_width` numbers.
  Retriever(Size width, Size value_width, Size context_width, LearnedProjections learned);
  /// (…, Tq, width), (…, Tk, width), (…, Tk, value_width) → context (…, Tq, context_width), weights (…, Tq, Tk).
  AttentionOutput operator()(const Tensor& query, const Tensor& key, const Tensor& value) const;

  Linear w_q, w_k, w_v;
  Attention attention;
  LearnedProjections learned;
};

/// Returns R (d, d) with d = 8, the rotation that the model must learn. It depends only on the seed.
Tensor hidden_rotation(std::uint64_t seed);

/// Test results of a trained Retriever.
struct RetrievalResult {
  double answer_accuracy;  ///< percentage of right answers
  double key_accuracy;     ///< percentage of queries whose largest weight is on the right key
  Tensor w_q, w_k;         ///< (d, d): the learned matrices; the initial values if a matrix was not learned
};
struct RetrievalResults {
  RetrievalResult v, qv, qkv;  ///< by the learned projections
  double most_frequent;        ///< accuracy of always naming the most frequent symbol of the sixteen keys
};
/// Trains a Retriever for each of these choices, for options.steps steps, and tests it on new questions. Prints a row
/// for each, and a last row with `most_frequent`.
RetrievalResults train_retrievers(const kit::Options& options);

/// Returns the cosine similarity of two matrices, each flattened to a vector.
double cosine_similarity(const Tensor& a, const Tensor& b);

/// Four words x (4, 3), the matrices W_Q, W_K and W_V (3, 3), and the context (4, 3) that NumPy computed from them.
struct NumpyExample {
  Tensor x, w_q, w_k, w_v, context;
};
NumpyExample numpy_example();

/// Draws je_t_aime.svg: the attention weights (3, 3) of the French words "je t' aime" on the English words "I love
/// you".
void draw_je_t_aime(const Tensor& weights, const kit::Options& options);
/// Draws matrices.svg: on the left the learned W_Qᵀ W_K, scaled to R's norm, and on the right R.
void draw_matrices(const Tensor& product, const Tensor& rotation, const kit::Options& options);

}  // namespace tapestry::lesson06
