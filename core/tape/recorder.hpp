// The tape's side of op(): whether to record, and where the rules go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tape/backward_fn.hpp"
#include "core/tape/saved_tensor_capture.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry::detail {

/// The op again as other ops: a fused op's plain decomposition, or a checkpointed function.
template <class F>
struct Replay {
  F again;
  void operator()(const Tensor&, const Tensor&, std::span<Tensor> results) const { results[0] = again(); }
};

/// Makes one node of an op's value, if an input needs a gradient. Lives as long as the call of op().
class Recorder {
 public:
  /// While a tape is active, refuses inputs that were computed outside it or that it has forgotten; without
  /// one, marks the result as computed outside. An empty handle is an optional input that was left out.
  Recorder(const char* name, CallSite at, Tensor& value, const Tensor* const* inputs, std::size_t count);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Whether there is a node.
  explicit operator bool() const { return recording_; }
  /// Whether that input gets a gradient.
  bool needs(std::size_t input) const {
    if (input < kNoted) return (needs_ >> input & 1U) != 0;
    return inputs_[input]->defined() && asks_for_gradient(inputs_[input]->impl());
  }
  /// On the active tape, or a leaf that is not frozen.
  static bool asks_for_gradient(const TensorImpl& input);

  /// Stores a Call{f}, such as Single<F>, for so many arguments.
  template <class Call, class F>
  void rule(const Tensor* const* targets, std::size_t count, const F& f) {
    store<Call>(place_for_rule(targets, count, kAsksForResult<F>), f);
  }
  template <class F>
  void accumulate(const F& add) {
    store<Accumulate<F>>(place_for_accumulate(), add);
  }
  template <class F>
  void replay(const F& again) {
    store<Replay<F>>(place_for_replay(), again);
  }
  /// After the last rule.
  void finish();

 private:
  static constexpr std::size_t kNoted = 63;

  /// Copies f, once, noting which tensors it captured.
  template <class Call, class F>
  void store(BackwardFn& place, const F& f) {
    Tensor::SavedTensorCapture capture(saved());
    place.emplace<Call>(f);
  }
  static void note_leaves(const Tensor* const* inputs, std::size_t count);
  std::vector<Tensor::Saved>& saved();
  /// The place for the next rule on the tape; valid until the next call.
  BackwardFn& place_for_rule(const Tensor* const* targets, std::size_t count, bool asks_for_result);
  BackwardFn& place_for_accumulate();
  BackwardFn& place_for_replay();

  bool recording_ = false;
  std::uint64_t needs_ = 0;  // a bit for each of the first kNoted inputs, the last for all others
  const Tensor* value_ = nullptr;
  const Tensor* const* inputs_;  // once recording
};

/// In anomaly mode: throws if the value x of an op has a NaN, naming the op and its inputs.
void check_value(const char* op, CallSite at, const Tensor& x, const Tensor* const* inputs,
                 std::size_t count);

/// Makes the name known to the tests as soon as the op is linked in, whether it is called or not.
bool register_op(const char* name);

}  // namespace tapestry::detail
