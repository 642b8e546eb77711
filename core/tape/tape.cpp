// A tape's life, and what it tells of itself.
#include "core/tape/tape.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "core/tape/graph.hpp"

namespace tapestry {

namespace detail {

namespace {

/// Records are handed from one tape to the next on a thread, so that a training loop's steps reuse their
/// memory.
thread_local std::unique_ptr<Graph> spare_graph;

std::atomic<std::uint64_t> next_serial{kRounds};

}  // namespace

}  // namespace detail

using detail::context;

Tape::Tape() {
  if (context.tape)
    fail("a tape was opened inside a tape: use one tape, or checkpoint(f, x…) to save memory inside it");
  graph_ = detail::spare_graph ? std::move(detail::spare_graph) : std::make_unique<detail::Graph>();
  serial_ = detail::next_serial.fetch_add(detail::kRounds, std::memory_order_relaxed);
  context.tape = this;
}

Tape::~Tape() {
  if (context.tape != this) {  // the other thread would go on recording on what is no more
    std::fputs(
        "tapestry: a tape must be destroyed on the thread that made it, and was destroyed on another\n",
        stderr);
    std::abort();
  }
  context.tape = nullptr;
  graph_->clear();
  detail::spare_graph = std::move(graph_);
}

Tape* Tape::active() { return context.tape; }

void Tape::start_over() {
  auto hooks = std::move(graph_->value_hooks);
  graph_->clear();
  graph_->value_hooks = std::move(hooks);
  if (++serial_ % detail::kRounds == 0)
    serial_ = detail::next_serial.fetch_add(detail::kRounds, std::memory_order_relaxed);
}

void Tape::on_gradient(const Tensor& x, std::function<Tensor(const Tensor&)> hook) {
  if (!hook) fail("[on_gradient] the hook must be callable, got an empty function");
  const detail::TensorImpl& impl = x.impl();
  if (impl.node >= 0 && impl.tape == serial_) {
    graph_->gradient_hooks[impl.node].push_back(std::move(hook));
  } else if (x.requires_grad()) {
    graph_->gradient_hooks[-1 - graph_->number_of(x, serial_)].push_back(std::move(hook));
  } else {
    fail("on_gradient wants a tensor that this tape has recorded; {} is not on it", describe(x));
  }
}

void Tape::on_value(std::function<void(const NodeInfo&, const Tensor&)> hook) {
  if (!hook) fail("[on_value] the hook must be callable, got an empty function");
  graph_->value_hooks.push_back(std::move(hook));
}

std::size_t Tape::size() const { return graph_->nodes.size(); }

const std::vector<Tensor>& Tape::leaves() const { return graph_->leaves; }

NodeInfo Tape::node(std::size_t index) const {
  if (index >= size()) fail("[node] the index must be below size() = {}, got {}", size(), index);
  const detail::Node& node = graph_->nodes[index];
  NodeInfo info{node.op, node.at, node.shape, node.dtype, 0, {}};
  for (std::uint32_t i = 0; i < node.saved; ++i)
    info.saved_bytes += graph_->saved[node.first_saved + i].buffer->bytes;
  for (std::uint32_t i = 0; i < node.edges; ++i) {
    const detail::Edge& edge = graph_->edges[node.first_edge + i];
    if (edge.needed) info.inputs.push_back(edge.target);
  }
  return info;
}

}  // namespace tapestry
