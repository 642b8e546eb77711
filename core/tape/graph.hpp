// What a tape holds: nodes, the edges from each node to its arguments, and what their rules saved.
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

/// Serial numbers set aside for one tape: it takes the next whenever it starts over, and serial / kRounds
/// tells tapes apart.
inline constexpr std::uint64_t kRounds = std::uint64_t{1} << 20;

/// What an edge leads to: a node or a leaf, by its index among the graph's nodes or leaves.
struct Target {
  std::uint32_t index : 31;
  std::uint32_t is_leaf : 1;

  static constexpr std::uint32_t kMostIndex = (std::uint32_t{1} << 31) - 1;
  static constexpr Target node(std::size_t i) { return {static_cast<std::uint32_t>(i) & kMostIndex, 0}; }
  static constexpr Target leaf(std::size_t i) { return {static_cast<std::uint32_t>(i) & kMostIndex, 1}; }
  static constexpr Target none() { return {kMostIndex, 1}; }
  bool operator==(const Target&) const = default;
  /// Nodes before leaves: for maps.
  bool operator<(const Target& other) const {
    return is_leaf != other.is_leaf ? other.is_leaf != 0 : index < other.index;
  }
};

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
  Target target = Target::none();
  Dims shape;  // the argument's, to undo broadcasting
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

struct Graph;

/// Runs a pass in place of the plain one: how hooks, checkpoints and anomaly mode come in (extended_pass.hpp).
using RunPass = void (*)(Graph& graph, bool keep, const Tensor& y, const Tensor& dy);

struct Graph {
  std::uint64_t serial = 0;  // of the tape and of how often it has started over
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Tensor::Saved> saved;
  std::vector<BackwardFn> accumulators, replays;
  std::vector<Tensor> leaves;
  std::unordered_map<const TensorImpl*, std::uint32_t> found_leaves;  // indices, where hints were overwritten
  std::vector<Tensor> slots;                                          // gradients of nodes, during a pass
  std::vector<Tensor> leaf_slots;  // gradients of leaves, given to them when the pass is complete
  RunPass extended = nullptr;      // the pass that hooks or checkpoints on this graph ask for
  std::map<Target, std::vector<std::function<Tensor(const Tensor&)>>> gradient_hooks;
  std::vector<std::function<void(const NodeInfo&, const Tensor&)>> value_hooks;

  /// A new node, whose result has this implementation: it is told its place.
  Node& append(const char* op, CallSite at, TensorImpl& result);
  /// The leaf, which is added if it is new here; or none, unless it is to be added.
  Target find_leaf(const Tensor& leaf, bool add = true);
  /// Forgets all that was recorded, and every hook.
  void clear();
  /// For a new tape.
  void take_new_serial();
  /// Forgets what was recorded, so that the tape records anew; hooks of values stay.
  void start_over();
};

/// This thread's state.
struct Context {
  Tape* tape = nullptr;
  Graph* graph = nullptr;  // the tape's
  bool recording = true;
  bool anomaly = false;
  RunPass extended = nullptr;                  // the pass that anomaly mode asks for
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

}  // namespace tapestry::detail
