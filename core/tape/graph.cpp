#include "core/tape/graph.hpp"

#include <atomic>

namespace tapestry::detail {

constinit thread_local Context context;

namespace {

std::atomic<std::uint64_t> next_serial{kRounds};

}  // namespace

void Graph::clear() {
  nodes.clear();
  edges.clear();
  saved_versions.clear();
  accumulators.clear();
  replays.clear();
  leaves.clear();
  if (!found_leaves.empty()) found_leaves.clear();
  slots.clear();
  leaf_slots.clear();
  extended = nullptr;
  in_pass = false;
  gradient_hooks.clear();
  value_hooks.clear();
}

void Graph::take_new_serial() { serial = next_serial.fetch_add(kRounds, std::memory_order_relaxed); }

void Graph::start_over() {
  auto hooks = std::move(value_hooks);
  clear();
  value_hooks = std::move(hooks);
  if (++serial % kRounds == 0) take_new_serial();
}

}  // namespace tapestry::detail
