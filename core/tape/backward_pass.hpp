// One reverse pass over the tape, for first derivatives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tape/graph.hpp"

namespace tapestry::detail {

/// Computes the gradient of every leaf that y depends on, in Graph::leaf_slots. Other kinds of passes override the
/// virtual functions (extended_pass.hpp).
class BackwardPass {
 public:
  /// keep: if true, the saved tensors stay on the tape for another pass.
  BackwardPass(Graph& graph, bool keep) : graph_(graph), keep_(keep) {}
  virtual ~BackwardPass() = default;
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  /// Runs the pass, with dy as the gradient of y. Throws Error if y is not on this tape, or if dy has another shape or
  /// type than y. If anything throws after these checks, the graph starts over.
  void run(const Tensor& y, const Tensor& dy);

 protected:
  /// Returns the node where the pass starts, that of y.
  virtual Target find(const Tensor& y);
  /// Called before the pass visits the nodes [0, end).
  virtual void begin(std::size_t end) { static_cast<void>(end); }
  /// Called after the pass has visited all nodes.
  virtual void finish() {}
  /// Computes the gradients of a node's arguments from dy, the node's complete gradient, and adds them to their slots.
  virtual void visit(std::size_t index, Tensor& dy);
  /// Adds the gradient that a rule returned for an edge to the slot of the edge's argument.
  virtual void take(const Node& node, std::uint32_t edge, Tensor&& gradient);

  /// Visits the nodes [first, end) in reverse order.
  void sweep(std::size_t first, std::size_t end);
  /// Runs the rule of the `count` edges that start at `first`.
  void apply(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy);
  void add(Target target, Tensor&& gradient);
  void check_versions(const Node& node) const;
  /// Returns the slot of a node or leaf: the sum of its gradients so far; undefined if there is none yet.
  Tensor& slot(Target target) {
    auto& slots = target.is_leaf ? graph_.leaf_slots : graph_.slots;
    if (slots.size() <= target.index) [[unlikely]]
      slots.resize(std::max(std::size_t{target.index} + 1,
                            target.is_leaf ? graph_.leaves.size() : graph_.nodes.size()));
    return slots[target.index];
  }

  Graph& graph_;
  const bool keep_;
  /// If true, rules are recorded and run in apply_recorded() (extended_pass.cpp), not apply(); each sum is a new tensor.
  bool create_graph_ = false;

 private:
  void release(Node& node);
};

/// Returns true if x is dense and does not share its memory, so that a gradient can be added to it in place.
bool is_alone(const Tensor& x);
/// Returns the gradient of y with respect to itself, 1. Throws Error unless y has one element.
Tensor seed_gradient(const Tensor& y);

}  // namespace tapestry::detail
