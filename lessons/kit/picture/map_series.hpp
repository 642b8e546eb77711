// Series of heatmaps, indexed by choices such as the training step, the layer and the head.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit {

/// Dimension along which the maps of a series differ, with its options: "layer", {"1", "2"}.
struct Choice {
  std::string name;
  std::vector<std::string> of;
  bool grows = false;  ///< the options are ordered, like steps: shown as a slider instead of buttons
  /// Column and row labels for each option, if they differ from those of the series.
  std::vector<std::vector<std::string>> columns = {}, rows = {};
};

/// One map for each combination of choices. Only the pages of the book show a series; the reader picks the map.
struct MapSeries {
  std::string title;
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};
  std::string column_axis = {};
  std::string row_axis = {};
  std::vector<Choice> choices = {};
  /// Weight that is drawn in the darkest colour.
  double most = 1;
  /// Weights in [0, 1], each map rows × columns in row-major order; the last choice changes fastest.
  std::vector<std::vector<double>> maps = {};
};

/// Records maps at selected steps of a training run, or of several runs one after another.
class TrainingRecorder {
 public:
  /// Takes a `series` without maps and adds "step" as its first choice. The recorded steps are `shares` of `steps`:
  /// 0 is before the first step, 1 after the last.
  TrainingRecorder(MapSeries series, Size steps, const std::vector<double>& shares);

  /// Calls maps() if `step` is recorded. Call this before training with step 0, and after each step. The maps of a
  /// later run are appended to those of an earlier run at the same step.
  void after(Size step, const std::function<std::vector<std::vector<double>>()>& maps);
  MapSeries series() const;

 private:
  MapSeries series_;
  std::map<Size, std::vector<std::vector<double>>> kept_;  // by step
};

/// Writes the series to `file` as JSON, with weights in hundredths, and prints the path. Throws std::invalid_argument
/// if the number of maps or of values does not fit the choices, rows and columns, and UsageError if writing fails.
void save(const MapSeries& series, const std::filesystem::path& file);

}  // namespace tapestry::kit
