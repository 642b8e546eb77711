// Finding one's receipts in a pile with three normalisers: the model, its training, what is measured, and
// pictures.
#pragma once

#include <string>
#include <vector>

#include "lessons/28_sparse/receipts.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson28 {

/// A query and a key for each customer, 16 numbers each; score q · k; the values are the amounts.
struct Clerk : Module {
  /// `deviation`: of all numbers, at first.
  Clerk(const Normaliser& normalise, double deviation);
  /// context (B, 1, 1), the average that it read; weights (B, 1, n).
  AttentionOutput operator()(const Receipts& receipts) const;

  Embedding query, key;
  Attention attention;
};

/// What comes of piles of one size; means over piles.
struct Measured {
  double right = 0;    ///< answers in %: 3 · context, rounded, is what was paid
  double sparse = 0;   ///< right, and with at most three weights that are not 0, in %
  double mass = 0;     ///< weights of one's own three receipts, added up
  double support = 0;  ///< weights that are not 0
  double seen = 0;     ///< one's own receipts whose weight is not 0, in %
};
Measured measure(const Clerk& clerk, Size keys, const kit::Options& options);

/// How many receipts a pile has in training, and in the tests.
inline constexpr Size kTrained = 64;
inline constexpr Size kTested[] = {kTrained, 256, 1024, 4096};

struct Run {
  std::string name;
  Measured first;            ///< before training, 64 receipts
  std::vector<Measured> at;  ///< after it; at[i] with kTested[i] receipts
  kit::Series support;       ///< against the steps of training
};

/// What is trained: softmax, entmax, sparsemax, and softmax with six times the steps.
enum Which { kSoftmax, kEntmax, kSparsemax, kLonger };
/// All from numbers of this deviation. Prints a table, draws mass.svg, with the formula of the text for
/// softmax, and compares with the targets.
std::vector<Run> train_each(double deviation, const kit::Options& options, kit::Report& report);

/// Sparsemax from three larger deviations, the last 1, and softmax from 1. Prints a table in which `small`,
/// what came of train_each(), has the first row; compares with the target; draws support.svg.
std::vector<Run> start_larger(const std::vector<Run>& small, const kit::Options& options,
                              kit::Report& report);

/// The mass that softmax gives to one's own among `keys` receipts, foretold from that among 64: the odds of
/// the others grow as their number.
double foretold(double mass, Size keys);

/// The weight of the first of two keys against the difference of their scores, for three normalisers, in
/// two_keys.svg.
void draw_two_keys(const kit::Options& options);

}  // namespace tapestry::lesson28
