// One pass over the tape from the back, for first derivatives.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tape/graph.hpp"

namespace tapestry::detail {

/// Puts the gradient of every leaf that y depends on in Graph::leaf_slots. The virtual functions are where other kinds of
/// passes do more: extended_pass.hpp.
class BackwardPass {
 public:
  /// keep: what the rules saved stays, for another pass.
  BackwardPass(Graph& graph, bool keep) : graph_(graph), keep_(keep) {}
  virtual ~BackwardPass() = default;
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;

  /// The gradient of y is dy. Throws Error if y is not on this tape, or dy has another shape or type; if anything throws
  /// after that, the graph starts over.
  void run(const Tensor& y, const Tensor& dy);

 protected:
  /// Where the pass starts.
  virtual Target find(const Tensor& y);
  /// Before the first of `end` nodes is visited, and after the last.
  virtual void begin(std::size_t end) { static_cast<void>(end); }
  virtual void finish() {}
  /// dy, the gradient of this node, is complete: adds what follows from it to the slots of the node's arguments.
  virtual void visit(std::size_t index, Tensor& dy);
  /// Adds what a rule gave for an edge to the slot of its argument.
  virtual void take(const Node& node, std::uint32_t edge, Tensor&& gradient);

  /// Visits the nodes [first, end) from the back.
  void sweep(std::size_t first, std::size_t end);
  /// Runs the rule of `count` edges from `first` on.
  void apply(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy);
  void add(Target target, Tensor&& gradient);
  void check_versions(const Node& node) const;
  /// The gradient of a node or leaf, as far as it has been added up.
  Tensor& slot(Target target) {
    auto& slots = target.is_leaf ? graph_.leaf_slots : graph_.slots;
    if (slots.size() <= target.index) [[unlikely]]
      slots.resize(std::max(std::size_t{target.index} + 1,
                            target.is_leaf ? graph_.leaves.size() : graph_.nodes.size()));
    return slots[target.index];
  }

  Graph& graph_;
  const bool keep_;
  bool create_graph_ = false;  // rules are recorded: sums of gradients then have to be new tensors

 private:
  void release(Node& node);
};

/// The gradient with which a pass starts at a y with one element: 1. Throws Error for any other y.
Tensor seed_gradient(const Tensor& y);

}  // namespace tapestry::detail
