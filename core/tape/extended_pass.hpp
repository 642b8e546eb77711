// The extended pass adds hooks, checkpoints, anomaly mode, gradients of chosen tensors and higher derivatives. You can
// skip this file and still understand backward.
#pragma once

#include <utility>
#include <vector>

#include "core/tape/backward_pass.hpp"

namespace tapestry::detail {

/// The tensors with respect to which Tape::gradients() differentiates. The pass follows only edges that lead to one of
/// them.
struct Wanted {
  std::vector<Target> targets;
  std::vector<Tensor> found;      // their gradients
  std::vector<char> leads_there;  // for each node that was on the tape when the pass began

  /// Marks the nodes [0, end) that depend on one of the targets.
  void mark(const Graph& graph, std::size_t end);
  /// Returns true if the edge leads to a target, or to a node that depends on one.
  bool wants(const Edge& edge) const;
  /// Stores dy, the gradient of a node, if the node is a target. Returns true if the pass must go on to
  /// the node's arguments.
  bool visit(std::size_t node, const Tensor& dy);
};

/// A guard that turns anomaly mode's checks of values on or off. A pass turns them off and checks the gradients that
/// each rule returns. The error then names the op and the line that called it, instead of an op inside the rule.
class AnomalyGuard {
 public:
  explicit AnomalyGuard(bool on) : before_(std::exchange(context.anomaly, on)) {}
  ~AnomalyGuard() { context.anomaly = before_; }
  AnomalyGuard(const AnomalyGuard&) = delete;
  AnomalyGuard& operator=(const AnomalyGuard&) = delete;

 private:
  bool before_;
};

class ExtendedPass : public BackwardPass {
 public:
  /// create_graph: if true, the ops of the rules are recorded. wanted: the targets; null for all leaves.
  ExtendedPass(Graph& graph, bool keep, bool create_graph = false, Wanted* wanted = nullptr);

 protected:
  Target find(const Tensor& y) override;
  void begin(std::size_t end) override;
  void visit(std::size_t index, Tensor& dy) override;
  void take(const Node& node, std::uint32_t edge, Tensor&& gradient) override;
  void finish() override;

 private:
  /// Returns true if the edge leads to a tensor that must get a gradient. The second overload returns true if any of
  /// the `count` edges that start at `first` does.
  bool is_wanted(const Edge& edge) const { return edge.needed && (!wanted_ || wanted_->wants(edge)); }
  bool is_wanted(std::uint32_t first, std::uint32_t count) const;

  void apply_recorded(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy);

  // replay.cpp
  void replay(std::size_t index, const Tensor& dy);

  // hooks.cpp
  /// Fills due_ from the nodes [0, end).
  void find_due(std::size_t end);
  /// Runs the hooks of the leaves whose earliest node is `node` or a later one.
  void run_due(std::size_t node);
  void run_hooks(Target target, Tensor& gradient) const;

  Wanted* const wanted_;
  const bool anomaly_;
  const AnomalyGuard checks_off_;
  /// Leaves that have hooks, each with the earliest node that uses it (0 if no node does). The leaf's gradient is
  /// complete when that node has been visited. The last leaf in the list is due first.
  std::vector<std::pair<std::size_t, Target>> due_;
};

/// Runs a pass (a RunPass) that computes the gradients of all leaves, with hooks, checkpoints and anomaly mode.
void run_extended(Graph& graph, bool keep, const Tensor& y, const Tensor& dy);

/// Throws Error, with the name of the node's op, if the gradient of an argument contains a NaN.
void check_gradient(const Node& node, std::size_t argument, const Tensor& gradient,
                    const char* what = "gradient");
/// Throws Error if adding `gradient` to `sum`, the .grad() of a leaf, gives a NaN.
void check_leaf_sum(const Tensor& sum, const Tensor& gradient);

}  // namespace tapestry::detail
