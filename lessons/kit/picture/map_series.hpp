// Maps over something: the same rows and columns at several steps of training, or of each layer and head.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// What tells maps of a series apart, and what it can be: "layer", {"1", "2"}.
struct Choice {
  std::string name;
  std::vector<std::string> of;
  bool grows = false;  ///< from little to much, as steps do: a slider for it, buttons otherwise
};

/// A map for each combination of choices. A terminal has no room for them, a page of the book shows the one that
/// its reader picks.
struct MapSeries {
  std::string title;
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};
  std::string column_axis = {};
  std::string row_axis = {};
  std::vector<Choice> choices = {};
  /// Weights in [0, 1], rows × columns, row after row; the last choice changes fastest.
  std::vector<std::vector<double>> maps = {};
};

/// Writes the series to `file` as JSON, its values in hundredths, and says where it is. std::invalid_argument for
/// another number of maps or values than choices, rows and columns ask for; UsageError if it cannot be written.
void save(const MapSeries& series, const std::filesystem::path& file);

}  // namespace tapestry::kit
