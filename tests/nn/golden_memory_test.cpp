// Attention as a memory against PyTorch's numbers: linear attention, the LSTM that attends to its past, addressing.
#include "core/attention/linear_attend.hpp"
#include "nn/attention/recurrent/addressing.hpp"
#include "nn/attention/recurrent/linear_attention.hpp"
#include "nn/attention/recurrent/lstmn.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::GoldenCase;

TEST_CASE("linear attention equals PyTorch's recurrence, in chunks of any size and token by token",
          "[linear]") {
  const std::string name = GENERATE("sum", "gates", "delta", "all", "gates_long", "delta_long");
  const Size chunk = GENERATE(0, 1, 4, 64, 1000);  // 0: token by token
  INFO(name << ", chunk " << chunk);
  const GoldenCase golden("linear_attend", name);
  const bool delta = golden.at("delta").item() != 0;
  LinearAttendOptions options{.rule = delta ? WriteRule::delta : WriteRule::sum};
  std::vector<Tensor> leaves;
  const auto input = [&](const char* what) {
    if (!golden.has(what)) return Tensor();
    leaves.push_back(golden.input(what));
    return leaves.back();
  };
  const Tensor q = input("q"), k = input("k"), v = input("v");
  options.log_decay = input("log_keep"), options.beta = input("strength"),
  options.initial_state = input("state");
  Tape tape;
  const LinearAttendResult found =
      chunk == 0 ? linear_attend_by_token(q, k, v, options) : linear_attend(q, k, v, options, chunk);
  golden.check("read", found.output);
  golden.check("last", found.final_state);
  tape.backward(golden.weigh(found.output, "cotangent.read") +
                golden.weigh(found.final_state, "cotangent.last"));
  golden.check_gradients(leaves);
}

TEST_CASE("a layer of linear attention equals PyTorch's", "[linear]") {
  const std::string name = GENERATE("positive", "positive_gate", "unit", "delta", "delta_gate");
  INFO(name);
  const GoldenCase golden("linear_attention", name);
  const auto is = [&](const char* what) { return golden.at(what).item() != 0; };
  const Tensor x = golden.input("input");
  LinearAttention layer({.width = x.size(-1),
                         .heads = static_cast<Size>(golden.at("heads").item()),
                         .rule = is("delta") ? WriteRule::delta : WriteRule::sum,
                         .features = is("positive") ? KeyFeatures::positive : KeyFeatures::unit,
                         .gate = is("gate") ? Gate::yes : Gate::no});
  golden.load_into(layer);
  Tape tape;
  const Tensor y = layer(x).output;
  golden.check("output", y);
  tape.backward(golden.weigh(y));
  golden.check_gradients({x});
  golden.check_gradients(layer.parameters());
}

TEST_CASE("LSTMN equals PyTorch's loop") {
  const std::string name = GENERATE("plain", "one_word");
  INFO(name);
  const GoldenCase golden("lstmn", name);
  const Tensor x = golden.input("input");
  LSTMN layer(x.size(-1), golden.at("cell.weight_hh").size(1), golden.at("v").size(0));
  golden.load_into(layer);
  Tape tape;
  const Tensor y = layer(x).states;
  golden.check("output", y);
  tape.backward(golden.weigh(y));
  golden.check_gradients({x});
  for (const Tensor& leaf : layer.parameters())
    if (golden.has("grad." + leaf.name())) golden.check_gradients({leaf});
}

TEST_CASE("a neural Turing machine's heads equal PyTorch's") {
  const std::string name = GENERATE("one_head", "two_heads");
  INFO(name);
  const GoldenCase golden("addressing", name);
  std::vector<Tensor> leaves;
  for (const char* input :
       {"memory", "before", "key", "strength", "gate", "shift", "sharpness", "erase", "added"})
    leaves.push_back(golden.input(input));
  const Tensor &memory = leaves[0], &before = leaves[1];
  Tape tape;
  const Tensor weights = address(memory, before,
                                 {.key = leaves[2],
                                  .strength = leaves[3],
                                  .gate = leaves[4],
                                  .shift = leaves[5],
                                  .sharpness = leaves[6]});
  const Tensor read = read_memory(memory, weights),
               after = write_memory(memory, weights, leaves[7], leaves[8]);
  golden.check("weights", weights);
  golden.check("read", read);
  golden.check("after", after);
  tape.backward(golden.weigh(weights, "cotangent.weights") + golden.weigh(read, "cotangent.read") +
                golden.weigh(after, "cotangent.after"));
  golden.check_gradients(leaves);
}
