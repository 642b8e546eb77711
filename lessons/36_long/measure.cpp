// Measurements of a language model beyond its trained length: the loss at each position, and the weight of the first
// token.
#include "lessons/36_long/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "core/core.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson36 {

TransformerOptions model_options(const Method& method, Size vocabulary) {
  TransformerOptions options;
  options.vocabulary = vocabulary;
  options.layers = 2;
  options.block.width = 64;
  options.block.heads = options.block.width / kHeadWidth;
  options.block.bias = Bias::no;
  options.block.window = method.window;
  options.block.sink_tokens = method.sink_tokens;
  options.positions = rotary(method.rotary);
  options.scale_words = false;
  return options;
}

kit::Windows long_windows(const Ids& text, Size most) {
  Ids inputs, targets;
  Size count = 0;
  for (Size start = 0; start + kLong < static_cast<Size>(text.size()) && count < most; start += kLong / 2) {
    const auto first = text.begin() + start;
    inputs.insert(inputs.end(), first, first + kLong);
    targets.insert(targets.end(), first + 1, first + kLong + 1);
    ++count;
  }
  return {Indices(inputs, {count, kLong}), Indices(targets, {count, kLong})};
}

std::vector<double> loss_by_position(LanguageModel& model, const kit::Windows& windows) {
  const Evaluating evaluating(model);
  const Tensor losses = cross_entropy(model(windows.inputs), windows.targets, {.reduce = Reduce::none});
  return mean(reshape(losses, windows.inputs.shape()), {0}).to_vector();
}

double mean_between(const std::vector<double>& values, Size from, Size to) {
  return std::accumulate(values.begin() + from, values.begin() + to, 0.0) / static_cast<double>(to - from);
}

std::vector<double> first_token_weight(LanguageModel& model, const kit::Windows& windows, Size from,
                                       Size to) {
  const Evaluating evaluating(model);
  std::deque<WeightRecorder> recorders;  // they record the weights while they exist
  for (const TransformerBlock& block : model.stack.blocks) recorders.emplace_back(block.self->attention);
  model(windows.inputs);
  std::vector<double> by_layer;
  for (const WeightRecorder& recorder : recorders) {
    const Tensor of_first = select(recorder.weights().front(), -1, 0);  // (B, heads, T)
    by_layer.push_back(mean(slice(of_first, -1, from, to)).item());
  }
  return by_layer;
}

}  // namespace tapestry::lesson36
