// Recording: decides which ops become nodes, and rejects operands that are not on the tape.
#include "core/tape/recorder.hpp"

#include <algorithm>

#include "core/tape/graph.hpp"
#include "core/tape/node_info.hpp"

namespace tapestry {

namespace detail {

namespace {

std::vector<const char*>& op_names() {
  static std::vector<const char*> names;
  return names;
}

[[noreturn]] void refuse(const char* op, CallSite at, const Tensor& x) {
  const TensorImpl& impl = x.impl();
  const char* origin = impl.origin ? impl.origin : "a view";
  if (impl.computed_off_tape)
    fail(
        "[{}] an operand of shape {} must be computed on the tape, got one computed outside it (by {}); "
        "compute it while the tape is alive, or detach() it ({}:{})",
        op, describe(x), origin, at.file, at.line);
  fail(
      "[{}] an operand of shape {} (from {}) must be on the active tape, got one from another tape or consumed by "
      "backward; compute it again on this tape, keep the tape with {{.keep = true}}, or detach() it ({}:{})",
      op, describe(x), origin, at.file, at.line);
}

}  // namespace

bool register_op(const char* name) {
  op_names().push_back(name);
  return true;
}

bool Recorder::needs_gradient(const TensorImpl& input) {
  if (input.leaf) return !input.leaf->frozen;
  return input.node >= 0 && context.graph && input.tape == context.graph->serial;
}

Recorder::Recorder(const char* name, CallSite at, Tensor& value, const Tensor* const* inputs,
                   std::size_t count) {
  Context& here = context;
  if (here.anomaly) [[unlikely]]
    check_value(name, at, value, inputs, count);
  if (!here.recording) {
    if (here.leaves_used) [[unlikely]]
      note_leaves(inputs, count);
    return;
  }
  const Tensor* stale = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i]->defined()) continue;  // an optional argument that was omitted
    const TensorImpl& impl = inputs[i]->impl();
    if (needs_gradient(impl))
      needs_ |= std::uint64_t{1} << std::min(i, kNoted);
    else if (!impl.leaf && (impl.node >= 0 || impl.computed_off_tape))
      stale = inputs[i];
  }
  if (here.tape && stale) refuse(name, at, *stale);
  if (!needs_ && !stale) return;

  // If the result shares the TensorImpl of another tensor (a conversion that changed nothing), it gets a new one.
  if (!value.ref().unique() || value.impl().leaf) value = alias(value, value.shape(), value.strides());
  if (!here.tape) {
    value.impl().origin = name;
    value.impl().computed_off_tape = true;
    return;
  }
  here.graph->append(name, at, value.impl());
  value_ = &value;
  inputs_ = inputs;
  recording_ = true;
}

void Recorder::note_leaves(const Tensor* const* inputs, std::size_t count) {
  std::vector<Tensor>& leaves = *context.leaves_used;
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i]->defined() || !inputs[i]->impl().leaf) continue;
    const auto same = [&](const Tensor& leaf) { return &leaf.impl() == &inputs[i]->impl(); };
    if (std::none_of(leaves.begin(), leaves.end(), same)) leaves.push_back(*inputs[i]);
  }
}

void Recorder::finish() {
  Graph& graph = *context.graph;
  Node& node = graph.nodes.back();
  node.edges = static_cast<std::uint32_t>(graph.edges.size()) - node.first_edge;
  node.saved = static_cast<std::uint32_t>(graph.saved_versions.size()) - node.first_saved;
  if (graph.value_hooks.empty()) return;
  const NodeInfo info = context.tape->node(graph.nodes.size() - 1);
  for (const auto& hook : graph.value_hooks) {
    const RecordingGuard off(false);
    hook(info, *value_);
  }
}

std::vector<Tensor::Saved>& Recorder::saved_versions() { return context.graph->saved_versions; }

BackwardFn& Recorder::place_for_rule(const Tensor* const* targets, std::size_t count, bool takes_result) {
  Graph& graph = *context.graph;
  const std::size_t first = graph.edges.size();
  if (count > UINT16_MAX)
    fail("[{0}] a joint rule must have at most {2} arguments, got {1}; use several rules",
         graph.nodes.back().op, count, UINT16_MAX);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t filled = i == 0 ? count : 0;
    if (!targets[i]->defined()) {
      graph.edges.emplace_back(filled, DType::f32, Dims());
      continue;
    }
    const TensorImpl& impl = targets[i]->impl();
    Edge& edge = graph.edges.emplace_back(filled, impl.dtype, impl.shape);
    if (impl.leaf) {
      if (impl.leaf->frozen) continue;
      edge.target = graph.find_leaf(*targets[i]);
      edge.needed = true;
    } else if (impl.node >= 0) {
      edge.target = Target::node(static_cast<std::size_t>(impl.node));
      edge.needed = true;
    }
  }
  if (takes_result) {
    graph.nodes.back().result = *value_;
    const TensorImpl& impl = value_->impl();
    graph.saved_versions.push_back({impl.buffer.get(), impl.buffer->version.load(std::memory_order_relaxed)});
  }
  return graph.edges[first].rule;
}

BackwardFn& Recorder::place_for_accumulate() {
  Graph& graph = *context.graph;
  graph.edges.back().accumulate = static_cast<std::uint32_t>(graph.accumulators.size());
  return graph.accumulators.emplace_back();
}

BackwardFn& Recorder::place_for_replay() {
  Graph& graph = *context.graph;
  graph.nodes.back().replay = static_cast<std::uint32_t>(graph.replays.size());
  return graph.replays.emplace_back();
}

}  // namespace detail

using detail::context;

bool records(const Tensor& x) {
  return context.tape && context.recording && detail::Recorder::needs_gradient(x.impl());
}

bool is_tracked(const Tensor& x) {
  const detail::TensorImpl& impl = x.impl();
  return detail::Recorder::needs_gradient(impl) ||
         (context.tape && !impl.leaf && (impl.node >= 0 || impl.computed_off_tape));
}

std::vector<const char*> linked_ops() { return detail::op_names(); }

}  // namespace tapestry
