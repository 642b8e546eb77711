// Appends nodes and leaves to a graph.
#include "core/tape/graph.hpp"

namespace tapestry::detail {

namespace {

/// Finds a leaf by its address, without using its hint.
Target search(Graph& graph, const Tensor& tensor) {
  for (std::size_t i = graph.found_leaves.size(); i < graph.leaves.size(); ++i)
    graph.found_leaves.emplace(&graph.leaves[i].impl(), static_cast<std::uint32_t>(i));
  const auto found = graph.found_leaves.find(&tensor.impl());
  return found == graph.found_leaves.end() ? Target::none() : Target::leaf(found->second);
}

}  // namespace

Node& Graph::append(const char* op, CallSite at, TensorImpl& result) {
  result.origin = op;
  result.node = static_cast<std::int32_t>(nodes.size());
  result.tape = serial;
  return nodes.emplace_back(op, at, edges.size(), saved_versions.size(), result);
}

// Tapes on several threads may share a leaf, and each of them writes the leaf's hint. So the hint is checked before it
// is used. Its serial number never decreases: if it is below ours, this tape has not used the leaf; if it is above
// ours, another tape has overwritten the hint.
Target Graph::find_leaf(const Tensor& tensor, bool add) {
  Leaf& leaf = *tensor.impl().leaf;
  std::uint64_t newest = leaf.tape.load(std::memory_order_relaxed);
  if (newest == serial) {
    const auto index = static_cast<std::size_t>(leaf.index.load(std::memory_order_relaxed));
    if (index < leaves.size() && &leaves[index].impl() == &tensor.impl()) return Target::leaf(index);
  }
  if (newest >= serial)
    if (const Target found = search(*this, tensor); found != Target::none()) return found;
  if (!add) return Target::none();
  const std::size_t index = leaves.size();
  leaves.push_back(tensor);
  if (newest < serial) leaf.index.store(static_cast<std::uint32_t>(index), std::memory_order_relaxed);
  while (newest < serial && !leaf.tape.compare_exchange_weak(newest, serial, std::memory_order_relaxed)) {
  }
  return Target::leaf(index);
}

}  // namespace tapestry::detail
