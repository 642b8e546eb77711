#include "core/tape/graph.hpp"

namespace tapestry::detail {

constinit thread_local Context context;

Node& Graph::append(const char* op, CallSite at, TensorImpl& result, std::uint64_t serial) {
  result.origin = op;
  result.node = static_cast<std::int32_t>(nodes.size());
  result.tape = serial;
  return nodes.emplace_back(op, at, edges.size(), saved.size(), result);
}

namespace {

/// A leaf's number, whatever its hint says; −1 if it is not among the leaves.
std::int32_t search(Graph& graph, const Tensor& tensor) {
  for (std::size_t i = graph.found_leaves.size(); i < graph.leaves.size(); ++i)
    graph.found_leaves.emplace(&graph.leaves[i].impl(), static_cast<std::int32_t>(i));
  const auto found = graph.found_leaves.find(&tensor.impl());
  return found == graph.found_leaves.end() ? -1 : found->second;
}

}  // namespace

// Tapes of several threads may share a leaf, and each writes its hint; so a hint is checked before it is used. Its serial
// never decreases: one below ours says that this tape has not used the leaf, one above that another has changed it.
std::int32_t Graph::number_of(const Tensor& tensor, std::uint64_t serial, bool add) {
  Leaf& leaf = *tensor.impl().leaf;
  std::uint64_t newest = leaf.tape.load(std::memory_order_relaxed);
  if (newest == serial) {
    const std::int32_t number = leaf.number.load(std::memory_order_relaxed);
    const auto index = static_cast<std::size_t>(number);
    if (index < leaves.size() && &leaves[index].impl() == &tensor.impl()) return number;
  }
  if (newest >= serial)
    if (const std::int32_t number = search(*this, tensor); number >= 0) return number;
  if (!add) return -1;
  const auto number = static_cast<std::int32_t>(leaves.size());
  leaves.push_back(tensor);
  if (newest < serial) leaf.number.store(number, std::memory_order_relaxed);
  while (newest < serial && !leaf.tape.compare_exchange_weak(newest, serial, std::memory_order_relaxed)) {
  }
  return number;
}

void Graph::cut(const Mark& mark) {
  if (mark.nodes >= nodes.size()) return;
  const Node& first = nodes[mark.nodes];
  edges.erase(edges.begin() + first.first_edge, edges.end());
  saved.erase(saved.begin() + first.first_saved, saved.end());
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes.end());
  accumulators.erase(accumulators.begin() + static_cast<std::ptrdiff_t>(mark.accumulators),
                     accumulators.end());
  replays.erase(replays.begin() + static_cast<std::ptrdiff_t>(mark.replays), replays.end());
  if (slots.size() > mark.nodes) slots.resize(mark.nodes);
}

void Graph::clear() {
  nodes.clear();
  edges.clear();
  saved.clear();
  accumulators.clear();
  replays.clear();
  leaves.clear();
  if (!found_leaves.empty()) found_leaves.clear();
  slots.clear();
  leaf_slots.clear();
  gradient_hooks.clear();
  value_hooks.clear();
}

}  // namespace tapestry::detail
