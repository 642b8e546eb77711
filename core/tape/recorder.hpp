// The recorder: decides whether op() appends a node, and stores the node's rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tape/backward_fn.hpp"
#include "core/tape/saved_tensor_capture.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// Stored form of a decomposition: computes the value of a fused op from plain ops.
template <class F>
struct Replay {
  F again;
  void operator()(const Tensor&, const Tensor&, std::span<Tensor> results) const { results[0] = again(); }
};

/// Appends one node for the value of an op, if an input needs a gradient. A Recorder exists only during the call of
/// op().
class Recorder {
 public:
  /// While a tape is active, throws for inputs that were computed outside it or whose nodes it has deleted. Without a
  /// tape, marks a result that depends on a variable as computed outside. An empty handle is an omitted optional input.
  Recorder(const char* name, CallSite at, Tensor& value, const Tensor* const* inputs, std::size_t count);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Returns true if a node was appended.
  explicit operator bool() const { return recording_; }
  /// Returns true if the input needs a gradient.
  bool needs(std::size_t input) const {
    if (input < kNoted) return (needs_ >> input & 1U) != 0;
    return inputs_[input]->defined() && needs_gradient(inputs_[input]->impl());
  }
  /// Returns true for a tensor on the active tape and for a leaf that is not frozen.
  static bool needs_gradient(const TensorImpl& input);

  /// Stores a rule as Call{f}, such as Single<F>, for `count` arguments.
  template <class Call, class F>
  void rule(const Tensor* const* targets, std::size_t count, const F& f) {
    store<Call>(place_for_rule(targets, count, kTakesResult<F>), f);
  }
  /// Stores the accumulator of the last rule.
  template <class F>
  void accumulate(const F& add) {
    store<Accumulate<F>>(place_for_accumulate(), add);
  }
  /// Stores the decomposition of the op.
  template <class F>
  void replay(const F& again) {
    store<Replay<F>>(place_for_replay(), again);
  }
  /// Completes the node. Call it after the last rule.
  void finish();

 private:
  static constexpr std::size_t kNoted = 63;

  /// Copies f once, and records which tensors it has captured.
  template <class Call, class F>
  void store(BackwardFn& place, const F& f) {
    Tensor::SavedTensorCapture capture(saved_versions());
    place.emplace<Call>(f);
  }
  static void note_leaves(const Tensor* const* inputs, std::size_t count);
  std::vector<Tensor::Saved>& saved_versions();
  /// Returns the place for the next rule on the tape. It is valid until the next call.
  BackwardFn& place_for_rule(const Tensor* const* targets, std::size_t count, bool takes_result);
  BackwardFn& place_for_accumulate();
  BackwardFn& place_for_replay();

  bool recording_ = false;
  std::uint64_t needs_ = 0;  // bit i < kNoted: input i needs a gradient; bit kNoted: a later input does
  const Tensor* value_ = nullptr;
  const Tensor* const* inputs_;  // set if recording_ is true
};

/// For anomaly mode: throws Error, with the op's name and inputs, if its value x contains a NaN.
void check_value(const char* op, CallSite at, const Tensor& x, const Tensor* const* inputs,
                 std::size_t count);

/// Adds a name to linked_ops(). Runs at program start for every op that is linked in, whether it is called or not.
bool register_op(const char* name);

}  // namespace tapestry::detail
