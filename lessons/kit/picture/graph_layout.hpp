// Puts the nodes of a graph into layers, and in each layer into an order with few crossings.
#pragma once

#include <utility>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::kit {

/// A place in a layer: a node, or a bend of an edge that passes through the layer.
struct Slot {
  Size node = -1;  ///< -1: a bend
  Size edge = -1;  ///< the edge that bends here
  double x = 0;    ///< centre, in the units of the widths given
};

struct GraphLayout {
  std::vector<std::vector<Slot>> layers;
  /// For each edge the places it runs through, from its upper end down: (layer, place in the layer).
  std::vector<std::vector<std::pair<Size, Size>>> paths;
  /// For each edge, whether it runs against its direction: it would have closed a cycle.
  std::vector<bool> reversed;
  double width = 0;
};

/// Sugiyama's method: layers by the longest path from above, orders by sweeps of barycentres, then places
/// that pull towards their neighbours. `widths` are the nodes' widths, `gap` the least space between two,
/// `bend` the width that a passing edge takes. Edges that name a node that is not there, and loops, have an
/// empty path.
GraphLayout lay_out(Size nodes, const std::vector<std::pair<Size, Size>>& edges,
                    const std::vector<double>& widths, double gap, double bend);

}  // namespace tapestry::kit
