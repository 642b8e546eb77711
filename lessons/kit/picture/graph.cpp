// Layered graphs as SVG and as terminal text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lessons/kit/picture/canvas.hpp"
#include "lessons/kit/picture/graph_layout.hpp"
#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/picture/svg.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

struct Style {
  std::string_view fill, stroke;
  int colour;  // in the terminal
};

const Style& style(int kind) {
  static constexpr std::array<Style, 4> kStyles = {{{"#f5f7fa", "#9aa5b1", 252},
                                                    {"#e3f1fb", "#0072b2", 74},
                                                    {"#fdf3dc", "#c98a00", 178},
                                                    {"#fde8dc", "#d55e00", 208}}};
  return kStyles[static_cast<std::size_t>(std::clamp(kind, 0, 3))];
}

const GraphNode& node_of(const Graph& graph, Size node) {
  return graph.nodes[static_cast<std::size_t>(node)];
}

/// Returns the number of parallel edges for the first of them, and 0 for the others.
std::ptrdiff_t times(const Graph& graph, std::size_t edge) {
  const auto here = graph.edges.begin() + static_cast<std::ptrdiff_t>(edge);
  if (std::find(graph.edges.begin(), here, *here) != here) return 0;
  return std::count(here, graph.edges.end(), *here);
}

const Slot& slot_at(const GraphLayout& layout, std::pair<Size, Size> place) {
  return layout.layers[static_cast<std::size_t>(place.first)][static_cast<std::size_t>(place.second)];
}

}  // namespace

std::string svg(const Graph& graph) {
  constexpr double kNodeHeight = 44, kLayerStep = 92, kMargin = 28;
  std::vector<double> widths;
  for (const GraphNode& node : graph.nodes) {
    widths.push_back(std::max({text_width(node.label, 14), text_width(node.detail, 11), 34.0}) + 24);
  }
  const GraphLayout layout = lay_out(static_cast<Size>(graph.nodes.size()), graph.edges, widths, 26, 8);
  const auto layers = static_cast<double>(layout.layers.size());
  const double top = 60;
  const double width = std::max(layout.width, text_width(graph.title, 17)) + 2 * kMargin;
  const double left = (width - layout.width) / 2;
  Svg out(width, top + std::max(layers - 1, 0.0) * kLayerStep + kNodeHeight + kMargin, graph.title);
  out.text(kMargin, 32, graph.title, {17, kInk, Anchor::start, true});

  for (std::size_t e = 0; e < layout.paths.size(); ++e) {
    std::vector<Point> points;
    const auto& path = layout.paths[e];
    if (path.empty() || times(graph, e) == 0) continue;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const double y = top + static_cast<double>(path[i].first) * kLayerStep;
      const double x = left + slot_at(layout, path[i]).x;
      if (i == 0) {
        points.emplace_back(x, y + kNodeHeight);
      } else if (i + 1 == path.size()) {
        points.emplace_back(x, y);
      } else {  // a bend: straight through the layer
        points.emplace_back(x, y);
        points.emplace_back(x, y + kNodeHeight);
      }
    }
    out.arrow(points, layout.reversed[e] ? "#d55e00" : "#7b8794", layout.reversed[e]);
    if (times(graph, e) > 1) {
      const Point& head = points.back();
      out.text(head.first + 10, head.second - 14, fmt::format("×{}", times(graph, e)), {12, kInk});
    }
  }
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    for (const Slot& slot : layout.layers[layer]) {
      if (slot.node < 0) continue;
      const GraphNode& node = node_of(graph, slot.node);
      const double wide = widths[static_cast<std::size_t>(slot.node)];
      const double x = left + slot.x, y = top + static_cast<double>(layer) * kLayerStep;
      out.rect(x - wide / 2, y, wide, kNodeHeight, style(node.kind).fill, 8, style(node.kind).stroke);
      out.text(x, y + (node.detail.empty() ? 27 : 20), node.label, {14, kInk, Anchor::middle, true});
      if (!node.detail.empty()) out.text(x, y + 35, node.detail, {11, kSoftInk, Anchor::middle});
    }
  }
  return out.document();
}

