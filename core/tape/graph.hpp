// What a tape holds: nodes, the edges from each node to its arguments, and what their rules saved.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "core/tape/backward_fn.hpp"
#include "core/tape/tape.hpp"

namespace tapestry::detail {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Serial numbers set aside for one tape: it takes the next whenever it starts over, and serial / kRounds
/// tells tapes apart.
inline constexpr std::uint64_t kRounds = std::uint64_t{1} << 20;

/// From a node to one argument that gets a gradient, or that a joint rule serves with those that do.
/// (Its constructor keeps vectors from setting the memory to 0 first.)
struct Edge {
  Edge(std::size_t span_in, DType dtype_in, const Dims& shape_in)
      : span(static_cast<std::uint16_t>(span_in)), dtype(dtype_in), shape(shape_in) {}

  BackwardFn rule;                   // empty for all but the first argument of a joint rule
  std::uint32_t accumulate = kNone;  // index of the short cut, if the rule has one
  std::uint16_t span;                // how many edges, from this one on, the rule fills
  bool needed = false;               // false: an argument of a joint rule that needs no gradient
  DType dtype;
  std::int32_t target = 0;  // ≥ 0: node; < 0: leaf number -1 - target
  Dims shape;               // the argument's, to undo broadcasting
};

struct Node {
  Node(const char* op_in, CallSite at_in, std::size_t edge, std::size_t saved_place, const TensorImpl& value)
      : op(op_in),
        at(at_in),
        first_edge(static_cast<std::uint32_t>(edge)),
        first_saved(static_cast<std::uint32_t>(saved_place)),
        dtype(value.dtype),
        shape(value.shape) {}

  const char* op;
  CallSite at;
  std::uint32_t first_edge, edges = 0;
  std::uint32_t first_saved, saved = 0;
  std::uint32_t replay = kNone;  // index in `replays`: the decomposition, or the checkpointed function
  bool always_replay = false;    // a checkpoint
  DType dtype;
  Tensor result;  // only if a rule asks for it
  Dims shape;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Tensor::Saved> saved;
  std::vector<BackwardFn> accumulators, replays;
  std::vector<Tensor> leaves;
  std::unordered_map<const TensorImpl*, std::int32_t> found_leaves;  // numbers, where hints were overwritten
  std::vector<Tensor> slots;                                         // gradients of nodes, during a pass
  std::vector<Tensor> leaf_slots;  // gradients of leaves, given to them when the pass is complete
  std::unordered_map<std::int32_t, std::vector<std::function<Tensor(const Tensor&)>>> gradient_hooks;
  std::vector<std::function<void(const NodeInfo&, const Tensor&)>> value_hooks;

  /// A new node, whose result has this implementation: it is told its place on the tape `serial`.
  Node& append(const char* op, CallSite at, TensorImpl& result, std::uint64_t serial);
  /// The leaf's number on the tape `serial`. One that is new there gets the next, or −1 unless it is to be added.
  std::int32_t number_of(const Tensor& leaf, std::uint64_t serial, bool add = true);
  /// Sizes to cut back to; edges and saved tensors follow from the first node that is cut.
  struct Mark {
    std::size_t nodes, accumulators, replays;
  };
  Mark mark() const { return {nodes.size(), accumulators.size(), replays.size()}; }
  /// Forgets what was recorded after the mark.
  void cut(const Mark& mark);
  void clear();
};

/// This thread's state.
struct Context {
  Tape* tape = nullptr;
  bool recording = true;
  bool anomaly = false;
  std::vector<Tensor>* leaves_used = nullptr;  // by a checkpoint's first run: writes to them are noticed
};
extern constinit thread_local Context context;

/// While RecordingGuard(false) lives, ops on this thread are not recorded, and their results are not marked as
/// computed outside of a tape; RecordingGuard(true) inside it turns recording on again.
class RecordingGuard {
 public:
  explicit RecordingGuard(bool on) : before_(std::exchange(context.recording, on)) {}
  ~RecordingGuard() { context.recording = before_; }
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  bool before_;
};

/// Throws if x has a NaN, naming the op and its inputs.
void check_value(const char* op, CallSite at, const Tensor& x, const Tensor* const* inputs,
                 std::size_t count);
void check_gradient(const Node& node, std::size_t argument, const Tensor& gradient,
                    const char* what = "gradient");
/// Throws Error where a leaf's gradient so far, and what this pass adds to it, would make NaN.
void check_leaf_sum(const Tensor& sum, const Tensor& gradient);

}  // namespace tapestry::detail
