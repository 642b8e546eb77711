// The tape: while a tape is alive, ops on tensors that need gradients are appended to it in the order in which they run
// (a Wengert list, R. E. Wengert 1964). So backward is a loop from the last op to the first.
//
//     Tape tape;
//     Tensor loss = cross_entropy(model(x), y);
//     tape.backward(loss);
//     adam.step();
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

struct NodeInfo;  // core/tape/node_info.hpp
namespace detail {
struct Graph;
}

struct BackwardOptions {
  /// If true, keeps the recorded nodes, so that backward can run again.
  bool keep = false;
};

struct GradientOptions {
  /// If true, records the ops that compute the gradients, so that the gradients can be differentiated again.
  bool create_graph = false;
  /// As in BackwardOptions. create_graph implies keep.
  bool keep = false;
  /// If true, returns zeros for an x on which y does not depend. Otherwise such an x is an error.
  bool zero_if_unused = false;
};

/// Records ops on this thread from its construction to its destruction, which must be on the same thread. A thread can
/// have only one tape at a time. Tapes on several threads may use the same leaves, and gradients() is correct on each.
/// backward() writes to .grad() of the leaves, so at most one thread at a time may call it on shared leaves.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds ∂y/∂leaf to .grad() of every leaf that y depends on; y must have one element. Unless options.keep is set, it
  /// frees each node's saved tensors, then all nodes; the tape can record again. If it throws, no gradient has changed.
  void backward(const Tensor& y, BackwardOptions options = {});
  /// Same, for a y of any shape: adds the gradient of Σ dy ⊙ y. dy must have y's shape and type.
  void backward(const Tensor& y, const Tensor& dy, BackwardOptions options = {});

  /// Returns the gradients of y with respect to leaves or recorded tensors; no leaf's .grad() changes. Throws Error if
  /// y does not depend on an x, unless zero_if_unused is set. Deletes the recorded nodes, unless keep is set.
  std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs, GradientOptions options = {});
  std::vector<Tensor> gradients(const Tensor& y, const Tensor& dy, std::span<const Tensor> xs,
                                GradientOptions options = {});
  std::vector<Tensor> gradients(const Tensor& y, std::initializer_list<Tensor> xs,
                                GradientOptions options = {}) {
    return gradients(y, std::span(xs.begin(), xs.size()), options);
  }

  /// Adds a hook that backward() and gradients() call with x's complete gradient. It returns a replacement, or an
  /// undefined Tensor for none. It must not start a pass. It is deleted together with the recorded nodes.
  void on_gradient(const Tensor& x, std::function<Tensor(const Tensor&)> hook);
  /// Adds a hook that runs after each recorded op; for ops in a checkpoint, when backward runs them again.
  void on_value(std::function<void(const NodeInfo&, const Tensor&)> hook);

  /// size(): number of recorded nodes; node(i): description of node i; leaves(): the leaves that the nodes depend on.
  std::size_t size() const;
  NodeInfo node(std::size_t index) const;
  const std::vector<Tensor>& leaves() const;
  /// Returns a table with one line per node: number, op, shape, bytes saved, inputs and source line.
  std::string table() const;
  /// Returns the graph in Graphviz's DOT language.
  std::string dot() const;

  /// Returns this thread's tape, or null.
  static Tape* active();

 private:
  std::unique_ptr<detail::Graph> graph_;
};

}  // namespace tapestry
