// Maps over something: the same rows and columns at several steps of training, or of each layer and head.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// What tells maps of a series apart, and what it can be: "layer", {"1", "2"}.
struct Choice {
  std::string name;
  std::vector<std::string> of;
  bool grows = false;  ///< from little to much, as steps do: a slider for it, buttons otherwise
  /// Of each option, if its maps have others than the series: names of columns and of rows.
  std::vector<std::vector<std::string>> columns = {}, rows = {};
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
  /// The weight that has the darkest colour.
  double most = 1;
  /// Weights in [0, 1], rows × columns, row after row; the last choice changes fastest.
  std::vector<std::vector<double>> maps = {};
};

/// Keeps maps at some steps of a training, or of several that follow each other.
class TrainingRecorder {
 public:
  /// `series` lacks the choice of a step, which becomes its first, and maps. Steps are given as `shares` of all
  /// `steps`: 0 is before the first, 1 the last.
  TrainingRecorder(MapSeries series, Size steps, const std::vector<double>& shares);

  /// Runs before a training, as step 0, and after each step; asks for maps if this one is kept. What a later
  /// training gives at a step stands behind what an earlier one gave.
  void after(Size step, const std::function<std::vector<std::vector<double>>()>& maps);
  MapSeries series() const;

 private:
  MapSeries series_;
  std::map<Size, std::vector<std::vector<double>>> kept_;  // by step
};

/// Writes the series to `file` as JSON, its values in hundredths, and says where it is. std::invalid_argument for
/// another number of maps or values than choices, rows and columns ask for; UsageError if it cannot be written.
void save(const MapSeries& series, const std::filesystem::path& file);

}  // namespace tapestry::kit
