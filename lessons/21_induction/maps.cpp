#include "lessons/21_induction/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/core.hpp"
#include "lessons/kit/text/vocabulary.hpp"

namespace tapestry::lesson21 {
namespace {

constexpr Size kFilmed = 20;  // places of each map over the training

/// The sequence with the shortest round of thirty.
struct Example {
  Indices inputs;  // (1, T)
  Size period = 0;
  std::vector<std::string> symbols;

  explicit Example(std::uint64_t seed) {
    const Sequences some = draw_repeats(kit::Random(seed, 2'000'000), 30);
    const auto shortest = std::min_element(some.periods.begin(), some.periods.end());
    period = *shortest;
    const Size time = some.inputs.shape()[1], row = shortest - some.periods.begin();
    const kit::Ids all = some.inputs.to_vector();
    const kit::Ids ids(all.begin() + row * time, all.begin() + (row + 1) * time);
    inputs = Indices(ids, {1, time});
    for (const std::int64_t id : ids)
      symbols.push_back(std::string(1, static_cast<char>(id < 26 ? 'a' + id : 'A' + id - 26)));
  }
};

std::vector<std::string> first(const std::vector<std::string>& all, Size count) {
  return {all.begin(), all.begin() + count};
}

/// weights (…, T, T) of a head → the first places of both axes
std::vector<double> corner(const Tensor& weights, Size head, Size places) {
  const Tensor own = select(select(weights, 0, 0), 0, head);
  return slice(slice(own, 0, 0, places), 1, 0, places).to_vector();
}

}  // namespace

std::string name_of(Size head) {
  return fmt::format("{} {}", head < kHeads ? "lower" : "upper", head % kHeads + 1);
}

void show_map(const Trained& trained, Size head, const std::string& name, const kit::Options& options) {
  constexpr Size kShown = 40;
  const Example example(options.seed);
  const WeightRecorder recorder(trained.two.layers[head / kHeads].attention);
  trained.two(example.inputs);
  kit::Heatmap map;
  map.title = fmt::format("Where head {} looks; period {}", name_of(head), example.period);
  map.column_axis = "looked at", map.row_axis = "present symbol";
  map.rows = map.columns = first(example.symbols, kShown);
  map.values = corner(recorder.weights().front(), head % kHeads, kShown);
  kit::show(map, options.out / (name + ".svg"));
}

Filmed::Filmed(const kit::Options& options) {
  for (const Size part : {100, 20, 10, 5, 2, 1}) {
    const Size step = std::max<Size>(1, options.steps / part);
    if (when_.empty() || when_.back() != step) when_.push_back(step);
  }
  const Example example(options.seed);
  inputs_ = example.inputs;
  series_.title = fmt::format("Where each head looks; period {}", example.period);
  series_.column_axis = "looked at", series_.row_axis = "present symbol";
  series_.rows = series_.columns = first(example.symbols, kFilmed);
  series_.choices = {{"step", {}, true}, {"layer", {"lower", "upper"}}, {"head", {}}};
  for (const Size step : when_) series_.choices[0].of.push_back(std::to_string(step));
  for (Size head = 1; head <= kHeads; ++head) series_.choices[2].of.push_back(std::to_string(head));
}

void Filmed::after(Size step, const AttentionOnly& model) {
  if (std::find(when_.begin(), when_.end(), step) == when_.end()) return;
  std::deque<WeightRecorder> recorders;  // while they live, they keep the weights
  for (const MultiHeadAttention& heads : model.layers) recorders.emplace_back(heads.attention);
  model(inputs_);
  for (const WeightRecorder& recorder : recorders)
    for (Size head = 0; head < kHeads; ++head)
      series_.maps.push_back(corner(recorder.weights().front(), head, kFilmed));
}

}  // namespace tapestry::lesson21
