// Replays of nodes whose gradient is computed from other ops, which are recorded again during the pass: checkpoints, and
// the decompositions of fused ops in higher derivatives.
#include "core/tape/extended_pass.hpp"

namespace tapestry::detail {

namespace {

/// The sizes of a graph's lists at one moment. The first node that is cut off gives the sizes of the edges and saved
/// tensors.
struct Mark {
  explicit Mark(const Graph& graph)
      : nodes(graph.nodes.size()), accumulators(graph.accumulators.size()), replays(graph.replays.size()) {}

  /// Deletes everything that was recorded after the mark.
  void cut(Graph& graph) const {
    if (nodes >= graph.nodes.size()) return;
    const Node& first = graph.nodes[nodes];
    graph.edges.erase(graph.edges.begin() + first.first_edge, graph.edges.end());
    graph.saved_versions.erase(graph.saved_versions.begin() + first.first_saved, graph.saved_versions.end());
    const auto cut_at = [](auto& list, std::size_t at) {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at), list.end());
    };
    cut_at(graph.nodes, nodes);
    cut_at(graph.accumulators, accumulators);
    cut_at(graph.replays, replays);
    if (graph.slots.size() > nodes) graph.slots.resize(nodes);
  }

  std::size_t nodes, accumulators, replays;
};

}  // namespace

/// Records the node again as other ops at the end of the tape and runs their rules, which add to the same slots.
/// Deletes the new nodes afterwards, unless create_graph is set.
void ExtendedPass::replay(std::size_t index, const Tensor& dy) {
  const Mark mark(graph_);
  BackwardFn again = std::move(graph_.replays[graph_.nodes[index].replay]);
  Tensor y;
  {
    const RecordingGuard on(true);
    const AnomalyGuard as_at_first(anomaly_);
    again(dy, Tensor(), {&y, 1});
  }
  graph_.replays[graph_.nodes[index].replay] = std::move(again);
  const TensorImpl& impl = y.impl();
  if (y.shape() != dy.shape())
    fail(
        "[{}] the function must return the same shape when backward runs it again, got {} after {}; "
        "use nothing in it that changes in between",
        graph_.nodes[index].op, describe(y), to_string(dy.shape()));
  if (impl.node >= 0) {
    const std::size_t end = graph_.nodes.size();
    add(Target::node(static_cast<std::size_t>(impl.node)), Tensor(dy));
    y = Tensor();
    sweep(mark.nodes, end);
  } else if (y.requires_grad()) {
    add(graph_.find_leaf(y), Tensor(dy));
  }
  if (!create_graph_) mark.cut(graph_);
}

}  // namespace tapestry::detail
