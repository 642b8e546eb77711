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

void Sweep::run(std::size_t begin, std::size_t end) {
  for (std::size_t i = end; i-- > begin;) {
    if (Tensor dy = std::move(records.slots[i]); dy.defined()) visit(i, dy);
    if (!keep) release(i);
    if (!due.empty()) run_due(i);
  }
}

/// The gradient of node `index` is dy: adds what follows from it to the slots of the arguments.
void Sweep::visit(std::size_t index, Tensor& dy) {
  run_hooks(static_cast<std::int32_t>(index), dy);
  if (wanted && !wanted->visit(index, dy)) return;
  const Node& node = records.nodes[index];
  check_versions(node);
  if (node.always_replay || create_graph || mutated) return run_recorded(index, dy);
  const std::uint32_t end = node.first_edge + node.edges;
  for (std::uint32_t e = node.first_edge, count; e < end; e += count) {
    count = records.edges[e].span;
    if (is_wanted(e, count)) run_rule(node, e, count, dy);
  }
}

/// Runs the rule of `count` edges from `first` on. Recording is off already (seed_gradient.cpp).
void Sweep::run_rule(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy) {
  const Edge& edge = records.edges[first];
  if (edge.adding != kNone) {
    if (Tensor& sum = slot(edge.target); sum.defined()) return add_by_rule(sum, node, first, dy);
  }
  const auto run = [&](std::span<Tensor> gradients) {
    const Unchecked rule_as_a_whole;
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
    if (is_wanted(records.edges[first + i])) take(node, first + i, std::move(gradients[i]));
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
  const Body& body = x.body();
  return x.ref().unique() && body.buffer.unique() && body.node < 0 && body.offset == 0 && x.is_contiguous() &&
         body.buffer->bytes == static_cast<std::size_t>(x.count()) * bytes_of(body.dtype);
}

}  // namespace

/// Adds what a rule gave for an edge to the slot of its argument.
void Sweep::take(const Node& node, std::uint32_t edge, Tensor&& gradient) {
  const std::size_t argument = edge - node.first_edge;
  const std::int32_t target = records.edges[edge].target;
  if (context.anomaly && gradient.defined()) check_gradient(node, argument, gradient);
  fit(node, records.edges[edge], argument, gradient);
  add(target, std::move(gradient));
  if (context.anomaly) check_gradient(node, argument, slot(target), "sum of the gradients");
}

void Sweep::add(std::int32_t target, Tensor&& gradient) {
  Tensor& sum = slot(target);
  if (!sum.defined())
    sum = std::move(gradient);
  else if (!create_graph && is_alone(sum))
    add_in_place(sum, gradient);
  else {
    const Unchecked take_knows_the_op;  // that made the gradient, and checks the sum
    sum = tapestry::add(sum, gradient);
  }
}

/// The same by the rule's short cut, which needs no tensor between.
void Sweep::add_by_rule(Tensor& sum, const Node& node, std::uint32_t first, const Tensor& dy) {
  if (!is_alone(sum)) sum = dense_copy(sum);
  {
    const Unchecked rule_as_a_whole;
    records.addings[records.edges[first].adding](dy, node.result, {&sum, 1});
  }
  if (context.anomaly) check_gradient(node, first - node.first_edge, sum);
}

void Sweep::check_versions(const Node& node) const {
  for (std::uint32_t i = 0; i < node.saved; ++i) {
    const Tensor::Saved& saved = records.saved[node.first_saved + i];
    if (saved.buffer->version.load(std::memory_order_relaxed) != saved.version)
      fail(
          "[{}] a tensor that it saved was written by assign() before backward: assign after backward, or "
          "use a copy ({}:{})",
          node.op, node.at.file, node.at.line);
  }
}

void Sweep::run_hooks(std::int32_t target, Tensor& gradient) const {
  const auto found = records.gradient_hooks.find(target);
  if (found == records.gradient_hooks.end()) return;
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
void Sweep::release(std::size_t index) {
  Node& node = records.nodes[index];
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    Edge& edge = records.edges[node.first_edge + i];
    edge.rule.reset();
    if (edge.adding != kNone) records.addings[edge.adding].reset();
  }
  if (node.replay != kNone) records.replays[node.replay].reset();
  node.result = Tensor();
}

}  // namespace detail

namespace {

/// Makes the leaves' gradients ready to be added to; their values stay. Whatever may fail does so here.
void prepare_sums(const detail::Records& records) {
  for (std::size_t i = 0; i < records.leaf_slots.size(); ++i) {
    const Tensor& gradient = records.leaf_slots[i];
    Tensor& sum = records.leaves[i].body().leaf->grad;
    if (!gradient.defined() || !sum.defined()) continue;
    if (detail::context.anomaly) detail::check_leaf_sum(sum, gradient);
    if (!detail::is_alone(sum)) sum = dense_copy(sum);
  }
}

}  // namespace

void Tape::backward(const Tensor& y, const Tensor& dy, BackwardOptions options) {
  detail::Sweep sweep{*records_, serial_, options.keep};
  run(y, dy.detach(), sweep);
  const detail::Recording off(false);
  try {
    prepare_sums(*records_);
  } catch (...) {
    start_over();
    throw;
  }
  for (std::size_t i = 0; i < records_->leaf_slots.size(); ++i) {
    Tensor gradient = std::move(records_->leaf_slots[i]);
    if (!gradient.defined()) continue;
    Tensor& sum = records_->leaves[i].body().leaf->grad;
    if (sum.defined())
      add_in_place(sum, gradient);
    else
      sum = std::move(gradient);
  }
  records_->leaf_slots.clear();
  if (!options.keep) start_over();
}

}  // namespace tapestry
