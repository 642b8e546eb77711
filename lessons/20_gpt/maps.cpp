#include "lessons/20_gpt/maps.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson20 {
namespace {

const std::vector<std::int64_t> kString = {3, 1, 4, 1, 5, 9, 2, 6};
const auto kFirst = static_cast<Size>(kString.size());  // the position of "=", the first with a target

std::string name_of(std::int64_t id) { return id == kit::kEquals ? "=" : std::to_string(id); }

/// Returns the series without maps. Each position with a target has a row, and each input token has a column.
kit::MapSeries series_of_heads(const LanguageModel& model) {
  kit::MapSeries series{.title = "Attention weights of each head while the GPT sorts",
                        .column_axis = "token attended to",
                        .row_axis = "last input token → token to be written",
                        .choices = {{"layer", {}}, {"head", {}}}};
  const kit::NextTokens text = kit::sorting({kString});
  const std::vector<std::int64_t> read = text.inputs.to_vector(), next = text.targets.to_vector();
  for (std::size_t place = 0; place < read.size(); ++place) {
    series.columns.push_back(name_of(read[place]));
    if (next[place] >= 0) series.rows.push_back(name_of(read[place]) + " → " + name_of(next[place]));
  }
  for (Size layer = 1; layer <= model.stack.blocks.size(); ++layer)
    series.choices[0].of.push_back(std::to_string(layer));
  for (Size head = 1; head <= model.stack.blocks[0].self->options().heads; ++head)
    series.choices[1].of.push_back(std::to_string(head));
  return series;
}

}  // namespace

MapRecorder::MapRecorder(const LanguageModel& model, const kit::Options& options)
    : inputs_(kit::sorting({kString}).inputs),
      recorder_(series_of_heads(model), options.steps, {0, 0.02, 0.05, 0.1, 0.2, 0.5, 1}) {}

void MapRecorder::after(Size step, const LanguageModel& model) {
  recorder_.after(step, [&] {
    std::deque<WeightRecorder> recorders;  // they record the weights while they exist
    for (const TransformerBlock& block : model.stack.blocks) recorders.emplace_back(block.self->attention);
    model(inputs_);
    std::vector<std::vector<double>> maps;
    for (const WeightRecorder& recorder : recorders) {
      const Tensor weights = select(recorder.weights().front(), 0, 0);  // (heads, T, T)
      for (Size head = 0; head < weights.size(0); ++head)
        maps.push_back(slice(select(weights, 0, head), 0, kFirst, weights.size(1)).to_vector());
    }
    return maps;
  });
}

}  // namespace tapestry::lesson20
