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

/// Value of `score_mod` in AttentionOptions and BlockOptions:
///     .score_mod = {{{"decay", {heads}, constant(0.1)}},
///                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
///                     return score_mod([](auto s, auto at, auto decay) {…}, learned(p[0]));
///                   }}
struct LearnedScoreMod {
  std::vector<ProgramParameter> parameters = {};  // created by each layer
  MakeScoreMod make = {};                         // empty: scores are unchanged
};

/// Module that holds the parameters of a layer's score_mod.
class ProgrammedScore : public Module {
 public:
  /// Throws if `program` has no make function.
  ProgrammedScore(Parent parent, const LearnedScoreMod& program);

  /// Returns the ScoreMod for this number of queries and keys.
  ScoreMod operator()(Size queries, Size keys) const;

 private:
  std::deque<Parameter> parameters_;
  LearnedScoreMod program_;
};

}  // namespace tapestry
