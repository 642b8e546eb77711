// Retrieval under an unknown rotation: the task, the model and the three trainings of lesson 06.
#pragma once

#include "core/core.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"

namespace tapestry::lesson06 {

/// Which roles have a matrix of their own besides W_V; where one has none, a query or key is taken as it
/// stands.
enum class Projected { nothing, queries, both };

/// The chapter's attend() in terms of nn/: a role is a Linear without bias, and the rest is Attention with
/// the score scaled_dot().
struct Retriever : Module {
  /// `width` of queries and keys, `giving` of values; `answers`: how wide a context is.
  Retriever(Size width, Size giving, Size answers, Projected projected);
  /// (…, Tq, width), (…, Tk, width), (…, Tk, giving) → context (…, Tq, answers), weights (…, Tq, Tk).
  AttentionOutput operator()(const Tensor& asking, const Tensor& offering, const Tensor& giving) const;

  Linear w_q, w_k, w_v;
  Attention attention;
  Projected projected;
};

struct Outcome {
  double answers, keys;  ///< per cent: right answers; the largest weight on the key that was meant
  Tensor w_q, w_k;       ///< (d, d) as they were learned
};

/// What nobody tells the model: R (d, d), a rotation of all d = 8 axes.
Tensor hidden_rotation(std::uint64_t seed);
/// A rotation of `width` axes: in each plane of two axes by an angle of its own.
Tensor random_rotation(Size width, kit::Random random);

/// Trains a Retriever for options.steps, and tests it on fresh questions.
Outcome train_and_test(Projected projected, const kit::Options& options);
/// With each kind of Projected; prints a row for each.
struct Outcomes {
  Outcome nothing, queries, both;
};
Outcomes train_three(const kit::Options& options);

/// Of two matrices, each read as one list of numbers.
double cosine(const Tensor& a, const Tensor& b);

/// Four words x (4, 3), their matrices, and the context that another program gives for them.
struct KnownWords {
  Tensor x, w_q, w_k, w_v, context;
};
KnownWords known_words();

/// The weights (3, 3) of "je t' aime" on "I love you"; to je_t_aime.svg.
void draw_je_t_aime(const Tensor& weights, const kit::Options& options);
/// Left the learned W_Qᵀ W_K, scaled to R's length, right R; to matrices.svg.
void draw(const Tensor& product, const Tensor& rotation, const kit::Options& options);

}  // namespace tapestry::lesson06
