// Recording: which ops get a place on the tape, and what is refused.
#include "core/tape/tape.hpp"

#include <atomic>
#include <cstring>

#include "core/tape/records.hpp"
#include "core/tensor/random.hpp"

namespace tapestry {

namespace detail {

constinit thread_local Context context;

namespace {

/// Records are handed from one tape to the next on a thread, so that a training loop's steps reuse their
/// memory.
thread_local std::unique_ptr<Records> spare_records;

std::atomic<std::uint64_t> next_serial{kRounds};

std::vector<const char*>& op_names() {
  static std::vector<const char*> names;
  return names;
}

[[noreturn]] void refuse(const char* op, CallSite at, const Tensor& x) {
  const Body& body = x.body();
  const char* origin = body.origin ? body.origin : "a view";
  if (body.outside)
    fail(
        "[{}] an operand of shape {} was computed outside the tape (by {}): move it inside, or detach() it "
        "({}:{})",
        op, describe(x), origin, at.file, at.line);
  fail(
      "[{}] an operand of shape {} (from {}) belongs to a tape that is gone or was consumed by backward: "
      "compute it again "
      "under this tape, keep the tape with {{.keep = true}}, or detach() it ({}:{})",
      op, describe(x), origin, at.file, at.line);
}

}  // namespace

bool register_op(const char* name) {
  op_names().push_back(name);
  return true;
}

Node& Records::append(const char* op, CallSite at, Body& result, std::uint64_t serial) {
  result.origin = op;
  result.node = static_cast<std::int32_t>(nodes.size());
  result.tape = serial;
  return nodes.emplace_back(op, at, edges.size(), saved.size(), result);
}

std::int32_t Records::number_of(const Tensor& tensor, std::uint64_t serial) {
  Leaf& leaf = *tensor.body().leaf;
  if (leaf.tape != serial) {
    leaf.tape = serial;
    leaf.number = static_cast<std::int32_t>(leaves.size());
    leaves.push_back(tensor);
  }
  return leaf.number;
}

void Records::cut(const Mark& mark) {
  if (mark.nodes >= nodes.size()) return;
  const Node& first = nodes[mark.nodes];
  edges.erase(edges.begin() + first.first_edge, edges.end());
  saved.erase(saved.begin() + first.first_saved, saved.end());
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end());
  addings.erase(addings.begin() + static_cast<std::ptrdiff_t>(mark.addings), addings.end());
  replays.erase(replays.begin() + static_cast<std::ptrdiff_t>(mark.replays), replays.end());
  if (slots.size() > mark.nodes) slots.resize(mark.nodes);
}

void Records::clear() {
  nodes.clear();
  edges.clear();
  saved.clear();
  addings.clear();
  replays.clear();
  leaves.clear();
  slots.clear();
  leaf_slots.clear();
  gradient_hooks.clear();
  value_hooks.clear();
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
  if (here.paused) {
    if (here.leaves_used) [[unlikely]]
      note_leaves(inputs, count);
    return;
  }
  const Tensor* stale = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i]->defined()) continue;  // an optional argument that was left out
    const Body& body = inputs[i]->body();
    if (asks_for_gradient(body))
      needs_ |= std::uint64_t{1} << i;
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
    const Paused paused;
    hook(info, *value_);
  }
}

std::vector<Tensor::Saved>& Recorder::saved() { return context.tape->records_->saved; }

Rule& Recorder::place_for_rule(const Tensor* const* targets, std::size_t count, bool asks_for_result) {
  Tape& tape = *context.tape;
  Records& records = *tape.records_;
  const std::size_t first = records.edges.size();
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

Tensor record_checkpoint(std::function<Tensor()> f, CallSite at) {
  if (!context.tape || context.paused) return f();
  const RandomState before = random_state();
  Tensor value;
  std::vector<Tensor> leaves;  // weights that f knows by itself: they are saved like what it is given
  {
    struct Watching {
      explicit Watching(std::vector<Tensor>& into) { context.leaves_used = &into; }
      ~Watching() { context.leaves_used = nullptr; }
    } const watching(leaves);
    const Paused paused;
    value = f();
  }
  value = alias(value, value.shape(), value.strides());
  Records& records = *context.tape->records_;
  Node& node = records.append("checkpoint", at, value.body(), context.tape->serial_);
  node.always_replay = true;
  node.replay = static_cast<std::uint32_t>(records.replays.size());
  auto again = [f = std::move(f), before, leaves](const Tensor&, const Tensor&, Tensor* result) {
    struct Rewind {
      RandomState now = random_state();
      ~Rewind() { random_state() = now; }
    } rewind;
    random_state() = before;
    *result = f();
  };
  {
    Tensor::Collect collect(records.saved);
    records.replays.emplace_back().emplace<decltype(again)>(again);
  }
  node.saved = static_cast<std::uint32_t>(records.saved.size()) - node.first_saved;
  return value;
}

}  // namespace detail

using detail::context;

bool records(const Tensor& x) {
  return detail::context.tape && !detail::context.paused && detail::Recorder::asks_for_gradient(x.body());
}

std::vector<const char*> linked_ops() { return detail::op_names(); }

Tape::Tape() {
  if (context.tape)
    fail("a tape was opened inside a tape: use one tape, or checkpoint(f, x…) to save memory inside it");
  records_ = detail::spare_records ? std::move(detail::spare_records) : std::make_unique<detail::Records>();
  serial_ = detail::next_serial.fetch_add(detail::kRounds, std::memory_order_relaxed);
  context.tape = this;
}

Tape::~Tape() {
  context.tape = nullptr;
  records_->clear();
  detail::spare_records = std::move(records_);
}

Tape* Tape::active() { return context.tape; }

void Tape::start_over() {
  auto hooks = std::move(records_->value_hooks);
  records_->clear();
  records_->value_hooks = std::move(hooks);
  if (++serial_ % detail::kRounds == 0)
    serial_ = detail::next_serial.fetch_add(detail::kRounds, std::memory_order_relaxed);
}

void Tape::on_gradient(const Tensor& x, std::function<Tensor(const Tensor&)> hook) {
  const detail::Body& body = x.body();
  if (body.node >= 0 && body.tape == serial_) {
    records_->gradient_hooks[body.node].push_back(std::move(hook));
  } else if (x.requires_grad()) {
    records_->gradient_hooks[-1 - records_->number_of(x, serial_)].push_back(std::move(hook));
  } else {
    fail("on_gradient wants a tensor that this tape has recorded; {} is not on it", describe(x));
  }
}

void Tape::on_value(std::function<void(const NodeInfo&, const Tensor&)> hook) {
  records_->value_hooks.push_back(std::move(hook));
}

std::size_t Tape::size() const { return records_->nodes.size(); }

const std::vector<Tensor>& Tape::leaves() const { return records_->leaves; }

NodeInfo Tape::node(std::size_t index) const {
  const detail::Node& node = records_->nodes.at(index);
  NodeInfo info{node.op, node.at, node.shape, node.dtype, 0, {}};
  for (std::uint32_t i = 0; i < node.saved; ++i)
    info.saved_bytes += records_->saved[node.first_saved + i].buffer->bytes;
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    const detail::Edge& edge = records_->edges[node.first_edge + i];
    if (edge.needed) info.inputs.push_back(edge.target);
  }
  return info;
}

AnomalyMode::AnomalyMode() : before_(std::exchange(context.anomaly, true)) {}
AnomalyMode::~AnomalyMode() { context.anomaly = before_; }

}  // namespace tapestry
