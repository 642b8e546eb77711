// Where backward is more than its loop: rules whose own ops are recorded (second derivatives), nodes that are
// run again as other ops (decompositions and checkpoints), gradients that a test replaces, and hooks of leaves.
#include <algorithm>
#include <utility>

#include "core/tape/backward_pass.hpp"
#include "core/tape/mutator.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry::detail {

namespace {

GradientMutator& mutator() {
  static GradientMutator hook;
  return hook;
}

}  // namespace

void set_gradient_mutator(GradientMutator hook) { mutator() = std::move(hook); }

bool BackwardPass::is_mutated() { return static_cast<bool>(mutator()); }

/// As visit(), where a rule may append to the tape: that moves nodes and edges, so the node is copied, and a
/// rule leaves its place while it runs.
void BackwardPass::run_recorded(std::size_t index, const Tensor& dy) {
  const Node node = graph.nodes[index];
  if (node.always_replay || (create_graph && node.replay != kNone)) return replay(index, dy);
  const std::uint32_t end = node.first_edge + node.edges;
  for (std::uint32_t e = node.first_edge, count; e < end; e += count) {
    count = graph.edges[e].span;
    if (!is_wanted(e, count)) continue;
    PoolVector<Tensor> gradients(count);
    {
      const AnomalyPause rule_as_a_whole;
      const Edge& edge = graph.edges[e];
      if (edge.accumulate != kNone && !create_graph && slot(edge.target).defined()) {
        gradients[0] = zeros(edge.shape, edge.dtype);
        graph.accumulators[edge.accumulate](dy, node.result, gradients);
      } else {
        BackwardFn rule = std::move(graph.edges[e].rule);
        rule(dy, node.result, gradients);
        graph.edges[e].rule = std::move(rule);
      }
    }
    if (mutated) mutator()(node.op, gradients);
    for (std::uint32_t i = 0; i < count; ++i)
      if (is_wanted(graph.edges[e + i])) take(node, e + i, std::move(gradients[i]));
  }
}

/// Records the node again as other ops at the end of the tape, sweeps those into the same slots, and cuts
/// them off again unless a graph is asked for.
void BackwardPass::replay(std::size_t index, const Tensor& dy) {
  const Graph::Mark mark = graph.mark();
  BackwardFn again = std::move(graph.replays[graph.nodes[index].replay]);
  Tensor y;
  {
    const RecordingGuard on(true);
    again(dy, Tensor(), {&y, 1});
  }
  graph.replays[graph.nodes[index].replay] = std::move(again);
  const TensorImpl& impl = y.impl();
  if (y.shape() != dy.shape())
    fail(
        "[{}] gave shape {} when it was run again, but {} at first: "
        "it must not depend on anything that changes",
        graph.nodes[index].op, describe(y), to_string(dy.shape()));
  if (impl.node >= 0) {
    const std::size_t end = graph.nodes.size();
    add(impl.node, Tensor(dy));
    y = Tensor();
    run(mark.nodes, end);
  } else if (y.requires_grad()) {
    add(-1 - graph.number_of(y, serial), Tensor(dy));
  }
  if (!create_graph) graph.cut(mark);
}

void BackwardPass::find_due(std::size_t end) {
  // What a checkpoint uses is seen only when it is run again.
  std::size_t first_checkpoint = end;
  std::vector<std::size_t> first(graph.leaves.size(), end);
  for (std::size_t i = end; i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.always_replay) first_checkpoint = i;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edges; ++e)
      if (const std::int32_t target = graph.edges[e].target; target < 0)
        first[static_cast<std::size_t>(-1 - target)] = i;
  }
  for (std::size_t leaf = 0; leaf < first.size(); ++leaf) {
    const auto target = -1 - static_cast<std::int32_t>(leaf);
    const std::size_t earliest = std::min(first[leaf], first_checkpoint);
    if (graph.gradient_hooks.count(target)) due.emplace_back(earliest < end ? earliest : 0, target);
  }
  std::sort(due.begin(), due.end());
}

void BackwardPass::run_due(std::size_t node) {
  for (; !due.empty() && due.back().first == node; due.pop_back())
    if (Tensor& gradient = slot(due.back().second); gradient.defined())
      run_hooks(due.back().second, gradient);
}

}  // namespace tapestry::detail
