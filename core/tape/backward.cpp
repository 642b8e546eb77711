// Backward: walks the tape in reverse and calls the derivative rules of each node.
//
// Every node and every leaf has a slot that accumulates its gradient. The nodes that use a node come after it on the
// tape, so its slot is complete when the loop reaches it. The node's rules then compute the gradients of its arguments,
// and the loop adds them to the slots of the arguments.
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

bool is_alone(const Tensor& x) {
  const TensorImpl& impl = x.impl();
  return x.ref().unique() && impl.buffer.unique() && impl.node < 0 && impl.offset == 0 && x.is_contiguous() &&
         impl.buffer->bytes == static_cast<std::size_t>(x.count()) * bytes_of(impl.dtype);
}

Tensor seed_gradient(const Tensor& y) {
  if (y.count() != 1)
    fail("[backward] y must have one element if dy is omitted, got shape {}; sum y or pass dy", describe(y));
  return full(y.shape(), 1.0, y.dtype());
}

Target BackwardPass::find(const Tensor& y) {
  const TensorImpl& impl = y.impl();
  if (context.graph != &graph_)
    fail("[backward] the tape must be this thread's active tape, got another thread's; use that thread");
  if (impl.node >= 0 && impl.tape == graph_.serial) return Target::node(static_cast<std::size_t>(impl.node));
  if (impl.leaf)
    fail("[backward] y must be on this tape, got the leaf {}; call backward on a result computed from it",
         describe(y));
  if (impl.node < 0 && impl.computed_off_tape)
    fail("[backward] y must be on this tape, got {}, computed outside it; compute it while the tape is alive",
         describe(y));
  const char* why = "another tape recorded it; compute it again on this tape";
  if (impl.node < 0)
    why = "it depends on no variable that requires a gradient, or recording was off; use a variable()";
  else if (impl.tape / kRounds == graph_.serial / kRounds)
    why = "an earlier backward consumed its nodes; call that one with {.keep = true}, or compute y again";
  fail("[backward] y must be on this tape, got {}: {}", describe(y), why);
}

void BackwardPass::run(const Tensor& y, const Tensor& dy) {
  const Target start = find(y);
  if (dy.shape() != y.shape() || dy.dtype() != y.dtype())
    fail("[backward] dy must have the shape and type of y, got dy {} {} and y {} {}; reshape or convert dy",
         describe(dy), name_of(dy.dtype()), describe(y), name_of(y.dtype()));
  if (graph_.in_pass) fail("[backward] a hook must not run a pass on its tape; run it after this one");
  const std::size_t end = graph_.nodes.size();
  graph_.slots.assign(end, Tensor());
  graph_.leaf_slots.assign(graph_.leaves.size(), Tensor());
  const RecordingGuard recording(create_graph_);
  graph_.in_pass = true;
  try {
    begin(end);
    slot(start) = dy;
    sweep(0, end);
    finish();
  } catch (...) {
    graph_.start_over();
    throw;
  }
  graph_.in_pass = false;
}

void BackwardPass::sweep(std::size_t first, std::size_t end) {
  for (std::size_t i = end; i-- > first;) {
    if (Tensor dy = std::move(graph_.slots[i]); dy.defined()) visit(i, dy);
    if (!keep_) release(graph_.nodes[i]);
  }
}

void BackwardPass::visit(std::size_t index, Tensor& dy) {
  const Node& node = graph_.nodes[index];
  check_versions(node);
  const auto needed = [](const Edge& edge) { return edge.needed; };
  const std::uint32_t end = node.first_edge + node.edges;
  for (std::uint32_t e = node.first_edge, count; e < end; e += count) {
    count = graph_.edges[e].span;
    if (std::any_of(&graph_.edges[e], &graph_.edges[e] + count, needed)) apply(node, e, count, dy);
  }
}

void BackwardPass::apply(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy) {
  const Edge& edge = graph_.edges[first];
  if (edge.accumulate != kNone) {
    if (Tensor& sum = slot(edge.target); sum.defined()) {  // accumulates without a temporary tensor
      if (!is_alone(sum)) sum = dense_copy(sum);
      return graph_.accumulators[edge.accumulate](dy, node.result, {&sum, 1});
    }
  }
  if (count == 1) {
    Tensor gradient;
    edge.rule(dy, node.result, {&gradient, 1});
    return take(node, first, std::move(gradient));
  }
  PoolVector<Tensor> gradients(count);
  edge.rule(dy, node.result, gradients);
  for (std::uint32_t i = 0; i < count; ++i)
    if (graph_.edges[first + i].needed) take(node, first + i, std::move(gradients[i]));
}

