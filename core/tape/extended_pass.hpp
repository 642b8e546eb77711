// What a pass over the tape can do beyond first derivatives of all leaves. Nothing here is needed to understand backward.
#pragma once

#include <utility>
#include <vector>

#include "core/tape/backward_pass.hpp"

namespace tapestry::detail {

/// The tensors that Tape::gradients() differentiates by: the pass follows only the edges that lead to them.
struct Wanted {
  std::vector<Target> targets;
  std::vector<Tensor> found;      // their gradients
  std::vector<char> leads_there;  // for each node that was on the tape at first

  /// Marks the nodes [0, end) that depend on one of the targets.
  void mark(const Graph& graph, std::size_t end);
  bool wants(const Edge& edge) const;
  /// Notes the gradient dy of a node if it is asked for; then whether the pass has to go on from it.
  bool visit(std::size_t node, const Tensor& dy);
};

/// Turns anomaly mode's checks of values off, or on, while it lives. A pass judges a rule by what it returns, so that the
/// message names the op that was called and the caller's line, not the ops that its rule is made of.
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
  /// create_graph: what the rules do is recorded. wanted: none for all leaves.
  ExtendedPass(Graph& graph, bool keep, bool create_graph = false, Wanted* wanted = nullptr);

 protected:
  Target find(const Tensor& y) override;
  void begin(std::size_t end) override;
  void visit(std::size_t index, Tensor& dy) override;
  void take(const Node& node, std::uint32_t edge, Tensor&& gradient) override;
  void finish() override;

 private:
  /// Whether the edge leads to something that is to get a gradient; the second, whether any of `count` edges
  /// from `first` on does.
  bool is_wanted(const Edge& edge) const { return edge.needed && (!wanted_ || wanted_->wants(edge)); }
  bool is_wanted(std::uint32_t first, std::uint32_t count) const;

  // higher_order.cpp
  void apply_recorded(const Node& node, std::uint32_t first, std::uint32_t count, const Tensor& dy);
  void replay(std::size_t index, const Tensor& dy);

  // hooks.cpp
  /// Fills due_ for the nodes [0, end).
  void find_due(std::size_t end);
  /// Runs the hooks of leaves whose earliest node is this one, or comes after it.
  void run_due(std::size_t node);
  void run_hooks(Target target, Tensor& gradient) const;

  Wanted* const wanted_;
  const bool anomaly_;
  const AnomalyGuard pass_judges_;
  /// Leaves that have hooks, each with the earliest node that uses it (no node: 0): once that node was visited, the
  /// leaf's gradient is complete. The last one is due first.
  std::vector<std::pair<std::size_t, Target>> due_;
};

/// A RunPass: gradients of all leaves, with hooks, checkpoints and anomaly mode.
void run_extended(Graph& graph, bool keep, const Tensor& y, const Tensor& dy);

/// Throws if the gradient of an argument has a NaN, naming the node's op.
void check_gradient(const Node& node, std::size_t argument, const Tensor& gradient,
                    const char* what = "gradient");
/// Throws Error where a leaf's gradient so far, and what this pass adds to it, would make NaN.
void check_leaf_sum(const Tensor& sum, const Tensor& gradient);

}  // namespace tapestry::detail
