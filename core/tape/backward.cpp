// Backward: reads the tape from the back and hands each node's gradient to its rules.
//
// Every node and every leaf has a slot, in which its gradient adds up. Whatever was computed from a node comes
// later on the tape; so when the loop comes to a node, its slot is complete. The node's rules make of it the
// gradients of its arguments, which are added to the arguments' slots.
#include <algorithm>
#include <utility>

#include "core/ops/arithmetic.hpp"
#include "core/ops/reduce.hpp"
#include "core/tape/backward_pass.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/layout.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

namespace detail {

void BackwardPass::run(std::size_t begin, std::size_t end) {
  for (std::size_t i = end; i-- > begin;) {
    if (Tensor dy = std::move(graph.slots[i]); dy.defined()) visit(i, dy);
    if (!keep) release(i);
    if (!due.empty()) run_due(i);
  }
}

/// The gradient of node `index` is dy: adds what follows from it to the slots of the arguments.
void BackwardPass::visit(std::size_t index, Tensor& dy) {
  run_hooks(static_cast<std::int32_t>(index), dy);
  if (wanted && !wanted->visit(index, dy)) return;
  const Node& node = graph.nodes[index];
  check_versions(node);
  if (node.always_replay || create_graph || mutated) return run_recorded(index, dy);
  const std::uint32_t end = node.first_edge + node.edges;
  for (std::uint32_t e = node.first_edge, count; e < end; e += count) {
    count = graph.edges[e].span;
    if (is_wanted(e, count)) apply(node, e, count, dy);
  }
}

/// Runs the rule of `count` edges from `first` on. Recording is off already (seed_gradient.cpp).
void BackwardPass::apply(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy) {
  const Edge& edge = graph.edges[first];
  if (edge.accumulate != kNone) {
    if (Tensor& sum = slot(edge.target); sum.defined()) return accumulate_in_place(sum, node, first, dy);
  }
  const auto run = [&](std::span<Tensor> gradients) {
    const AnomalyPause rule_as_a_whole;
    edge.rule(dy, node.result, gradients);
  };
  if (count == 1) {
    Tensor gradient;
    run({&gradient, 1});
    return take(node, first, std::move(gradient));
  }
  PoolVector<Tensor> gradients(count);
  run(gradients);
  for (std::uint32_t i = 0; i < count; ++i)
    if (is_wanted(graph.edges[first + i])) take(node, first + i, std::move(gradients[i]));
}

namespace {

/// Makes the gradient what its argument wants: broadcasting undone, type and shape checked.
void fit(const Node& node, const Edge& edge, std::size_t argument, Tensor& gradient) {
  if (!gradient.defined())
    fail("[{}] has no derivative with respect to its argument {} ({}:{})", node.op, argument, node.at.file,
         node.at.line);
  if (gradient.dtype() != edge.dtype)
    fail("[{}] the rule of argument {} returned {} for an argument of type {}", node.op, argument,
         name_of(gradient.dtype()), name_of(edge.dtype));
  if (gradient.shape() == edge.shape) return;
  if (!broadcasts_to(edge.shape, gradient.shape()))
    fail("[{}] the rule of argument {} returned a gradient of shape {} for an argument of shape {}", node.op,
         argument, to_string(gradient.shape()), to_string(edge.shape));
  const Dims shape = edge.shape;  // copied: recording sum_to may move the edges
  gradient = sum_to(gradient, shape);
}

/// True for a dense tensor whose memory nobody else can see: the only kind that may be added to in place.
bool is_alone(const Tensor& x) {
  const TensorImpl& impl = x.impl();
  return x.ref().unique() && impl.buffer.unique() && impl.node < 0 && impl.offset == 0 && x.is_contiguous() &&
         impl.buffer->bytes == static_cast<std::size_t>(x.count()) * bytes_of(impl.dtype);
}

}  // namespace

/// Adds what a rule gave for an edge to the slot of its argument.
void BackwardPass::take(const Node& node, std::uint32_t edge, Tensor&& gradient) {
  const std::size_t argument = edge - node.first_edge;
  const std::int32_t target = graph.edges[edge].target;
  if (context.anomaly && gradient.defined()) check_gradient(node, argument, gradient);
  fit(node, graph.edges[edge], argument, gradient);
  add(target, std::move(gradient));
  if (context.anomaly) check_gradient(node, argument, slot(target), "sum of the gradients");
}

void BackwardPass::add(std::int32_t target, Tensor&& gradient) {
  Tensor& sum = slot(target);
  if (!sum.defined())
    sum = std::move(gradient);
  else if (!create_graph && is_alone(sum))
    add_in_place(sum, gradient);
  else {
    const AnomalyPause take_knows_the_op;  // that made the gradient, and checks the sum
    sum = tapestry::add(sum, gradient);
  }
}

/// The same by the rule's short cut, which needs no tensor between.
void BackwardPass::accumulate_in_place(Tensor& sum, const Node& node, std::uint32_t first, const Tensor& dy) {
  if (!is_alone(sum)) sum = dense_copy(sum);
  {
    const AnomalyPause rule_as_a_whole;
    graph.accumulators[graph.edges[first].accumulate](dy, node.result, {&sum, 1});
  }
  if (context.anomaly) check_gradient(node, first - node.first_edge, sum);
}

void BackwardPass::check_versions(const Node& node) const {
  for (std::uint32_t i = 0; i < node.saved; ++i) {
    const Tensor::Saved& saved = graph.saved[node.first_saved + i];
    if (saved.buffer->version.load(std::memory_order_relaxed) != saved.version)
      fail(
          "[{}] a tensor that it saved was written by assign() before backward: assign after backward, or "
          "use a copy ({}:{})",
          node.op, node.at.file, node.at.line);
  }
}

void BackwardPass::run_hooks(std::int32_t target, Tensor& gradient) const {
  const auto found = graph.gradient_hooks.find(target);
  if (found == graph.gradient_hooks.end()) return;
  for (const auto& hook : found->second) {
    Tensor replaced = hook(gradient);
    if (!replaced.defined()) continue;
    if (replaced.shape() != gradient.shape() || replaced.dtype() != gradient.dtype())
      fail("an on_gradient hook returned {} {} for a gradient of {} {}", describe(replaced),
           name_of(replaced.dtype()), describe(gradient), name_of(gradient.dtype()));
    gradient = std::move(replaced);
  }
}

/// Gives back what the node's rules saved.
void BackwardPass::release(std::size_t index) {
  Node& node = graph.nodes[index];
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    Edge& edge = graph.edges[node.first_edge + i];
    edge.rule.reset();
    if (edge.accumulate != kNone) graph.accumulators[edge.accumulate].reset();
  }
  if (node.replay != kNone) graph.replays[node.replay].reset();
  node.result = Tensor();
}

}  // namespace detail

