// Pictures that tests draw: together they take every branch of what draws them.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/picture/picture.hpp"

namespace tapestry::kit::examples {

inline constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// Three lines whose names take two rows of the legend, a gap, and levels near the top and the bottom.
inline Chart losses() {
  Chart chart{"Loss on held-out text", "step", "loss", {}, {{0.95, "start"}, {0.05, "target"}}};
  const std::vector<std::string> names{"additive score, 128 wide", "scaled dot product, 8 heads of 32",
                                       "no attention at all, the last state alone"};
  for (std::size_t k = 0; k < names.size(); ++k) {
    Series series{names[k], {}, {}, Mark::line, static_cast<int>(k)};
    for (int i = 0; i <= 12; ++i) {
      series.x.push_back(500 * i);
      series.y.push_back(k == 1 && i == 6 ? kNothing
                                          : 0.1 + 0.8 / (1 + 0.5 * i / static_cast<double>(k + 1)));
    }
    chart.series.push_back(series);
  }
  return chart;
}

/// Points beside a line, on two log axes, one of them over many decades.
inline Chart times() {
  return {"Time and length",
          "keys",
          "seconds",
          {{"measured", {16, 64, 256, 1024}, {2e-6, 9e-6, 1.1e-4, 1.6e-3}, Mark::points},
           {"n² law", {16, 1024}, {5e-7, 2e-3}, Mark::line}},
          {{1e-2, "the target"}},
          Scale::log,
          Scale::log};
}

/// One line without labels, with values that axes write with commas and signs.
inline Chart plain() {
  return {"", "", "", {{"only", {-2000, 0, 2500, 4000}, {-0.2, 0.05, 0.31, -0.1}, Mark::line}}, {}};
}

/// A square map with numbers, a gap, a value beyond the most, and names that stand slanted in an SVG.
inline Heatmap alignment() {
  return {"Who looks where",
          {"the", "agreement", "was", "signed"},
          {"l'accord", "a", "été", "signé"},
          {0.10, 0.85, 0.05, 0, 0, 0.2, 0.5, 0.3, kNothing, 0.25, 0.75, 0, 0, 0, 0.02, 1.4},
          0,
          1,
          true};
}

/// A low, wide map without numbers, whose names are short enough to stand straight.
inline Heatmap similarity() {
  return {"Similar",
          {"a", "b", "c", "d", "e", "f"},
          {"first row", "2"},
          {-1, -0.6, -0.2, 0.2, 0.6, 1, 1, 0.5, 0, -0.5, -1, 0.9},
          -1,
          1,
          false};
}

/// Signed, with numbers, and axes that have names.
inline Heatmap differences() {
  Heatmap map{
      "What changed", {"the", "cat", "sat"}, {"the", "sat"}, {-0.8, 0, 0.4, 0.8, -0.1, 0.55}, -0.8, 0.8};
  map.numbers = true;
  map.column_axis = "keys";
  map.row_axis = "queries";
  return map;
}

/// Five maps, three in a line.
inline HeatmapGrid heads() {
  HeatmapGrid grid{"Five heads of one layer", {}, 3};
  for (int head = 0; head < 5; ++head) {
    Heatmap map{"head " + std::to_string(head + 1), {"a", "cat", "sat"}, {"un", "chat"}, {}, 0, 1, false};
    for (int i = 0; i < 6; ++i) map.values.push_back(i == head ? 1 : 0.15 * ((i * (head + 2)) % 5));
    grid.maps.push_back(map);
  }
  grid.maps[3].values[5] = kNothing;
  return grid;
}

/// Maps whose cells are small, or too small for labels: a deep diagonal.
inline HeatmapGrid diagonals(std::size_t side, Size across) {
  HeatmapGrid grid{"Diagonals", {}, across};
  for (Size head = 0; head < across; ++head) {
    Heatmap map{"head " + std::to_string(head), {}, {}, std::vector<double>(side * side), 0, 1, false};
    for (std::size_t i = 0; i < side; ++i) {
      map.rows.push_back("row " + std::to_string(i));
      map.columns.push_back("c" + std::to_string(i));
      map.values[i * side + i] = 1 - 0.02 * static_cast<double>(i);
    }
    grid.maps.push_back(map);
  }
  return grid;
}

/// One row of so many columns: the cells grow small, and lose their round corners.
inline Heatmap strip(std::size_t columns) {
  Heatmap map{"A strip", {}, {"one"}, {}, 0, 1, true};
  for (std::size_t i = 0; i < columns; ++i) {
    map.columns.push_back(std::to_string(i));
    map.values.push_back(static_cast<double>(i % 10) / 9);
  }
  return map;
}

/// Bars to both sides, one that cannot be drawn, a target, and a name too long for half of the width.
inline Bars steps() {
  return {"Steps to 99 %",
          "steps, in thousands",
          {{"additive", 12.5},
           {"a name of one score that is much longer than half of the picture is wide", 3.25},
           {"against", -4},
           {"never", kNothing}},
          Level{10, "target"}};
}

/// Bars without a target, a label below or a long name.
inline Bars few() { return {"Seconds", "", {{"tiles", 0.5}, {"ops", 2}}, {}}; }

/// (w · x + b − y)² with its weights twice: an edge that is there twice, edges that pass layers, one that
/// goes up again, and nodes with and without a second line.
inline Graph formula() {
  return {"Tape",
          {{"w", "(3, 4)", 1},
           {"x", "(8, 3)", 2},
           {"b", "(4)", 1},
           {"y", "(8, 4)", 2},
           {"matmul", "", 0},
           {"+", "", 0},
           {"−", "", 0},
           {"×", "(8, 4)", 0},
           {"loss", "()", 3}},
          {{0, 4}, {1, 4}, {4, 5}, {2, 5}, {5, 6}, {3, 6}, {6, 7}, {6, 7}, {7, 8}, {0, 8}, {8, 1}}};
}

/// A wide title over a narrow drawing.
inline Graph narrow() {
  return {"A title that is wider than all that stands below it", {{"a", "", 1}, {"b", "", 3}}, {{0, 1}}};
}

/// Three layers, whose nodes are read by far ones: the order that is given crosses.
inline Graph crossed() {
  Graph graph{"Crossed", {}, {}};
  for (int n = 0; n < 12; ++n)
    graph.nodes.push_back({"n" + std::to_string(n), n % 3 == 0 ? "wide detail" : "", n % 4});
  graph.edges = {{0, 7},  {1, 6}, {2, 5}, {3, 4}, {0, 5},  {3, 6},  {4, 11},
                 {5, 10}, {6, 9}, {7, 8}, {4, 9}, {0, 10}, {2, 11}, {1, 8}};
  return graph;
}

/// A node that nothing is joined to, and an upper layer that takes an order from the lower one.
inline Graph alone() {
  Graph graph{"Alone", {}, {{0, 4}, {5, 7}, {3, 5}, {3, 4}, {2, 5}, {2, 7}, {1, 4}}};
  for (const char* name : {"a", "b", "c", "d", "sum", "product", "alone", "out"})
    graph.nodes.push_back({name, "", 0});
  return graph;
}

}  // namespace tapestry::kit::examples