namespace {

/// Rows between two layers: each upper slot with edges has its own row for their horizontal parts.
struct Wires {
  std::vector<std::map<Size, std::vector<Size>>> targets;  // layer → upper slot → lower slots

  explicit Wires(const GraphLayout& layout) : targets(layout.layers.size()) {
    for (const auto& path : layout.paths) {
      for (std::size_t i = 1; i < path.size(); ++i) {
        targets[static_cast<std::size_t>(path[i - 1].first)][path[i - 1].second].push_back(path[i].second);
      }
    }
  }
  int rows(std::size_t layer) const { return static_cast<int>(targets[layer].size()); }
};

std::string node_text(const GraphNode& node) {
  return "[" + printable(node.label) + (node.detail.empty() ? "" : " " + printable(node.detail)) + "]";
}

/// Returns a list of the nodes and their inputs, for graphs that are too wide to draw.
std::string as_list(const Graph& graph, const Terminal& terminal) {
  std::string out;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    std::string line = fmt::format("  {:3} {}", n, node_text(graph.nodes[n]));
    std::string from;
    for (const auto& [source, target] : graph.edges) {
      if (target == static_cast<Size>(n)) from += fmt::format("{}{}", from.empty() ? " ← " : ", ", source);
    }
    out += cut_to(line + from, terminal.columns) + "\n";
  }
  return out;
}

}  // namespace

std::string text(const Graph& graph, const Terminal& terminal) {
  const std::string title =
      "  " + bold(terminal, cut_to(printable(graph.title), terminal.columns - 2)) + "\n";
  std::vector<double> widths;
  for (const GraphNode& node : graph.nodes) widths.push_back(display_width(node_text(node)));
  const GraphLayout layout = lay_out(static_cast<Size>(graph.nodes.size()), graph.edges, widths, 3, 1);
  if (layout.width > terminal.columns - 4) return title + as_list(graph, terminal);

  const Wires wires(layout);
  int height = 0;
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) height += 1 + wires.rows(layer) + 1;
  Canvas canvas(static_cast<int>(std::ceil(layout.width)) + 2, std::max(height - 1, 0));
  const auto column = [](const Slot& slot) { return static_cast<int>(std::lround(slot.x)); };

  std::vector<int> rows;  // of the layers
  int row = 0;
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    const int below = row + wires.rows(layer) + 2;  // the next layer's row
    int wire = row + 1;
    for (const auto& [upper, lowers] : wires.targets[layer]) {
      const int from = column(layout.layers[layer][static_cast<std::size_t>(upper)]);
      canvas.vertical(from, row, wire, kGrey);
      for (const Size lower : lowers) {
        const int to = column(layout.layers[layer + 1][static_cast<std::size_t>(lower)]);
        canvas.horizontal(wire, std::min(from, to), std::max(from, to), kGrey);
        canvas.vertical(to, wire, below, kGrey);
      }
      ++wire;
    }
    for (const Slot& slot : layout.layers[layer]) {
      if (slot.node < 0) continue;
      const GraphNode& node = node_of(graph, slot.node);
      const std::string label = node_text(node);
      canvas.put(column(slot) - display_width(label) / 2, row, label, style(node.kind).colour);
    }
    rows.push_back(row);
    row = below;
  }
  for (std::size_t e = 0; e < layout.paths.size(); ++e) {
    if (layout.paths[e].empty()) continue;
    const auto &first = layout.paths[e].front(), &last = layout.paths[e].back();
    const int end = column(slot_at(layout, last)), above = rows[static_cast<std::size_t>(last.first)] - 1;
    if (layout.reversed[e]) {
      canvas.put(column(slot_at(layout, first)), rows[static_cast<std::size_t>(first.first)] + 1, "▴", kGrey);
    } else {
      canvas.put(end, above, "▾", kGrey);
    }
    if (times(graph, e) > 1) canvas.put(end + 2, above, fmt::format("×{}", times(graph, e)), kGrey);
  }
  return title + canvas.text(terminal, 2);
}

}  // namespace tapestry::kit
