// A score_mod with learned parameters: a lambda applied to each score of an attention layer
// (core/attention/score_lambda.hpp). The layer initialises, saves and trains the parameters.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/attention/score_mod.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// One parameter of a score_mod; every layer has its own copy.
struct ProgramParameter {
  std::string name;   // under the layer's name
  Dims shape;         // shape of the parameter
  Initialiser first;  // initial values
};

/// Builds the ScoreMod for a number of queries and keys from the parameters, in their declared order. The
/// last query is at the position of the last key: key j is at.i + (keys − queries) − at.j before query i.
using MakeScoreMod = std::function<ScoreMod(const std::vector<Tensor>& parameters, Size queries, Size keys)>;
/// Computes n numbers for each token from the parameters and the layer's input (B, T, width): (B, T, n). Token t's
/// numbers may depend on token t alone, since a cache stores them with its keys.
using TokenData = std::function<Tensor(const std::vector<Tensor>& parameters, const Tensor& input)>;

/// Value of `score_mod` in AttentionOptions and BlockOptions:
///     .score_mod = {{{"decay", {heads}, constant(0.1)}},
///                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
///                     return score_mod([](auto s, auto at, auto decay) {…}, learned(p[0]));
///                   }}
struct LearnedScoreMod {
  std::vector<ProgramParameter> parameters = {};  // created by each layer
  MakeScoreMod make = {};                         // empty: scores are unchanged
  /// If set, its result for all keys (B, Tk, n) follows the parameters that `make` receives: p.back(). The queries are
  /// the last of these tokens, so `data` is for self-attention in MultiHeadAttention and TransformerBlock.
  ///     // The forgetting gate ln sigmoid(W x) of each head (FoX, Lin et al. 2025); `make` sums it along the keys.
  ///     .data = [](const auto& p, const Tensor& x) { return -softplus(-matmul(x, transpose(p[0]))); }
  TokenData data = {};
};

/// Module that holds the parameters of a layer's score_mod.
class ProgrammedScore : public Module {
 public:
  /// Throws if `program` has no make function.
  ProgrammedScore(Parent parent, const LearnedScoreMod& program);

  /// Returns the ScoreMod for this number of queries and keys.
  /// `data` is the result of data() for all keys, if the program has such a function.
  ScoreMod operator()(Size queries, Size keys, const Tensor& data = {}) const;
  /// Returns the numbers of each token of `input` (B, T, width), (B, T, n); undefined without such a function. Throws
  /// if they have another batch size or time.
  Tensor data(const Tensor& input) const;
  /// Returns true if the program computes numbers from the layer's input.
  bool needs_data() const { return static_cast<bool>(program_.data); }

 private:
  std::deque<Parameter> parameters_;
  LearnedScoreMod program_;
};

}  // namespace tapestry
