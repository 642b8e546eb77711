// Layered graph layout: assigns nodes to layers and orders each layer so that few edges cross.
#include "lessons/kit/picture/graph_layout.hpp"

#include <algorithm>
#include <numeric>

namespace tapestry::kit {
namespace {

constexpr int kOrderSweeps = 12;
constexpr int kPlaceSweeps = 120;

std::size_t at(Size index) { return static_cast<std::size_t>(index); }

class Maker {
 public:
  Maker(Size nodes, const std::vector<std::pair<Size, Size>>& edges, const std::vector<double>& widths,
        double gap, double bend)
      : nodes_(nodes), widths_(widths), gap_(gap), bend_(bend) {
    layout_.paths.resize(edges.size());
    layout_.reversed.assign(edges.size(), false);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const auto [from, to] = edges[e];
      const bool known = from >= 0 && to >= 0 && from < nodes && to < nodes && from != to;
      if (known) edges_.push_back({static_cast<Size>(e), from, to});
    }
  }

  GraphLayout make() {
    break_cycles();
    choose_layers();
    fill_layers();
    order_layers();
    place();
    return std::move(layout_);
  }

 private:
  struct Edge {
    Size index, upper, lower;
  };
  using Neighbours = std::vector<std::vector<std::vector<Size>>>;  // layer, slot → slots in the next layer

  /// Reverses each edge that leads back into the current depth-first path. The explicit stack keeps a long chain from
  /// overflowing the call stack.
  void break_cycles() {
    std::vector<std::vector<std::size_t>> out(at(nodes_));
    for (std::size_t e = 0; e < edges_.size(); ++e) out[at(edges_[e].upper)].push_back(e);
    enum class Mark { fresh, open, closed };
    std::vector<Mark> marks(at(nodes_), Mark::fresh);
    for (Size start = 0; start < nodes_; ++start) {
      std::vector<std::pair<Size, std::size_t>> stack;
      const auto enter = [&](Size node) {
        if (marks[at(node)] != Mark::fresh) return;
        marks[at(node)] = Mark::open;
        stack.emplace_back(node, 0);
      };
      enter(start);
      while (!stack.empty()) {
        const Size node = stack.back().first;
        const std::size_t next = stack.back().second++;
        if (next == out[at(node)].size()) {
          marks[at(node)] = Mark::closed;
          stack.pop_back();
          continue;
        }
        Edge& edge = edges_[out[at(node)][next]];
        if (marks[at(edge.lower)] == Mark::open) {
          layout_.reversed[at(edge.index)] = true;
        } else {
          enter(edge.lower);
        }
      }
    }
    for (Edge& edge : edges_) {
      if (layout_.reversed[at(edge.index)]) std::swap(edge.upper, edge.lower);
    }
  }

