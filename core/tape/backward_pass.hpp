// One pass over the tape from the back: its loop is in backward.cpp, what second derivatives, checkpoints and
// tests need beyond it in higher_order.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/tape/graph.hpp"

namespace tapestry::detail {

/// The tensors that Tape::gradients() differentiates by: the pass follows only the edges that lead to them.
struct Wanted {
  std::vector<std::int32_t> targets;  // as in Edge
  std::vector<Tensor> found;          // their gradients
  std::vector<char> leads_there;      // for each node that was on the tape at first

  /// Marks the nodes [0, end) that depend on one of the targets.
  void mark(const Graph& graph, std::size_t end);
  bool wants(const Edge& edge) const;
  /// Notes the gradient dy of a node if it is asked for; then whether the pass has to go on from it.
  bool visit(std::size_t node, const Tensor& dy);
};

struct BackwardPass {
  Graph& graph;
  std::uint64_t serial;         // the tape's
  bool keep = false;            // what the rules saved, for another backward
  bool create_graph = false;    // record what the rules do
  Wanted* wanted = nullptr;     // none: all leaves
  bool mutated = is_mutated();  // a test falsifies gradients (mutator.hpp)
  /// Leaves that have hooks, each with the earliest node that uses it (no node: 0): once that node was visited, the
  /// leaf's gradient is complete. The last one is due first.
  std::vector<std::pair<std::size_t, std::int32_t>> due = {};

  /// Fills `due` for the nodes [0, end).
  void find_due(std::size_t end);
  /// Runs the hooks of leaves whose earliest node is this one.
  void run_due(std::size_t node);
  void run(std::size_t begin, std::size_t end);
  void add(std::int32_t target, Tensor&& gradient);
  void run_hooks(std::int32_t target, Tensor& gradient) const;
  /// The gradient of a node or leaf, as far as it has been added up.
  Tensor& slot(std::int32_t target) {
    auto& slots = target >= 0 ? graph.slots : graph.leaf_slots;
    const auto index = static_cast<std::size_t>(target >= 0 ? target : -1 - target);
    if (slots.size() <= index) [[unlikely]]
      slots.resize(std::max(index + 1, target >= 0 ? graph.nodes.size() : graph.leaves.size()));
    return slots[index];
  }

 private:
  void visit(std::size_t index, Tensor& dy);
  /// Whether the edge leads to something that is to get a gradient; the second, whether any of `count` edges
  /// from `first` on does.
  bool is_wanted(const Edge& edge) const { return edge.needed && (!wanted || wanted->wants(edge)); }
  bool is_wanted(std::uint32_t first, std::uint32_t count) const {
    for (std::uint32_t i = first; i < first + count; ++i)
      if (is_wanted(graph.edges[i])) return true;
    return false;
  }
  void apply(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy);
  void accumulate_in_place(Tensor& sum, const Node& node, std::uint32_t first, const Tensor& dy);
  void take(const Node& node, std::uint32_t edge, Tensor&& gradient);
  void check_versions(const Node& node) const;
  void release(std::size_t index);

  // higher_order.cpp
  static bool is_mutated();
  void run_recorded(std::size_t index, const Tensor& dy);
  void replay(std::size_t index, const Tensor& dy);
};

/// While one lives, ops are not checked for NaN: in anomaly mode a rule is judged by what it returns, so that
/// the message names the op that was called and the caller's line, not the ops that its rule is made of.
class AnomalyPause {
 public:
  AnomalyPause() : before_(std::exchange(context.anomaly, false)) {}
  ~AnomalyPause() { context.anomaly = before_; }
  AnomalyPause(const AnomalyPause&) = delete;
  AnomalyPause& operator=(const AnomalyPause&) = delete;

 private:
  bool before_;
};

}  // namespace tapestry::detail
