// The contents of a tape: nodes, the edges from each node to its arguments, and the tensors that their rules saved.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/tape/backward_fn.hpp"
#include "core/tape/tape.hpp"

namespace tapestry::detail {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// Number of serial numbers reserved for one tape. The tape takes the next one each time it starts over; serial /
/// kRounds identifies the tape.
inline constexpr std::uint64_t kRounds = std::uint64_t{1} << 20;

/// The end of an edge: a node or a leaf, by its index in the graph's `nodes` or `leaves`.
struct Target {
  std::uint32_t index : 31;
  std::uint32_t is_leaf : 1;

  static constexpr std::uint32_t kMostIndex = (std::uint32_t{1} << 31) - 1;
  static constexpr Target node(std::size_t i) { return {static_cast<std::uint32_t>(i) & kMostIndex, 0}; }
  static constexpr Target leaf(std::size_t i) { return {static_cast<std::uint32_t>(i) & kMostIndex, 1}; }
  static constexpr Target none() { return {kMostIndex, 1}; }
  bool operator==(const Target&) const = default;
  /// Order for maps: nodes before leaves.
  bool operator<(const Target& other) const {
    return is_leaf != other.is_leaf ? other.is_leaf != 0 : index < other.index;
  }
};

/// Edge from a node to one of its arguments. A joint rule also has edges to arguments that need no gradient. The
/// constructor keeps vectors from zeroing the memory first.
struct Edge {
  Edge(std::size_t span_in, DType dtype_in, const Dims& shape_in)
      : span(static_cast<std::uint16_t>(span_in)), dtype(dtype_in), shape(shape_in) {}

  BackwardFn rule;                   // for a joint rule, stored in its first edge only
  std::uint32_t accumulate = kNone;  // index in `accumulators`, if the rule has one
  std::uint16_t span;                // number of edges of this rule, in its first edge; 0 in its other edges
  bool needed = false;               // true if the argument needs a gradient
  DType dtype;
  Target target = Target::none();
  Dims shape;  // of the argument, to sum over its broadcast axes
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
  Tensor result;  // only if a rule takes it
  Dims shape;
};

struct Graph;

/// A function that runs an extended pass, with hooks, checkpoints and anomaly mode (extended_pass.hpp).
using RunPass = void (*)(Graph& graph, bool keep, const Tensor& y, const Tensor& dy);

struct Graph {
  std::uint64_t serial = 0;  // a new one each time the tape starts over
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Tensor::Saved> saved_versions;  // of all nodes, to detect saved tensors that were overwritten
  std::vector<BackwardFn> accumulators, replays;
  std::vector<Tensor> leaves;
  std::unordered_map<const TensorImpl*, std::uint32_t> found_leaves;  // where hints were overwritten
  std::vector<Tensor> slots;                                          // gradients of nodes, during a pass
  std::vector<Tensor> leaf_slots;  // gradients of leaves; added to .grad() when the pass is complete
  bool in_pass = false;            // a pass is running
  RunPass extended = nullptr;      // set if hooks or checkpoints on this graph need it
  std::map<Target, std::vector<std::function<Tensor(const Tensor&)>>> gradient_hooks;
  std::vector<std::function<void(const NodeInfo&, const Tensor&)>> value_hooks;

  /// Appends a node, and stores its place in `result`.
  Node& append(const char* op, CallSite at, TensorImpl& result);
  /// Returns the target of a leaf. If the leaf is new, appends it, or returns Target::none() if `add` is false.
  Target find_leaf(const Tensor& leaf, bool add = true);
  /// Deletes all nodes, leaves and hooks.
  void clear();
  /// Reserves serial numbers for a new tape.
  void take_new_serial();
  /// Deletes all nodes and leaves, so that the tape can record again. Hooks of on_value() stay.
  void start_over();
};

/// State of this thread.
struct Context {
  Tape* tape = nullptr;
  Graph* graph = nullptr;  // the graph of `tape`
  bool recording = true;
  bool anomaly = false;
  RunPass extended = nullptr;                  // the pass that anomaly mode needs
  std::vector<Tensor>* leaves_used = nullptr;  // receives the leaves that a checkpoint's first run uses
};
extern constinit thread_local Context context;

/// A guard that turns recording on this thread on or off. While it is off, ops are not recorded, and their results are
/// not marked as computed outside a tape.
class RecordingGuard {
 public:
  explicit RecordingGuard(bool on) : before_(std::exchange(context.recording, on)) {}
  ~RecordingGuard() { context.recording = before_; }
  RecordingGuard(const RecordingGuard&) = delete;
  RecordingGuard& operator=(const RecordingGuard&) = delete;

 private:
  bool before_;
};

}  // namespace tapestry::detail
