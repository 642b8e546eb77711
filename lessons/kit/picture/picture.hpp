// Pictures of a lesson: described once, written as SVG and drawn in the terminal.
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

/// One curve or cloud of a chart. Points with NaN, an infinity, or (on a log axis) no positive value are
/// skipped, and break a line.
struct Series {
  std::string name;
  std::vector<double> x = {};
  std::vector<double> y = {};
  Mark mark = Mark::line;
  int dashes = 0;  ///< in SVG, of a line: 0 whole; 1 and 2 dashed, so that three on one another are all seen
};

/// A dashed line at a value: a target.
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
  bool same_units = false;  ///< in SVG, of a plane with linear axes: a circle is drawn as a circle
};

/// A matrix with names. Attention: source words are the columns, target words the rows, weights in [0, 1]. Where
/// least is −most the map is signed: zero is pale, and the two signs have colours of their own (in a terminal
/// without colours a minus).
struct Heatmap {
  std::string title;
  std::vector<std::string> columns = {};
  std::vector<std::string> rows = {};
  std::vector<double> values = {};  ///< rows × columns, row after row; NaN is drawn as a gap
  double least = 0;                 ///< the palest colour
  double most = 1;                  ///< the deepest one
  bool numbers = false;             ///< write the values into the cells
  std::string column_axis = {};     ///< what the columns are: "keys"
  std::string row_axis = {};        ///< what the rows are: "queries"

  bool is_signed() const { return least < 0 && most == -least; }
  /// A value's place between least and most, in [0, 1]; NaN where there is nothing to draw.
  double share(std::size_t row, std::size_t column) const;
};

struct Bar {
  std::string label;
  double value = 0;
};

/// Horizontal bars from zero.
struct Bars {
  std::string title;
  std::string x_label;
  std::vector<Bar> bars = {};
  std::optional<Level> level = {};
};

struct GraphNode {
  std::string label;
  std::string detail;  ///< a second, smaller line: a shape, a value
  int kind = 0;        ///< nodes of one kind have one colour: 0 an op, 1 a weight, 2 data, 3 a result
};

/// A directed graph, drawn in layers from top to bottom; edges go from node to node by index. What a node
/// reads stands from left to right in the order of its edges, where that takes no crossing; an edge that is
/// there twice is drawn once, with ×2. Edges that would close a cycle are drawn upwards.
struct Graph {
  std::string title;
  std::vector<GraphNode> nodes = {};
  std::vector<std::pair<Size, Size>> edges = {};
};

/// A whole SVG document.
std::string svg(const Chart& chart);
std::string svg(const Heatmap& map);
std::string svg(const Bars& bars);
std::string svg(const Graph& graph);

/// Its names and values as JSON, the values in thousandths of a whole: what a page draws it from.
std::string json(const Heatmap& map);

/// Lines of text, each ended, none wider than the terminal's columns.
std::string text(const Chart& chart, const Terminal& terminal);
std::string text(const Heatmap& map, const Terminal& terminal);
std::string text(const Bars& bars, const Terminal& terminal);
std::string text(const Graph& graph, const Terminal& terminal);

/// Draws on standard output and says where the SVG is. Use show().
void show_text(const std::string& drawing, const std::filesystem::path& file);
void save_svg(const std::string& document, const std::filesystem::path& file);

/// Writes the picture to `file` (UsageError when that fails) and draws it on standard output. A page is told a heatmap.
template <typename Picture>
void show(const Picture& picture, const std::filesystem::path& file) {
  if constexpr (kOnPage && std::is_same_v<Picture, Heatmap>)
    tell_map(file.filename().string(), json(picture));
  save_svg(svg(picture), file);
  show_text(text(picture, Terminal::of(1)), file);
}

}  // namespace tapestry::kit
