// What is done to each score of an attention layer, as a lambda (core/attention/score_lambda.hpp), with
// parameters that the layer initialises, saves and trains.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/attention/score_mod.hpp"
#include "nn/module.hpp"

namespace tapestry {

/// One parameter of a program; every layer has its own.
struct ProgramParameter {
  std::string name;   // under the layer's
  Dims shape;         // of the parameter
  Initialiser first;  // its first values
};

/// Makes the score for so many queries and keys from the parameters, in the order in which they were given. The
/// last query stands at the last key's place: key j is at.i + (keys − queries) − at.j before query i.
using MakeScoreMod = std::function<ScoreMod(const std::vector<Tensor>& parameters, Size queries, Size keys)>;

/// The slot `score_mod` of AttentionOptions and BlockOptions:
///     .score_mod = {{{"decay", {heads}, constant(0.1)}},
///                   [](const std::vector<Tensor>& p, Size queries, Size keys) {
///                     return score_mod([](auto s, auto at, auto decay) {…}, learned(p[0]));
///                   }}
struct LearnedScoreMod {
  std::vector<ProgramParameter> parameters = {};  // each layer makes its own
  MakeScoreMod make = {};                         // none: scores stay as they are
};

/// A layer's own parameters for a program.
class ProgrammedScore : public Module {
 public:
  /// Throws where the program has parameters and no function.
  ProgrammedScore(Parent parent, const LearnedScoreMod& program);

  ScoreMod operator()(Size queries, Size keys) const;

 private:
  std::deque<Parameter> parameters_;
  LearnedScoreMod program_;
};

}  // namespace tapestry
