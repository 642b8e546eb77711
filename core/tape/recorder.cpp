// Recording: which ops get a place on the tape, and what is refused.
#include "core/tape/recorder.hpp"

#include <algorithm>

#include "core/tape/graph.hpp"

namespace tapestry {

namespace detail {

namespace {

std::vector<const char*>& op_names() {
  static std::vector<const char*> names;
  return names;
}

[[noreturn]] void refuse(const char* op, CallSite at, const Tensor& x) {
  const Body& body = x.body();
  const char* origin = body.origin ? body.origin : "a view";
  if (body.outside)
    fail(
        "[{}] an operand of shape {} was computed outside the tape (by {}): "
        "move it inside, or detach() it ({}:{})",
        op, describe(x), origin, at.file, at.line);
  fail(
      "[{}] an operand of shape {} (from {}) belongs to a tape that is gone or was consumed by backward: "
      "compute it again under this tape, keep the tape with {{.keep = true}}, or detach() it ({}:{})",
      op, describe(x), origin, at.file, at.line);
}

}  // namespace

bool register_op(const char* name) {
  op_names().push_back(name);
  return true;
}

bool Recorder::asks_for_gradient(const Body& input) {
  if (input.leaf) return !input.leaf->frozen;
  return input.node >= 0 && context.tape && input.tape == context.tape->serial_;
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
    if (!inputs[i]->defined()) continue;  // an optional argument that was left out
    const Body& body = inputs[i]->body();
    if (asks_for_gradient(body))
      needs_ |= std::uint64_t{1} << std::min(i, kNoted);
    else if (!body.leaf && (body.node >= 0 || body.outside))
      stale = inputs[i];
  }
  if (here.tape && stale) refuse(name, at, *stale);
  if (!needs_ && !stale) return;

  // A result that is another tensor's own handle (a conversion that changed nothing) gets a body of its own.
  if (!value.ref().unique() || value.body().leaf) value = alias(value, value.shape(), value.strides());
  if (!here.tape) {
    value.body().origin = name;
    value.body().outside = true;
    return;
  }
  here.tape->records_->append(name, at, value.body(), here.tape->serial_);
  value_ = &value;
  inputs_ = inputs;
  recording_ = true;
}

void Recorder::note_leaves(const Tensor* const* inputs, std::size_t count) {
  std::vector<Tensor>& leaves = *context.leaves_used;
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i]->defined() || !inputs[i]->body().leaf) continue;
    const auto same = [&](const Tensor& leaf) { return &leaf.body() == &inputs[i]->body(); };
    if (std::none_of(leaves.begin(), leaves.end(), same)) leaves.push_back(*inputs[i]);
  }
}

void Recorder::finish() {
  Records& records = *context.tape->records_;
  Node& node = records.nodes.back();
  node.edges = static_cast<std::uint32_t>(records.edges.size()) - node.first_edge;
  node.saved = static_cast<std::uint32_t>(records.saved.size()) - node.first_saved;
  if (records.value_hooks.empty()) return;
  const NodeInfo info = context.tape->node(records.nodes.size() - 1);
  for (const auto& hook : records.value_hooks) {
    const Recording off(false);
    hook(info, *value_);
  }
}

std::vector<Tensor::Saved>& Recorder::saved() { return context.tape->records_->saved; }

Rule& Recorder::place_for_rule(const Tensor* const* targets, std::size_t count, bool asks_for_result) {
  Tape& tape = *context.tape;
  Records& records = *tape.records_;
  const std::size_t first = records.edges.size();
  if (count > UINT16_MAX)
    fail("[{}] one rule serves {} arguments: {} at most", records.nodes.back().op, count, UINT16_MAX);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t filled = i == 0 ? count : 0;
    if (!targets[i]->defined()) {
      records.edges.emplace_back(filled, DType::f32, Dims());
      continue;
    }
    const Body& body = targets[i]->body();
    Edge& edge = records.edges.emplace_back(filled, body.dtype, body.shape);
    if (body.leaf) {
      if (body.leaf->frozen) continue;
      edge.target = -1 - records.number_of(*targets[i], tape.serial_);
      edge.needed = true;
    } else if (body.node >= 0) {
      edge.target = body.node;
      edge.needed = true;
    }
  }
  if (asks_for_result) {
    records.nodes.back().result = *value_;
    const Body& body = value_->body();
    records.saved.push_back({body.buffer.get(), body.buffer->version.load(std::memory_order_relaxed)});
  }
  return records.edges[first].rule;
}

Rule& Recorder::place_for_adding() {
  Records& records = *context.tape->records_;
  records.edges.back().adding = static_cast<std::uint32_t>(records.addings.size());
  return records.addings.emplace_back();
}

Rule& Recorder::place_for_replay() {
  Records& records = *context.tape->records_;
  records.nodes.back().replay = static_cast<std::uint32_t>(records.replays.size());
  return records.replays.emplace_back();
}

}  // namespace detail

using detail::context;

bool records(const Tensor& x) {
  return context.tape && context.recording && detail::Recorder::asks_for_gradient(x.body());
}

bool is_tracked(const Tensor& x) {
  const detail::Body& body = x.body();
  return detail::Recorder::asks_for_gradient(body) ||
         (context.tape && !body.leaf && (body.node >= 0 || body.outside));
}

std::vector<const char*> linked_ops() { return detail::op_names(); }

}  // namespace tapestry