namespace {

/// Makes the leaves' gradients ready to be added to; their values stay. Whatever may fail does so here.
void prepare_sums(const detail::Graph& graph) {
  for (std::size_t i = 0; i < graph.leaf_slots.size(); ++i) {
    const Tensor& gradient = graph.leaf_slots[i];
    Tensor& sum = graph.leaves[i].impl().leaf->grad;
    if (!gradient.defined() || !sum.defined()) continue;
    if (detail::context.anomaly) detail::check_leaf_sum(sum, gradient);
    if (!detail::is_alone(sum)) sum = dense_copy(sum);
  }
}

}  // namespace

void Tape::backward(const Tensor& y, const Tensor& dy, BackwardOptions options) {
  detail::BackwardPass pass{*graph_, serial_, options.keep};
  run(y, dy.detach(), pass);
  const detail::RecordingGuard off(false);
  try {
    prepare_sums(*graph_);
  } catch (...) {
    start_over();
    throw;
  }
  for (std::size_t i = 0; i < graph_->leaf_slots.size(); ++i) {
    Tensor gradient = std::move(graph_->leaf_slots[i]);
    if (!gradient.defined()) continue;
    Tensor& sum = graph_->leaves[i].impl().leaf->grad;
    if (sum.defined())
      add_in_place(sum, gradient);
    else
      sum = std::move(gradient);
  }
  graph_->leaf_slots.clear();
  if (!options.keep) start_over();
}

}  // namespace tapestry
