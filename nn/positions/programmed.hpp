// A score of the learner's own in any model: a lambda (core/attention/score_lambda.hpp) in the slot for
// positions, with parameters that the model initialises, saves and trains.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/attention/score_mod.hpp"
#include "nn/positions/scheme.hpp"

namespace tapestry {

struct ProgramParameter {
  std::string name;
  Dims shape;
  Initialiser first;
};

/// Makes the score for so many queries and keys from the parameters, in the order in which they were given.
/// The last query stands at the last key's place: key j is at.i + (keys − queries) − at.j before query i.
using ScoreProgram = std::function<ScoreMod(const std::vector<Tensor>& parameters, Size queries, Size keys)>;

/// Every attention layer gets its own parameters:
///     .positions = programmed({{"decay", {heads}, constant(0.1)}},
///                             [](const std::vector<Tensor>& p, Size queries, Size keys) {
///                               return score_mod([](auto s, auto at, auto decay) {…}, wrt(p[0]));
///                             })
PositionScheme programmed(std::vector<ProgramParameter> parameters, ScoreProgram program);

class ProgrammedPositions : public PairPositions {
 public:
  ProgrammedPositions(Place place, const std::vector<ProgramParameter>& parameters, ScoreProgram program);

  std::optional<ScoreMod> in_tiles(Size queries, Size keys) const override;
  std::unique_ptr<PairPositions> copy() const override;

 private:
  std::deque<Parameter> parameters_;
  ScoreProgram program_;
};

}  // namespace tapestry
