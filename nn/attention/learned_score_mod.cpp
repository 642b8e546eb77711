#include "nn/attention/learned_score_mod.hpp"

namespace tapestry {

ProgrammedScore::ProgrammedScore(Parent parent, const LearnedScoreMod& program)
    : Module(std::move(parent)), program_(program) {
  if (!program_.make) fail("[score_mod{}] a score_mod with parameters must have make, got none", in_quotes());
  for (const ProgramParameter& one : program_.parameters)
    parameters_.emplace_back(*this, one.name, one.shape, one.first);
}

ScoreMod ProgrammedScore::operator()(Size queries, Size keys) const {
  return program_.make({parameters_.begin(), parameters_.end()}, queries, keys);
}

}  // namespace tapestry
