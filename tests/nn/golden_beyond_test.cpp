// Sparse weights, pointing and pictures against PyTorch's numbers.
#include <functional>
#include <map>

#include "core/ops/ops.hpp"
#include "nn/attention/pointing/copy.hpp"
#include "nn/attention/pointing/coverage.hpp"
#include "nn/attention/pointing/monotonic.hpp"
#include "nn/vision/gates.hpp"
#include "nn/vision/windows.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;
using testing::GoldenCase;

namespace {

/// One output, and the gradients of these leaves.
void check(const GoldenCase& golden, const std::vector<Tensor>& leaves, const std::function<Tensor()>& f,
           const std::string& output = "output") {
  Tape tape;
  const Tensor y = f();
  golden.check(output, y);
  tape.backward(golden.weigh(y, output == "output" ? "cotangent" : "cotangent." + output));
  golden.check_gradients(leaves);
}

void check_layer(const GoldenCase& golden, Module& layer, const std::function<Tensor(const Tensor&)>& f) {
  golden.load_into(layer);
  const Tensor x = golden.input("input");
  std::vector<Tensor> leaves = layer.parameters();
  leaves.push_back(x);
  check(golden, leaves, [&] { return f(x); });
}

}  // namespace

TEST_CASE("sparsemax and entmax equal a bisection's") {
  const std::string name = GENERATE("sparsemax", "sparsemax_mask", "entmax15", "entmax15_mask");
  INFO(name);
  const GoldenCase golden("sparse", name);
  const Tensor scores = golden.input("scores");
  const Mask mask = golden.has("mask") ? golden.mask("mask") : Mask();
  check(golden, {scores},
        [&] { return name.starts_with("sparsemax") ? sparsemax(scores, mask) : entmax15(scores, mask); });
}

TEST_CASE("a writer that copies equals PyTorch's") {
  const std::string name = GENERATE("copy_mixture", "copy_loss");
  INFO(name);
  const GoldenCase golden("pointing", name);
  const CopyScores scores{golden.input("logits"), golden.input("weights"), golden.input("gate")};
  const Indices source = golden.ids("source");
  const bool loss = name == "copy_loss";
  check(
      golden, {scores.logits, scores.weights, scores.gate},
      [&] { return loss ? copy_loss(scores, source, golden.ids("targets")) : copy_mixture(scores, source); },
      loss ? "loss" : "output");
}

TEST_CASE("coverage and its loss equal PyTorch's") {
  const GoldenCase golden("pointing", "coverage");
  const Tensor weights = golden.input("weights");
  Tape tape;
  const Tensor covered = covered_before(weights), loss = coverage_loss(weights);
  golden.check("covered", covered);
  golden.check("loss", loss);
  tape.backward(golden.weigh(covered, "cotangent.covered") + golden.weigh(loss, "cotangent.loss"));
  golden.check_gradients({weights});
}

TEST_CASE("monotonic attention equals PyTorch's loop") {
  const GoldenCase golden("pointing", "monotonic");
  const Tensor scores = golden.input("scores");
  check(golden, {scores}, [&] { return monotonic_weights(scores); });
}

TEST_CASE("a convolution equals PyTorch's conv2d") {
  const std::string name = GENERATE("convolution", "convolution_5", "convolution_1");
  INFO(name);
  const GoldenCase golden("vision", name);
  Convolution layer(golden.at("input").size(-1), golden.at("weight").size(0),
                    static_cast<Size>(golden.at("size").item()), golden.has("bias") ? Bias::yes : Bias::no);
  check_layer(golden, layer, [&](const Tensor& x) { return layer(x); });
}

TEST_CASE("a linear layer of windows equals PyTorch's conv2d with a stride") {
  const std::string name = GENERATE("windows", "windows_overlap", "windows_apart");
  INFO(name);
  const GoldenCase golden("vision", name);
  const Tensor x = golden.input("input"), weight = golden.input("weight");
  const auto size = static_cast<Size>(golden.at("size").item()),
             stride = static_cast<Size>(golden.at("stride").item());
  check(golden, {x, weight}, [&] { return linear(windows(x, size, stride), weight); });
}

TEST_CASE("patches equal PyTorch's unfold") {
  const GoldenCase golden("vision", "patches");
  const Tensor x = golden.input("input");
  check(golden, {x}, [&] { return patches(x, 2); });
}

TEST_CASE("attention to channels and places equals PyTorch's") {
  const std::string name = GENERATE("channel_mean", "channel_mean_and_max", "spatial", "channel_spatial");
  INFO(name);
  const GoldenCase golden("vision", name);
  const Size channels = golden.at("input").size(-1);
  const auto run = [&](auto layer) { check_layer(golden, layer, [&](const Tensor& x) { return layer(x); }); };
  if (name == "spatial") return run(SpatialAttention(3));
  if (name == "channel_spatial")
    return run(ChannelSpatialAttention(channels, golden.at("channel.first.weight").size(0), 3));
  const Squeeze squeeze = name == "channel_mean" ? Squeeze::mean : Squeeze::mean_and_max;
  run(ChannelAttention(channels, golden.at("first.weight").size(0), squeeze));
}
