#include "lessons/21_induction/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/core.hpp"
#include "lessons/kit/text/vocabulary.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson21 {
namespace {

constexpr Size kRecorded = 20;  // places in each map during training

/// The sequence with the shortest round among thirty.
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

/// Returns the first places on both axes of a head's weights (…, T, T).
std::vector<double> corner(const Tensor& weights, Size head, Size places) {
  const Tensor own = select(select(weights, 0, 0), 0, head);
  return slice(slice(own, 0, 0, places), 1, 0, places).to_vector();
}

/// Returns the series with its axes, but without maps.
kit::MapSeries series_of_heads(const Example& example) {
  kit::MapSeries series{.title = fmt::format("Attention weights of each head; period {}", example.period),
                        .columns = first(example.symbols, kRecorded),
                        .rows = first(example.symbols, kRecorded),
                        .column_axis = "place attended to",
                        .row_axis = "current symbol",
                        .choices = {{"layer", {"lower", "upper"}}, {"head", {}}}};
  for (Size head = 1; head <= kHeads; ++head) series.choices[1].of.push_back(std::to_string(head));
  return series;
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
  map.title = fmt::format("Attention weights of head {}; period {}", name_of(head), example.period);
  map.column_axis = "place attended to", map.row_axis = "current symbol";
  map.rows = map.columns = first(example.symbols, kShown);
  map.values = corner(recorder.weights().front(), head % kHeads, kShown);
  kit::show(map, options.out / (name + ".svg"));
}

MapRecorder::MapRecorder(const kit::Options& options)
    : inputs_(Example(options.seed).inputs),
      recorder_(series_of_heads(Example(options.seed)), options.steps, {0.01, 0.05, 0.1, 0.2, 0.5, 1}) {}

void MapRecorder::after(Size step, const AttentionOnly& model) {
  recorder_.after(step, [&] {
    std::deque<WeightRecorder> recorders;  // they record the weights while they exist
    for (const MultiHeadAttention& heads : model.layers) recorders.emplace_back(heads.attention);
    model(inputs_);
    std::vector<std::vector<double>> maps;
    for (const WeightRecorder& recorder : recorders)
      for (Size head = 0; head < kHeads; ++head)
        maps.push_back(corner(recorder.weights().front(), head, kRecorded));
    return maps;
  });
}

}  // namespace tapestry::lesson21
