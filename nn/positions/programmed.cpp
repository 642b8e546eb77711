#include "nn/positions/programmed.hpp"

namespace tapestry {

ProgrammedPositions::ProgrammedPositions(Place place, const std::vector<ProgramParameter>& parameters,
                                         ScoreProgram program)
    : PairPositions(std::move(place)), program_(std::move(program)) {
  if (!program_) fail("[programmed{}] no program was given: it makes the score", in_quotes());
  for (const ProgramParameter& one : parameters)
    parameters_.emplace_back(*this, one.name, one.shape, one.first);
}

std::optional<ScoreMod> ProgrammedPositions::in_tiles(Size queries, Size keys) const {
  return program_({parameters_.begin(), parameters_.end()}, queries, keys);
}

std::unique_ptr<PairPositions> ProgrammedPositions::copy() const {
  return std::make_unique<ProgrammedPositions>(*this);
}

PositionScheme programmed(std::vector<ProgramParameter> parameters, ScoreProgram program) {
  return {.pairs = [=](Place place, const PairShape&) {
    return std::make_unique<ProgrammedPositions>(std::move(place), parameters, program);
  }};
}

}  // namespace tapestry