  void choose_layers() {
    layer_.assign(at(nodes_), 0);
    std::vector<Size> missing(at(nodes_), 0);
    std::vector<std::vector<Size>> below(at(nodes_)), above(at(nodes_));
    for (const Edge& edge : edges_) {
      ++missing[at(edge.lower)];
      below[at(edge.upper)].push_back(edge.lower);
      above[at(edge.lower)].push_back(edge.upper);
    }
    std::vector<Size> order;
    for (Size node = 0; node < nodes_; ++node) {
      if (missing[at(node)] == 0) order.push_back(node);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const Size node : below[at(order[i])]) {
        layer_[at(node)] = std::max(layer_[at(node)], layer_[at(order[i])] + 1);
        if (--missing[at(node)] == 0) order.push_back(node);
      }
    }
    // A node without incoming edges moves down to the layer above its first reader, which shortens its edges.
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      if (!above[at(*node)].empty() || below[at(*node)].empty()) continue;
      Size nearest = layer_[at(below[at(*node)].front())];
      for (const Size reader : below[at(*node)]) nearest = std::min(nearest, layer_[at(reader)]);
      layer_[at(*node)] = nearest - 1;
    }
  }

  /// Returns all nodes in depth-first order, from each node without a reader to its inputs in the order of the edges.
  /// A layer therefore starts with the inputs of one node in that order. The stack is explicit, as above.
  std::vector<Size> by_readers() const {
    std::vector<std::vector<Size>> read(at(nodes_));
    std::vector<bool> is_read(at(nodes_), false), seen(at(nodes_), false);
    for (const Edge& edge : edges_) {
      read[at(edge.lower)].push_back(edge.upper);
      is_read[at(edge.upper)] = true;
    }
    std::vector<Size> stack, order;
    for (Size node = nodes_; node-- > 0;)
      if (!is_read[at(node)]) stack.push_back(node);
    while (!stack.empty()) {
      const Size node = stack.back();
      stack.pop_back();
      if (seen[at(node)]) continue;
      seen[at(node)] = true;
      order.push_back(node);
      stack.insert(stack.end(), read[at(node)].rbegin(), read[at(node)].rend());
    }
    return order;
  }

  void fill_layers() {
    Size deepest = -1;
    for (const Size layer : layer_) deepest = std::max(deepest, layer);
    layout_.layers.resize(at(deepest + 1));
    std::vector<Size> place(at(nodes_));
    for (const Size node : by_readers()) {
      std::vector<Slot>& layer = layout_.layers[at(layer_[at(node)])];
      place[at(node)] = static_cast<Size>(layer.size());
      layer.push_back({node, -1, 0});
    }
    for (const Edge& edge : edges_) {
      auto& path = layout_.paths[at(edge.index)];
      path.emplace_back(layer_[at(edge.upper)], place[at(edge.upper)]);
      for (Size layer = layer_[at(edge.upper)] + 1; layer < layer_[at(edge.lower)]; ++layer) {
        path.emplace_back(layer, static_cast<Size>(layout_.layers[at(layer)].size()));
        layout_.layers[at(layer)].push_back({-1, edge.index, 0});
      }
      path.emplace_back(layer_[at(edge.lower)], place[at(edge.lower)]);
    }
  }

  /// Returns the slots that each slot is connected to, one layer up and one layer down.
  std::pair<Neighbours, Neighbours> neighbours() const {
    Neighbours up(layout_.layers.size()), down(layout_.layers.size());
    for (std::size_t layer = 0; layer < layout_.layers.size(); ++layer) {
      up[layer].resize(layout_.layers[layer].size());
      down[layer].resize(layout_.layers[layer].size());
    }
    for (const auto& path : layout_.paths) {
      for (std::size_t i = 1; i < path.size(); ++i) {
        down[at(path[i - 1].first)][at(path[i - 1].second)].push_back(path[i].second);
        up[at(path[i].first)][at(path[i].second)].push_back(path[i - 1].second);
      }
    }
    return {std::move(up), std::move(down)};
  }

  static double crossings_between(const Neighbours& down, std::size_t layer) {
    std::vector<Size> ends;
    double crossings = 0;
    for (const std::vector<Size>& targets : down[layer]) {
      for (const Size target : targets) {
        crossings += static_cast<double>(
            std::count_if(ends.begin(), ends.end(), [target](Size end) { return end > target; }));
      }
      ends.insert(ends.end(), targets.begin(), targets.end());
    }
    return crossings;
  }

  double crossings() const {
    const Neighbours down = neighbours().second;
    double sum = 0;
    for (std::size_t layer = 0; layer < down.size(); ++layer) sum += crossings_between(down, layer);
    return sum;
  }

  /// Sorts one layer by the mean index of the neighbours, and renumbers the paths.
  void sort_layer(std::size_t layer, const std::vector<std::vector<Size>>& joined) {
    std::vector<Slot>& slots = layout_.layers[layer];
    std::vector<double> key(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      const std::vector<Size>& to = joined[i];
      key[i] = to.empty() ? static_cast<double>(i)
                          : static_cast<double>(std::accumulate(to.begin(), to.end(), Size{0})) /
                                static_cast<double>(to.size());
    }
    std::vector<std::size_t> order(slots.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&key](std::size_t a, std::size_t b) { return key[a] < key[b]; });
    std::vector<Slot> sorted;
    std::vector<Size> moved(slots.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted.push_back(slots[order[i]]);
      moved[order[i]] = static_cast<Size>(i);
    }
    slots = std::move(sorted);
    for (auto& path : layout_.paths) {
      for (auto& [l, place] : path) {
        if (at(l) == layer) place = moved[at(place)];
      }
    }
  }

  void order_layers() {
    GraphLayout best = layout_;
    double fewest = crossings();
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      const std::size_t count = layout_.layers.size();
      for (std::size_t i = 1; i < count; ++i) {
        const std::size_t layer = sweep % 2 == 0 ? i : count - 1 - i;
        const auto [up, down] = neighbours();
        sort_layer(layer, sweep % 2 == 0 ? up[layer] : down[layer]);
      }
      const double now = crossings();
      if (now < fewest) {
        fewest = now;
        best = layout_;
      }
    }
    layout_ = std::move(best);
  }

  double width_of(const Slot& slot) const { return slot.node < 0 ? bend_ : widths_[at(slot.node)]; }
  double distance(const Slot& a, const Slot& b) const { return (width_of(a) + width_of(b)) / 2 + gap_; }

  /// Moves each slot towards the mean of its neighbours as far as the order and the gaps allow.
  void place() {
    for (std::vector<Slot>& layer : layout_.layers) {
      for (std::size_t i = 1; i < layer.size(); ++i)
        layer[i].x = layer[i - 1].x + distance(layer[i - 1], layer[i]);
      const double middle = layer.empty() ? 0 : layer.back().x / 2;
      for (Slot& slot : layer) slot.x -= middle;
    }
    const auto [up, down] = neighbours();
    for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
      for (std::size_t i = 0; i < layout_.layers.size(); ++i) {
        const std::size_t layer = sweep % 2 == 0 ? i : layout_.layers.size() - 1 - i;
        pull(layer, up[layer], down[layer]);
      }
    }
    double left = 0, right = 0;
    bool first = true;
    for (const std::vector<Slot>& layer : layout_.layers) {
      for (const Slot& slot : layer) {
        left = first ? slot.x - width_of(slot) / 2 : std::min(left, slot.x - width_of(slot) / 2);
        right = first ? slot.x + width_of(slot) / 2 : std::max(right, slot.x + width_of(slot) / 2);
        first = false;
      }
    }
    for (std::vector<Slot>& layer : layout_.layers) {
      for (Slot& slot : layer) slot.x -= left;
    }
    layout_.width = right - left;
  }

  /// Returns the weight of an edge. Bends have larger weights, so that long edges stay straight (Gansner et al. 1993).
  static double stiffness(const Slot& a, const Slot& b) {
    if (a.node < 0 && b.node < 0) return 8;
    return a.node < 0 || b.node < 0 ? 2 : 1;
  }

  /// Moves the slots of one layer to the x that minimise the weighted squared length of its edges, with the other
  /// layers fixed. This is least squares under an order constraint, solved by pooling adjacent violators. No sweep can
  /// increase the total, so the sweeps converge.
  void pull(std::size_t number, const std::vector<std::vector<Size>>& up,
            const std::vector<std::vector<Size>>& down) {
    struct Pool {
      double sum, weight;
      std::size_t count;
      double mean() const { return sum / weight; }
    };
    std::vector<Slot>& layer = layout_.layers[number];
    std::vector<Pool> pools;
    std::vector<double> offset(layer.size(), 0);  // smallest distance from the first slot that the gaps allow
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + distance(layer[i - 1], layer[i]);
      constexpr double kInertia = 1e-6;  // a node without edges stays
      Pool pool{kInertia * (layer[i].x - offset[i]), kInertia, 1};
      const auto add = [&](const Slot& other) {
        pool.sum += stiffness(layer[i], other) * (other.x - offset[i]);
        pool.weight += stiffness(layer[i], other);
      };
      for (const Size other : up[i]) add(layout_.layers[number - 1][at(other)]);
      for (const Size other : down[i]) add(layout_.layers[number + 1][at(other)]);
      while (!pools.empty() && pools.back().mean() >= pool.mean()) {
        const Pool& before = pools.back();
        pool = {before.sum + pool.sum, before.weight + pool.weight, before.count + pool.count};
        pools.pop_back();
      }
      pools.push_back(pool);
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (std::size_t k = 0; k < pool.count; ++k, ++i) layer[i].x = pool.mean() + offset[i];
    }
  }

  Size nodes_;
  std::vector<Edge> edges_;
  const std::vector<double>& widths_;
  double gap_;
  double bend_;
  std::vector<Size> layer_;
  GraphLayout layout_;
};

}  // namespace

GraphLayout lay_out(Size nodes, const std::vector<std::pair<Size, Size>>& edges,
                    const std::vector<double>& widths, double gap, double bend) {
  return Maker(nodes, edges, widths, gap, bend).make();
}

}  // namespace tapestry::kit
