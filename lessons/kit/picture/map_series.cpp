#include "lessons/kit/picture/map_series.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lessons/kit/program/files.hpp"

namespace tapestry::kit {

void save(const MapSeries& series, const std::filesystem::path& file) {
  using Json = nlohmann::ordered_json;
  Json choices = Json::array(), maps = Json::array();
  std::size_t combinations = 1;
  for (const Choice& choice : series.choices) {
    combinations *= choice.of.size();
    choices.push_back({{"name", choice.name}, {"of", choice.of}, {"grows", choice.grows}});
  }
  if (series.maps.size() != combinations)
    throw std::invalid_argument(fmt::format("series '{}' has {} maps for {} combinations", series.title,
                                            series.maps.size(), combinations));
  const std::size_t cells = series.rows.size() * series.columns.size();
  for (const std::vector<double>& map : series.maps) {
    if (map.size() != cells)
      throw std::invalid_argument(
          fmt::format("series '{}' has a map of {} values for {} cells", series.title, map.size(), cells));
    Json hundredths = Json::array();
    for (const double value : map) hundredths.push_back(static_cast<std::int64_t>(std::lround(100 * value)));
    maps.push_back(std::move(hundredths));
  }
  const Json all = {{"title", series.title},
                    {"columns", series.columns},
                    {"rows", series.rows},
                    {"column_axis", series.column_axis},
                    {"row_axis", series.row_axis},
                    {"choices", choices},
                    {"maps", maps}};
  write_atomically(file, all.dump() + "\n");
  std::cout << "  maps: " << file.string() << '\n' << std::flush;
}

}  // namespace tapestry::kit