namespace {

/// Checks the gradient's type and shape, and sums it over the axes along which the argument was broadcast.
void fit(const Node& node, const Edge& edge, std::size_t argument, Tensor& gradient) {
  if (!gradient.defined())
    fail("[{}] the rule of argument {} must return a gradient, got none; detach() the argument ({}:{})",
         node.op, argument, node.at.file, node.at.line);
  if (gradient.dtype() != edge.dtype)
    fail("[{}] the rule of argument {} must return the argument's type, got {} for {}; convert it ({}:{})",
         node.op, argument, name_of(gradient.dtype()), name_of(edge.dtype), node.at.file, node.at.line);
  if (gradient.shape() == edge.shape) return;
  if (!broadcasts_to(edge.shape, gradient.shape()))
    fail("[{}] the rule of argument {} must return its shape, got {} for {}; sum or reshape it ({}:{})",
         node.op, argument, to_string(gradient.shape()), to_string(edge.shape), node.at.file, node.at.line);
  const Dims shape = edge.shape;  // copied: recording sum_to can reallocate the edges
  gradient = sum_to(gradient, shape);
}

}  // namespace

void BackwardPass::take(const Node& node, std::uint32_t edge, Tensor&& gradient) {
  const Target target = graph_.edges[edge].target;
  fit(node, graph_.edges[edge], edge - node.first_edge, gradient);
  add(target, std::move(gradient));
}

void BackwardPass::add(Target target, Tensor&& gradient) {
  Tensor& sum = slot(target);
  if (!sum.defined())
    sum = std::move(gradient);
  else if (!create_graph_ && is_alone(sum))
    add_in_place(sum, gradient);
  else
    sum = tapestry::add(sum, gradient);
}

void BackwardPass::check_versions(const Node& node) const {
  for (std::uint32_t i = 0; i < node.saved; ++i) {
    const Tensor::Saved& saved = graph_.saved_versions[node.first_saved + i];
    if (saved.buffer->version.load(std::memory_order_relaxed) != saved.version)
      fail(
          "[{}] saved tensors must stay unchanged until backward, got one that was overwritten (by assign() or "
          "an optimiser); write to it after backward, or use a copy ({}:{})",
          node.op, node.at.file, node.at.line);
  }
}

/// Frees the tensors that the node's rules saved.
void BackwardPass::release(Node& node) {
  node.saved = 0;
  for (Edge& edge : std::span(graph_.edges).subspan(node.first_edge, node.edges)) {
    edge.rule.reset();
    if (edge.accumulate != kNone) graph_.accumulators[edge.accumulate].reset();
  }
  if (node.replay != kNone) graph_.replays[node.replay].reset();
  node.result = Tensor();
}

}  // namespace detail

void Tape::backward(const Tensor& y, const Tensor& dy, BackwardOptions options) {
  detail::Graph& graph = *graph_;
  if (const auto run = detail::context.anomaly ? detail::context.extended : graph.extended)
    run(graph, options.keep, y, dy.detach());
  else
    detail::BackwardPass(graph, options.keep).run(y, dy.detach());
  const detail::RecordingGuard off(false);
  const auto grad_of = [&](std::size_t i) -> Tensor& { return graph.leaves[i].impl().leaf->grad; };
  try {  // anything that can throw does so before any gradient's values change
    for (std::size_t i = 0; i < graph.leaf_slots.size(); ++i) {
      Tensor& gradient = graph.leaf_slots[i];
      if (Tensor& sum = grad_of(i).defined() ? grad_of(i) : gradient;
          gradient.defined() && !detail::is_alone(sum))
        sum = dense_copy(sum);  // the user may hold the same memory, as dy or in a hook
    }
  } catch (...) {
    graph.start_over();
    throw;
  }
  for (std::size_t i = 0; i < graph.leaf_slots.size(); ++i) {
    Tensor gradient = std::move(graph.leaf_slots[i]);
    if (!gradient.defined()) continue;
    if (Tensor& sum = grad_of(i); sum.defined())
      add_in_place(sum, gradient);
    else
      sum = std::move(gradient);
  }
  graph.leaf_slots.clear();
  if (!options.keep) graph.start_over();
}

void Tape::backward(const Tensor& y, BackwardOptions options) {
  backward(y, detail::seed_gradient(y), options);
}

}  // namespace tapestry
