// The experiment of lesson 06, retrieval under an unknown rotation: the task, the model and three training runs.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson06 {

/// The learned matrices: W_V alone, W_V and W_Q, or all three. Without a matrix, queries or keys are used unchanged.
enum class Projected { nothing, queries, both };

/// The chapter's attend() with the layers of nn/: a Linear without bias for queries, keys and values, and Attention
/// with the score scaled_dot().
struct Retriever : Module {
  /// Takes the widths of queries and keys, of the values before W_V, and of the context.
  Retriever(Size width, Size value_width, Size context_width, Projected projected);
  /// (…, Tq, width), (…, Tk, width), (…, Tk, value_width) → context (…, Tq, context_width), weights (…, Tq, Tk).
  AttentionOutput operator()(const Tensor& query, const Tensor& key, const Tensor& value) const;

  Linear w_q, w_k, w_v;
  Attention attention;
  Projected projected;
};

struct Outcome {
  double answers;   ///< percentage of right answers
  double keys;      ///< percentage of queries whose largest weight is on the right key
  Tensor w_q, w_k;  ///< (d, d), after training
};

/// Returns R (d, d), a rotation in all d = 8 dimensions, which the model is never given.
Tensor hidden_rotation(std::uint64_t seed);
/// Returns a rotation in `width` dimensions: the product of rotations by random angles, one in each plane of two
/// axes.
Tensor random_rotation(Size width, kit::Random random);

/// Trains a Retriever for options.steps steps and tests it on new questions.
Outcome train_and_test(Projected projected, const kit::Options& options);
/// The outcomes of three models, one for each value of Projected.
struct Outcomes {
  Outcome nothing, queries, both;
};
/// Trains one model for each value of Projected, and prints a row for each.
Outcomes train_three(const kit::Options& options);

/// Returns the cosine similarity of two matrices, each flattened to a vector.
double cosine(const Tensor& a, const Tensor& b);

/// Four words x (4, 3), their matrices, and their context as computed by another program.
struct KnownWords {
  Tensor x, w_q, w_k, w_v, context;
};
KnownWords known_words();

/// Draws the weights (3, 3) of "je t' aime" over "I love you" as je_t_aime.svg.
void draw_je_t_aime(const Tensor& weights, const kit::Options& options);
/// Draws the learned W_Qᵀ W_K, scaled to R's norm, on the left and R on the right, as matrices.svg.
void draw(const Tensor& product, const Tensor& rotation, const kit::Options& options);

}  // namespace tapestry::lesson06
