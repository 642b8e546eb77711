// Layers against PyTorch's numbers, with gradients.
#include "nn/embedding.hpp"
#include "nn/linear.hpp"
#include "nn/norm.hpp"
#include "nn/recurrent.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::GoldenCase;

TEST_CASE("Linear equals PyTorch's") {
  const std::string name = GENERATE("bias", "no_bias", "three_axes");
  const GoldenCase golden("linear", name);
  const Tensor x = golden.input("input");
  Linear layer(x.size(-1), golden.at("weight").size(0), golden.has("bias") ? Bias::yes : Bias::no);
  golden.load_into(layer);
  Tape tape;
  const Tensor y = layer(x);
  golden.check("output", y);
  tape.backward(golden.weigh(y));
  golden.check_gradients({x});
  golden.check_gradients(layer.parameters());
}

TEST_CASE("Embedding equals PyTorch's") {
  const std::string name = GENERATE("repeated", "one_axis");
  const GoldenCase golden("embedding", name);
  Embedding layer(golden.at("weight").size(0), golden.at("weight").size(1));
  golden.load_into(layer);
  Tape tape;
  const Tensor y = layer(golden.ids("ids"));
  golden.check("output", y);
  tape.backward(golden.weigh(y));
  golden.check_gradients(layer.parameters());
}

TEST_CASE("LayerNorm equals PyTorch's") {
  const std::string name = GENERATE("two_axes", "three_axes", "eps_matters");
  const GoldenCase golden("layer_norm", name);
  const Tensor x = golden.input("input");
  LayerNorm layer(x.size(-1), golden.at("eps").item());
  golden.load_into(layer);
  Tape tape;
  const Tensor y = layer(x);
  golden.check("output", y);
  tape.backward(golden.weigh(y));
  golden.check_gradients({x});
  golden.check_gradients(layer.parameters());
}

TEST_CASE("RNN, GRU and LSTM equal PyTorch's") {
  const std::string file = GENERATE("rnn", "gru", "lstm");
  const std::string name =
      GENERATE("one_direction", "no_initial_state", "both_directions", "two_layers",
               "two_layers_both_directions", "wide", "lengths", "lengths_both_directions",
               "lengths_last_step_unused", "lengths_two_layers_both_directions", "lengths_wide");
  INFO(file << " " << name);
  const GoldenCase golden(file, name);
  const CellKind kind = file == "rnn" ? CellKind::rnn : file == "gru" ? CellKind::gru : CellKind::lstm;
  const Tensor x = golden.input("input");
  RecurrentOptions options;
  options.layers = golden.has("weight_ih_l1") ? 2 : 1;
  options.both_directions = golden.has("weight_ih_l0_reverse");
  Recurrent layer(Parent{}, kind, x.size(-1), golden.at("weight_hh_l0").size(1), options);
  golden.load_into(layer);

  std::vector<Tensor> inputs{x};
  if (golden.has("initial.h")) inputs.push_back(golden.input("initial.h"));
  if (golden.has("initial.c")) inputs.push_back(golden.input("initial.c"));
  Tape tape;
  std::vector<RecurrentState> initial;
  if (inputs.size() > 1)
    for (Size i = 0; i < inputs[1].size(0); ++i) {
      initial.push_back(select(inputs[1], 0, i));
      if (kind == CellKind::lstm) initial.back().cell = select(inputs[2], 0, i);
    }
  const RecurrentOutput out = layer(x, golden.lengths(), initial);
  std::vector<Tensor> hidden, cell;
  for (const RecurrentState& state : out.final) {
    hidden.push_back(state.hidden);
    if (kind == CellKind::lstm) cell.push_back(state.cell);
  }
  golden.check("output", out.states);
  golden.check("final.h", stack(hidden, 0));
  Tensor loss = golden.weigh(out.states, "cotangent") + golden.weigh(stack(hidden, 0), "cotangent.final.h");
  if (kind == CellKind::lstm) {
    golden.check("final.c", stack(cell, 0));
    loss = loss + golden.weigh(stack(cell, 0), "cotangent.final.c");
  }
  tape.backward(loss);
  golden.check_gradients(inputs);
  golden.check_gradients(layer.parameters());
}

TEST_CASE("RNN, GRU and LSTM cells equal PyTorch's") {
  const std::string file = GENERATE("rnn", "gru", "lstm");
  INFO(file);
  const GoldenCase golden(file, "cell");
  const CellKind kind = file == "rnn" ? CellKind::rnn : file == "gru" ? CellKind::gru : CellKind::lstm;
  const Tensor x = golden.input("input"), h = golden.input("state.h");
  RecurrentCell cell(Parent{}, kind, x.size(-1), h.size(-1));
  golden.load_into(cell);
  std::vector<Tensor> inputs{x, h};
  if (kind == CellKind::lstm) inputs.push_back(golden.input("state.c"));
  Tape tape;
  const RecurrentState next =
      cell(x, kind == CellKind::lstm ? RecurrentState(h, inputs[2]) : RecurrentState(h));
  golden.check("next.h", next.hidden);
  Tensor loss;
  if (kind == CellKind::lstm) {
    golden.check("next.c", next.cell);
    loss = golden.weigh(next.hidden, "cotangent.next.h") + golden.weigh(next.cell, "cotangent.next.c");
  } else {
    loss = golden.weigh(next.hidden, "cotangent.next.h");
  }
  tape.backward(loss);
  golden.check_gradients(inputs);
  golden.check_gradients(cell.parameters());
}
