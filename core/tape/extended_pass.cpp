// The extended pass: the order in which it runs hooks, replays, rules and checks, and rules that are recorded.
#include "core/tape/extended_pass.hpp"

#include "core/tensor/pool_vector.hpp"

namespace tapestry::detail {

ExtendedPass::ExtendedPass(Graph& graph, bool keep, bool create_graph, Wanted* wanted)
    : BackwardPass(graph, keep), wanted_(wanted), anomaly_(context.anomaly), checks_off_(false) {
  create_graph_ = create_graph;
}

void run_extended(Graph& graph, bool keep, const Tensor& y, const Tensor& dy) {
  ExtendedPass(graph, keep).run(y, dy);
}

Target ExtendedPass::find(const Tensor& y) {
  const TensorImpl& impl = y.impl();
  if (!wanted_ || !impl.leaf || context.graph != &graph_) return BackwardPass::find(y);
  const Target leaf = graph_.find_leaf(y, false);
  if (leaf == Target::none())
    fail(
        "[backward] if y is a leaf, it must be one of the xs, got the leaf {}; pass a y computed from the xs",
        describe(y));
  return leaf;
}

void ExtendedPass::begin(std::size_t end) {
  if (wanted_) wanted_->mark(graph_, end);
  if (!graph_.gradient_hooks.empty()) find_due(end);
}

void ExtendedPass::visit(std::size_t index, Tensor& dy) {
  if (!due_.empty()) run_due(index + 1);
  run_hooks(Target::node(index), dy);
  if (wanted_ && !wanted_->visit(index, dy)) return;
  check_versions(graph_.nodes[index]);
  if (const Node& node = graph_.nodes[index]; node.always_replay || (create_graph_ && node.replay != kNone))
    return replay(index, dy);
  const Node node = graph_.nodes[index];  // a copy: recording rules can reallocate the nodes
  const std::uint32_t end = node.first_edge + node.edges;
  for (std::uint32_t e = node.first_edge, count; e < end; e += count) {
    count = graph_.edges[e].span;
    if (!is_wanted(e, count)) continue;
    if (create_graph_)
      apply_recorded(node, e, count, dy);
    else
      apply(node, e, count, dy);
    if (const Edge& edge = graph_.edges[e]; anomaly_ && edge.accumulate != kNone)
      check_gradient(node, e - node.first_edge, slot(edge.target));
  }
}

/// Same as apply(), for a rule that appends to the tape. Appending can reallocate the nodes and edges. So the caller
/// passes a copy of the node, and the rule is moved out of its edge while it runs.
void ExtendedPass::apply_recorded(const Node& node, std::uint32_t first, std::uint32_t count,
                                  const Tensor& dy) {
  PoolVector<Tensor> gradients(count);
  BackwardFn rule = std::move(graph_.edges[first].rule);
  rule(dy, node.result, gradients);
  graph_.edges[first].rule = std::move(rule);
  for (std::uint32_t i = 0; i < count; ++i) take(node, first + i, std::move(gradients[i]));
}

bool ExtendedPass::is_wanted(std::uint32_t first, std::uint32_t count) const {
  for (std::uint32_t i = first; i < first + count; ++i)
    if (is_wanted(graph_.edges[i])) return true;
  return false;
}

void ExtendedPass::take(const Node& node, std::uint32_t edge, Tensor&& gradient) {
  if (!is_wanted(graph_.edges[edge])) return;
  const std::size_t argument = edge - node.first_edge;
  const Target target = graph_.edges[edge].target;
  if (anomaly_ && gradient.defined()) check_gradient(node, argument, gradient);
  BackwardPass::take(node, edge, std::move(gradient));
  if (anomaly_) check_gradient(node, argument, slot(target), "sum of the gradients");
}

void ExtendedPass::finish() {
  run_due(0);
  if (!anomaly_ || wanted_) return;
  for (std::size_t i = 0; i < graph_.leaf_slots.size(); ++i) {
    const Tensor& gradient = graph_.leaf_slots[i];
    const Tensor& sum = graph_.leaves[i].impl().leaf->grad;
    if (gradient.defined() && sum.defined()) check_leaf_sum(sum, gradient);
  }
}

}  // namespace tapestry::detail
