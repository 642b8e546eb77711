// What recording adds to a graph: nodes, and the leaves that they depend on.
#include "core/tape/graph.hpp"

namespace tapestry::detail {

namespace {

/// A leaf's index, whatever its hint says.
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
  return nodes.emplace_back(op, at, edges.size(), saved.size(), result);
}

// Tapes of several threads may share a leaf, and each writes its hint; so a hint is checked before it is used. Its serial
// never decreases: one below ours says that this tape has not used the leaf, one above that another has changed it.
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
