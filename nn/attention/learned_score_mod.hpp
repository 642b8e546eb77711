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
struct ScoreModParameter {
  std::string name;   // relative to the layer's name
  Dims shape;         // shape of the parameter
  Initialiser first;  // initial values
};

/// Builds the ScoreMod for this number of queries and keys from the parameters, in their declared order. The last query
/// is at the position of the last key, so key at.j is at.i + (keys − queries) − at.j positions before query at.i.
using MakeScoreMod = std::function<ScoreMod(const std::vector<Tensor>& parameters, Size queries, Size keys)>;
/// Computes n numbers for each token, (B, T, n), from the parameters and the layer's input (B, T, width). The numbers
/// of token t may depend on token t alone, since a cache stores them with its key.
using TokenData = std::function<Tensor(const std::vector<Tensor>& parameters, const Tensor& input)>;

/// Value of `score_mod` in AttentionOptions and BlockOptions:
///     .score_mod = {{{"decay", {heads}, constant(0.1)}},
///                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
///                     return score_mod([](auto s, auto at, auto decay) {…}, learned(p[0]));
///                   }}
struct LearnedScoreMod {
  std::vector<ScoreModParameter> parameters = {};  // created by each layer
  MakeScoreMod make = {};                          // empty: scores are unchanged
  /// If set, `make` gets its result for all keys, (B, Tk, n), as an additional last parameter, p.back(). Works only in
  /// the self-attention of MultiHeadAttention and TransformerBlock, where the queries are the last of the keys.
  ///     // The forgetting gate ln sigmoid(W x) of each head (FoX, Lin et al. 2025); `make` sums it along the keys.
  ///     .data = [](const auto& p, const Tensor& x) { return -softplus(-matmul(x, transpose(p[0]))); }
  TokenData data = {};
};

/// Module that holds the parameters of a layer's score_mod.
class ScoreModLayer : public Module {
 public:
  /// Throws if `options` has no make function.
  ScoreModLayer(Parent parent, const LearnedScoreMod& options);

  /// Returns the ScoreMod for this number of queries and keys. `data`: the result of data() for all keys, if
  /// needs_data().
  ScoreMod operator()(Size queries, Size keys, const Tensor& data = {}) const;
  /// Returns the numbers (B, T, n) of the tokens of `input` (B, T, width); undefined unless needs_data(). Throws if
  /// their batch size or T differs from that of the input.
  Tensor data(const Tensor& input) const;
  /// Returns true if LearnedScoreMod::data is set.
  bool needs_data() const { return static_cast<bool>(options_.data); }

 private:
  std::deque<Parameter> parameters_;
  LearnedScoreMod options_;
};

}  // namespace tapestry
