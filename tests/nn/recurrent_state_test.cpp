// Rows of a batch that start from states of their own: also one without any step.
#include "nn/recurrent.hpp"
#include "nn/seq2seq/encoder.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/tensors.hpp"

using namespace tapestry;
using testing::apart;
using testing::equal_bits;
using testing::normal;

namespace {

constexpr Size kStateWidth = 4;

/// A state for each layer and direction, of so many rows.
std::vector<RecurrentState> states(CellKind kind, std::size_t count, Size rows) {
  std::vector<RecurrentState> all;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor hidden = variable(normal({rows, kStateWidth}, 10 + i)),
                 cell = variable(normal({rows, kStateWidth}, 20 + i));
    all.push_back(kind == CellKind::lstm ? RecurrentState(hidden, cell) : RecurrentState(hidden));
  }
  return all;
}

RecurrentState row_of(const RecurrentState& state, Size row) {
  const Tensor hidden = slice(state.hidden, 0, row, row + 1);
  return state.cell.defined() ? RecurrentState(hidden, slice(state.cell, 0, row, row + 1))
                              : RecurrentState(hidden);
}

}  // namespace

TEST_CASE("a row of no steps ends in the state that it began with, and gives its gradient back") {
  const auto kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  CAPTURE(static_cast<int>(kind));
  Recurrent layer({}, kind, 3, kStateWidth, {.layers = 2, .both_directions = true});
  layer.initialise(1, DType::f64);
  const std::vector<RecurrentState> initial = states(kind, 4, 3);
  const Tensor x = normal({3, 5, 3}, 2);
  Tape tape;
  const RecurrentOutput found = layer(x, ValidLengths{3, 0, 5}, initial);
  CHECK(max(abs(select(found.states, 0, 1))).item() == 0);
  Tensor loss = scalar(0, DType::f64);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(equal_bits(select(found.final[i].hidden, 0, 1).detach(), select(initial[i].hidden, 0, 1).detach()));
    loss = loss + sum(select(found.final[i].hidden, 0, 1)) * 3.0;
    if (kind != CellKind::lstm) continue;
    CHECK(equal_bits(select(found.final[i].cell, 0, 1).detach(), select(initial[i].cell, 0, 1).detach()));
    loss = loss + sum(select(found.final[i].cell, 0, 1)) * 5.0;
  }
  tape.backward(loss);
  for (const RecurrentState& state : initial) {
    CHECK(state.hidden.grad().to_vector() == std::vector<double>{0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0});
    if (kind == CellKind::lstm)
      CHECK(state.cell.grad().to_vector() == std::vector<double>{0, 0, 0, 0, 5, 5, 5, 5, 0, 0, 0, 0});
  }
}

TEST_CASE("a row with a state of its own gives what it gives alone") {
  const auto kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  const bool both = GENERATE(false, true);
  CAPTURE(static_cast<int>(kind), both);
  Recurrent layer({}, kind, 3, kStateWidth, {.layers = 2, .both_directions = both});
  layer.initialise(1, DType::f64);
  const std::size_t places = both ? 4 : 2;
  const std::vector<RecurrentState> initial = states(kind, places, 3);
  const std::vector<Size> lengths{2, 4, 1};
  const Tensor x = normal({3, 4, 3}, 2);
  const RecurrentOutput all = layer(x, ValidLengths(lengths), initial);
  for (Size row = 0; row < 3; ++row) {
    CAPTURE(row);
    const Size length = lengths[static_cast<std::size_t>(row)];
    std::vector<RecurrentState> own;
    for (const RecurrentState& state : initial) own.push_back(row_of(state, row));
    const RecurrentOutput alone = layer(slice(slice(x, 0, row, row + 1), 1, 0, length), {}, own);
    CHECK(apart(slice(slice(all.states, 0, row, row + 1), 1, 0, length), alone.states) < 1e-14);
    for (std::size_t i = 0; i < places; ++i) {
      const RecurrentState wanted = row_of(all.final[i], row);
      CHECK(apart(wanted.hidden, alone.final[i].hidden) < 1e-14);
      if (kind == CellKind::lstm) CHECK(apart(wanted.cell, alone.final[i].cell) < 1e-14);
    }
  }
}

TEST_CASE("one layer is its cell, step by step, from any state") {
  const auto kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  Recurrent layer({}, kind, 3, kStateWidth, {});
  layer.initialise(1, DType::f64);
  RecurrentCell cell({}, kind, 3, kStateWidth);
  cell.initialise(2, DType::f64);
  State renamed;
  for (const auto& [name, weight] : layer.state())
    renamed.emplace(name.substr(0, name.size() - 3), weight);  // _l0
  cell.load_state(renamed);
  const std::vector<RecurrentState> initial = states(kind, 1, 2);
  const Tensor x = normal({2, 5, 3}, 2);
  const RecurrentOutput all = layer(x, {}, initial);
  RecurrentState state = initial[0];
  for (Size t = 0; t < 5; ++t) {
    state = cell(select(x, 1, t), state);
    CHECK(apart(select(all.states, 1, t), state.hidden) < 1e-14);
  }
  CHECK(apart(all.final[0].hidden, state.hidden) < 1e-14);
  if (kind == CellKind::lstm) CHECK(apart(all.final[0].cell, state.cell) < 1e-14);
}

TEST_CASE("a source's code is where the last layer ends: forwards at the last word, backwards at the first") {
  const auto kind = GENERATE(CellKind::rnn, CellKind::gru, CellKind::lstm);
  const int layers = GENERATE(1, 3);
  const bool both = GENERATE(false, true);
  CAPTURE(static_cast<int>(kind), layers, both);
  EncoderOptions options{.vocabulary = 9, .embedding = 3, .hidden = kStateWidth, .cell = kind};
  options.recurrent = {.layers = layers, .both_directions = both};
  Encoder encoder(options);
  encoder.initialise(1, DType::f64);
  const std::vector<Size> lengths{2, 4, 1};
  const Encoded found =
      encoder(Indices{4, 5, 0, 0, 6, 7, 8, 4, 5, 0, 0, 0}.reshape({3, 4}), ValidLengths(lengths));
  const Tensor code = found.code();
  REQUIRE(code.shape() == Dims{3, both ? 2 * kStateWidth : kStateWidth});
  for (Size row = 0; row < 3; ++row)
    for (Size i = 0; i < code.size(1); ++i) {
      const Size word = i < kStateWidth ? lengths[static_cast<std::size_t>(row)] - 1 : 0;
      CHECK(code.at({row, i}) == found.states.at({row, word, i}));
    }
}
