// Trains and measures the model that finds a customer's receipts with three normalisers, and plots the
// results.
#pragma once

#include <string>
#include <vector>

#include "lessons/28_sparse/receipts.hpp"
#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"
#include "nn/embedding.hpp"

namespace tapestry::lesson28 {

/// Attention with a learned query and key of 16 numbers for each customer. The score is q · k, the values are the
/// amounts.
struct ReceiptModel : Module {
  /// `deviation` is the standard deviation of all initial parameters.
  ReceiptModel(const Normaliser& normalise, double deviation);
  /// Returns the context (B, 1, 1), which is the predicted average, and the weights (B, 1, n).
  AttentionOutput operator()(const Receipts& receipts) const;

  Embedding query, key;
  Attention attention;
};

/// Test results for piles of one size, as means over the piles.
struct Metrics {
  double right = 0;          ///< right answers in %: 3 · context, rounded, is the amount paid
  double sparse_right = 0;   ///< right answers with at most three non-zero weights, in %
  double mass = 0;           ///< sum of the weights of the customer's three receipts
  double support = 0;        ///< number of non-zero weights
  double own_supported = 0;  ///< the customer's receipts with a non-zero weight, in %
};
Metrics measure(const ReceiptModel& model, Size keys, const kit::Options& options);

/// Number of receipts in a pile: in training, and in the tests.
inline constexpr Size kTrained = 64;
inline constexpr Size kTested[] = {kTrained, 256, 1024, 4096};

struct TrainingRun {
  std::string name;
  Metrics before;           ///< before training, with 64 receipts
  std::vector<Metrics> at;  ///< after training; at[i] with kTested[i] receipts
  kit::Series support;      ///< number of non-zero weights, at every second step up to 200
};

/// Indices of the training runs; kLonger is softmax with six times the steps.
enum RunIndex { kSoftmax, kEntmax, kSparsemax, kLonger };
/// Trains all four from initial parameters with this deviation. Prints a table, draws mass.svg (with the
/// predicted mass of softmax), and compares the results with the targets.
std::vector<TrainingRun> train_each(double deviation, const kit::Options& options, kit::Report& report);

/// Trains sparsemax from three larger deviations, of which the last is 1, and softmax from 1. Prints a table
/// whose first row is from `small`, the result of train_each(). Compares with the target and draws
/// support.svg.
std::vector<TrainingRun> train_from_larger(const std::vector<TrainingRun>& small, const kit::Options& options,
                                           kit::Report& report);

/// Predicts the mass that softmax gives to the customer's own among `keys` receipts, from the mass among 64:
/// the odds of the other receipts grow in proportion to their number.
double predicted_mass(double mass, Size keys);

/// Draws two_keys.svg: the weight of the first of two keys, plotted over the difference of their scores, for
/// three normalisers.
void draw_two_keys(const kit::Options& options);

}  // namespace tapestry::lesson28
