#include "lessons/13_local/window_data.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "lessons/kit/program/files.hpp"

namespace tapestry::lesson13 {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the values as a list of rows, rounded to four decimals.
Json table(const std::vector<double>& values, std::size_t width) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % width == 0) rows.push_back(Json::array());
    rows.back().push_back(std::round(1e4 * values[i]) / 1e4);
  }
  return rows;
}

}  // namespace

void save(const SeenText& text, const std::filesystem::path& file) {
  const std::size_t width = text.source.size();
  const Json all = {{"name", text.name},
                    {"reach", text.reach},
                    {"fades", text.fades},
                    {"source", text.source},
                    {"answers", text.answers},
                    {"p", table(text.p, text.p.size())[0]},
                    {"scores", table(text.scores, width)},
                    {"weights", table(text.weights, width)}};
  kit::write_atomically(file, all.dump() + "\n");
}

}  // namespace tapestry::lesson13
