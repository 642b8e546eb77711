#include "core/tape/records.hpp"

namespace tapestry::detail {

constinit thread_local Context context;

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

}  // namespace tapestry::detail
