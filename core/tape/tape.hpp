// The tape: while one lives, ops on tensors that need gradients are appended to it in the order in which they
// run (a Wengert list, R. E. Wengert 1964), so backward is a loop from the back.
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
  /// Keep what the rules saved, so that backward can run again.
  bool keep = false;
};

struct GradientOptions {
  /// Record the derivative's own ops on the tape, so that it can be differentiated again.
  bool create_graph = false;
  /// As in BackwardOptions; creating a graph keeps the tape too.
  bool keep = false;
  /// Zeros for an input that y does not depend on; otherwise such an input is an error.
  bool zero_if_unused = false;
};

/// Records ops on this thread from construction to destruction, which must be on the same thread. A second tape inside
/// it is an error. Two threads may each have their own tape and may read the same leaves: gradients() of both are right.
/// backward() writes to .grad() of the leaves, so at most one thread at a time may call it on shared leaves.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Adds ∂y/∂leaf to .grad() of every leaf that y depends on; y has one element. Consumes what was recorded,
  /// unless asked to keep it; the tape then records anew. If anything throws, no leaf's gradient has changed.
  void backward(const Tensor& y, BackwardOptions options = {});
  /// The same for any y: adds Σ dy ⊙ ∂y/∂leaf. dy has y's shape and type.
  void backward(const Tensor& y, const Tensor& dy, BackwardOptions options = {});

  /// Gradients of y with respect to leaves or recorded tensors, as tensors; no leaf's .grad() is touched.
  std::vector<Tensor> gradients(const Tensor& y, std::span<const Tensor> xs, GradientOptions options = {});
  std::vector<Tensor> gradients(const Tensor& y, const Tensor& dy, std::span<const Tensor> xs,
                                GradientOptions options = {});
  std::vector<Tensor> gradients(const Tensor& y, std::initializer_list<Tensor> xs,
                                GradientOptions options = {}) {
    return gradients(y, std::span(xs.begin(), xs.size()), options);
  }

  /// Runs when backward reaches x's gradient (complete by then); may return another tensor in its place.
  /// Forgotten when a backward consumes the tape; hooks of on_value() stay.
  void on_gradient(const Tensor& x, std::function<Tensor(const Tensor&)> hook);
  /// Runs after each op that is recorded; of a checkpoint it sees the ops when backward runs them again.
  void on_value(std::function<void(const NodeInfo&, const Tensor&)> hook);

  /// size(): how many nodes were recorded; node(i): the i-th of them, from 0; leaves(): those that they depend on.
  std::size_t size() const;
  NodeInfo node(std::size_t index) const;
  const std::vector<Tensor>& leaves() const;
  /// A line for each node: number, op, shape, bytes saved, inputs, source line.
  std::string table() const;
  /// The graph in Graphviz's language.
  std::string dot() const;

  /// This thread's tape, or null.
  static Tape* active();

 private:
  std::unique_ptr<detail::Graph> graph_;
};

}  // namespace tapestry
