// Pictures of a lesson: charts, heatmaps, bars and graphs, drawn as SVG and in the terminal.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/simd/view.hpp"
#include "lessons/kit/program/terminal.hpp"
#include "lessons/kit/program/wasm_bridge.hpp"

namespace tapestry::kit {

enum class Scale { linear, log };
enum class Mark { line, points };

/// One curve or point cloud of a chart. A point with a NaN, an infinity or, on a log axis, a value that is not
/// positive is skipped and interrupts the line.
struct Series {
  std::string name;
  std::vector<double> x = {};
  std::vector<double> y = {};
  Mark mark = Mark::line;
  int dashes = 0;  ///< line style in SVG: 0 solid; 1 and 2 dashed, so that three equal curves are all visible
};

/// Dashed horizontal or vertical line at a value, such as a target.
struct Level {
  double value = 0;
  std::string label;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series = {};
  std::vector<Level> levels = {};
  Scale x_scale = Scale::linear;
  Scale y_scale = Scale::linear;
  bool same_units = false;  ///< equal scale on both linear axes in SVG: a circle looks like a circle
};

/// Matrix with row and column labels. For attention, the columns are source words, the rows are target words, and the
/// values are weights in [0, 1]. If least = −most, the map is signed: zero is pale, and the two signs have different
/// colours (a terminal without colours shows a minus).
struct Heatmap {
  std::string title;
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};
  std::vector<double> values = {};  ///< rows × columns, row-major; NaN is drawn as a gap
  double least = 0;                 ///< value with the palest colour
  double most = 1;                  ///< value with the darkest colour
  bool numbers = false;             ///< write the values into the cells
  std::string column_axis = {};     ///< name of the column axis: "keys"
  std::string row_axis = {};        ///< name of the row axis: "queries"

  bool is_signed() const { return least < 0 && most == -least; }
  /// Returns a value's position between least and most, in [0, 1], or NaN if the cell is a gap.
  double share(std::size_t row, std::size_t column) const;
};

/// Returns the numbers first, first + 1, …, of which there are `count`, as labels of a Heatmap.
std::vector<std::string> numbered(Size count, Size first = 0);

struct Bar {
  std::string label;
  double value = 0;
};

/// Chart of horizontal bars that start at zero.
struct Bars {
  std::string title;
  std::string x_label;
  std::vector<Bar> bars = {};
  std::optional<Level> level = {};
};

struct GraphNode {
  std::string label;
  std::string detail;  ///< a second, smaller line: a shape, a value
  int kind = 0;        ///< colour of the node: 0 an op, 1 a weight, 2 data, 3 a result
};

/// Directed graph, drawn in layers from top to bottom. An edge is a pair of node indices (from, to). The inputs of a
/// node are ordered from left to right like its edges, if that adds no crossing. A duplicate edge is drawn once, with
/// ×2. An edge that would close a cycle is drawn upwards.
struct Graph {
  std::string title;
  std::vector<GraphNode> nodes = {};
  std::vector<std::pair<Size, Size>> edges = {};
};

/// Return a complete SVG document. A heatmap throws std::invalid_argument unless it has rows × columns values.
std::string svg(const Chart& chart);
std::string svg(const Heatmap& map);
std::string svg(const Bars& bars);
std::string svg(const Graph& graph);

/// Returns the labels and values as JSON, values rounded to three decimals, for the pages to draw.
std::string json(const Heatmap& map);

/// Return the picture as lines of text. Each ends with a newline and fits into the terminal's columns.
std::string text(const Chart& chart, const Terminal& terminal);
std::string text(const Heatmap& map, const Terminal& terminal);
std::string text(const Bars& bars, const Terminal& terminal);
std::string text(const Graph& graph, const Terminal& terminal);

/// Prints the drawing and the path of the SVG on standard output. Called by show().
void show_text(const std::string& drawing, const std::filesystem::path& file);
/// Writes the SVG document to `file`. Throws UsageError if writing fails. Called by show().
void save_svg(const std::string& document, const std::filesystem::path& file);

/// Writes the picture to `file` as SVG and draws it on standard output. In WebAssembly a heatmap is also sent to the
/// page. Throws UsageError if writing fails.
template <typename Picture>
void show(const Picture& picture, const std::filesystem::path& file) {
  if constexpr (kOnPage && std::is_same_v<Picture, Heatmap>)
    tell_map(file.filename().string(), json(picture));
  save_svg(svg(picture), file);
  show_text(text(picture, Terminal::of(1)), file);
}

}  // namespace tapestry::kit
