// Layered graph layout: assigns nodes to layers and orders each layer so that few edges cross.
#pragma once

#include <utility>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// Position in a layer: a node, or a bend of an edge that passes through the layer.
struct Slot {
  Size node = -1;  ///< -1: a bend
  Size edge = -1;  ///< the edge that bends here
  double x = 0;    ///< centre, in the units of `widths`
};

struct GraphLayout {
  std::vector<std::vector<Slot>> layers;
  /// Slots of each edge from its upper end to its lower end: (layer, index in the layer).
  std::vector<std::vector<std::pair<Size, Size>>> paths;
  /// True for each edge that is drawn upwards because it would have closed a cycle.
  std::vector<bool> reversed;
  double width = 0;
};

/// Lays out a directed graph with Sugiyama's method. The longest path from above determines a node's layer, barycentre
/// sweeps determine the order in it, and least-squares sweeps determine x. `widths` are the widths of the nodes, `gap`
/// is the smallest space between two slots, and `bend` is the width of a passing edge. Self-loops, and edges with an
/// unknown node, have an empty path.
GraphLayout lay_out(Size nodes, const std::vector<std::pair<Size, Size>>& edges,
                    const std::vector<double>& widths, double gap, double bend);

}  // namespace tapestry::kit
