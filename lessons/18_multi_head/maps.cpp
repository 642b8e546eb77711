#include "lessons/18_multi_head/maps.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/core.hpp"
#include "nn/attention/weight_recorder.hpp"

namespace tapestry::lesson18 {
namespace {

/// Draws questions about the list that all pictures show.
kit::TwoQuestions one_list(Size questions, const kit::Options& options) {
  return kit::draw_two_questions(kit::Random(options.seed, 2'000'000), questions, true);
}

/// Returns the names of the tokens: a key and its digit.
std::vector<std::string> names_of(const kit::TwoQuestions& list) {
  const std::vector<std::int64_t> keys = list.keys.to_vector(), digits = list.digits.to_vector();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kit::kListPairs; ++i)
    names.push_back(fmt::format("{}{}", kit::key_letter(keys[i]), digits[i]));
  return names;
}

std::string name_of(const kit::TwoQuestions& asked, Size question) {
  return fmt::format("{}, {}?", kit::key_letter(asked.first.to_vector()[static_cast<std::size_t>(question)]),
                     kit::key_letter(asked.second.to_vector()[static_cast<std::size_t>(question)]));
}

/// Returns one question for each key: question i asks for key i, then for the fifth key after it.
kit::TwoQuestions all_keys(const kit::Options& options) {
  kit::TwoQuestions asked = one_list(kit::kListPairs, options);
  const std::vector<std::int64_t> keys = asked.keys.to_vector();
  std::vector<std::int64_t> first, second;
  for (std::size_t i = 0; i < kit::kListPairs; ++i) {
    first.push_back(keys[i]);
    second.push_back(keys[(i + 5) % kit::kListPairs]);
  }
  asked.first = Indices(first, asked.first.shape());
  asked.second = Indices(second, asked.second.shape());
  return asked;
}

/// Returns the series with its axes, but without maps.
kit::MapSeries series_of_heads(const kit::TwoQuestions& asked) {
  kit::MapSeries series{
      .title = "Attention weights of each head: twelve questions, one list",
      .columns = names_of(asked),
      .column_axis = "the list: a key and its digit",
      .row_axis = "the two keys asked for",
      .choices = {{"head", {"the only one", "1 of 2", "2 of 2", "1 of 4", "2 of 4", "3 of 4", "4 of 4"}}}};
  for (Size question = 0; question < kit::kListPairs; ++question)
    series.rows.push_back(name_of(asked, question));
  return series;
}

}  // namespace

Tensor weights_for(const Answerer& model, const kit::TwoQuestions& asked) {
  const WeightRecorder recorder(model.attention.attention);  // records the weights while it exists
  model(asked);
  return squeeze(recorder.weights().front(), 2);
}

void draw_weights(const Answerer& model, const kit::Options& options) {
  const kit::TwoQuestions shown = one_list(3, options);
  const Tensor weights = weights_for(model, shown);
  kit::Heatmap map{"Attention weights of four heads: three questions, one list", names_of(shown)};
  map.column_axis = "the list: a key and its digit", map.row_axis = "the two keys asked for";
  for (Size question = 0; question < weights.size(0); ++question) {
    if (question > 0) {  // a gap
      map.rows.emplace_back();
      map.values.insert(map.values.end(), kit::kListPairs, std::nan(""));
    }
    for (Size head = 0; head < weights.size(1); ++head) {
      map.rows.push_back(fmt::format("{}  head {}", name_of(shown, question), head + 1));
      const std::vector<double> row = select(select(weights, 0, question), 0, head).to_vector();
      map.values.insert(map.values.end(), row.begin(), row.end());
    }
  }
  kit::show(map, options.out / "head_grid.svg");
}

MapRecorder::MapRecorder(const kit::Options& options)
    : asked_(all_keys(options)),
      recorder_(series_of_heads(asked_), options.steps, {0, 0.05, 0.1, 0.2, 0.3, 0.5, 1}) {}

void MapRecorder::after(Size step, const Answerer& model) {
  recorder_.after(step, [&] {
    const Tensor weights = weights_for(model, asked_);
    std::vector<std::vector<double>> maps;
    for (Size head = 0; head < weights.size(1); ++head) maps.push_back(select(weights, 1, head).to_vector());
    return maps;
  });
}

}  // namespace tapestry::lesson18
