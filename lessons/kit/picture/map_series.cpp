#include "lessons/kit/picture/map_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "lessons/kit/program/files.hpp"

namespace tapestry::kit {

TrainingRecorder::TrainingRecorder(MapSeries series, Size steps, const std::vector<double>& shares)
    : series_(std::move(series)) {
  for (const double share : shares) {
    // In a short run, several shares can round to the same step.
    const Size step = std::lround(share * static_cast<double>(steps));
    kept_.try_emplace(share > 0 ? std::max<Size>(1, step) : 0);
  }
  Choice choice{"step", {}, true};
  for (const auto& [step, maps] : kept_) choice.of.push_back(std::to_string(step));
  series_.choices.insert(series_.choices.begin(), std::move(choice));
}

void TrainingRecorder::after(Size step, const std::function<std::vector<std::vector<double>>()>& maps) {
  const auto kept = kept_.find(step);
  if (kept == kept_.end()) return;
  for (std::vector<double>& map : maps()) kept->second.push_back(std::move(map));
}

MapSeries TrainingRecorder::series() const {
  MapSeries series = series_;
  for (const auto& [step, maps] : kept_) series.maps.insert(series.maps.end(), maps.begin(), maps.end());
  return series;
}

namespace {

/// Returns the number of cells of the map with index `map`. The last choice changes fastest.
std::size_t cells_of(const MapSeries& series, std::size_t map) {
  std::size_t rows = series.rows.size(), columns = series.columns.size();
  for (auto choice = series.choices.rbegin(); choice != series.choices.rend(); ++choice) {
    const std::size_t option = map % choice->of.size();
    map /= choice->of.size();
    if (!choice->rows.empty()) rows = choice->rows.at(option).size();
    if (!choice->columns.empty()) columns = choice->columns.at(option).size();
  }
  return rows * columns;
}

}  // namespace

void save(const MapSeries& series, const std::filesystem::path& file) {
  using Json = nlohmann::ordered_json;
  Json choices = Json::array(), maps = Json::array();
  std::size_t combinations = 1;
  for (const Choice& choice : series.choices) {
    combinations *= choice.of.size();
    choices.push_back({{"name", choice.name}, {"of", choice.of}, {"grows", choice.grows}});
    if (!choice.rows.empty()) choices.back()["rows"] = choice.rows;
    if (!choice.columns.empty()) choices.back()["columns"] = choice.columns;
  }
  if (series.maps.size() != combinations)
    throw std::invalid_argument(
        fmt::format("series '{0}' must have one map for each of {2} combinations, got {1}", series.title,
                    series.maps.size(), combinations));
  for (const std::vector<double>& map : series.maps) {
    const std::size_t cells = cells_of(series, maps.size());
    if (map.size() != cells)
      throw std::invalid_argument(fmt::format("a map of series '{0}' must have {2} values, got {1}",
                                              series.title, map.size(), cells));
    Json hundredths = Json::array();
    for (const double value : map) hundredths.push_back(static_cast<std::int64_t>(std::lround(100 * value)));
    maps.push_back(std::move(hundredths));
  }
  const Json all = {{"title", series.title},       {"columns", series.columns},
                    {"rows", series.rows},         {"column_axis", series.column_axis},
                    {"row_axis", series.row_axis}, {"most", std::round(100 * series.most) / 100},
                    {"choices", choices},          {"maps", maps}};
  write_atomically(file, all.dump() + "\n");
  std::cout << "  maps: " << file.string() << '\n' << std::flush;
}

}  // namespace tapestry::kit
