// How an op is written: its value, and one derivative rule per argument, side by side.
//
//     // y = a ⊙ b        ∂a = dy ⊙ b        ∂b = dy ⊙ a
//     Tensor mul(const Tensor& a, const Tensor& b, CallSite at) {
//       return op<"mul">(at, zip(a, b, simd::Mul{}),
//                        wrt(a, [b](const Tensor& dy) { return dy * b; }),
//                        wrt(b, [a](const Tensor& dy) { return dy * a; }));
//     }
//
// A rule gets dy, the gradient of the loss with respect to the result, and may ask for the result as its
// second argument. What a lambda captures is what is saved. op() drops the rules of arguments that need no
// gradient, and undoes broadcasting. Rules that are written with ops can be differentiated again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/simd/runtime/memory.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A string as a template argument.
template <std::size_t N>
struct FixedString {
  constexpr FixedString(const char (&text_in)[N]) { std::copy_n(text_in, N, text); }
  char text[N]{};
};

namespace detail {

/// A stored closure, called with (dy, y); small ones live in place, larger ones in pool memory.
/// Signature: `void(const Tensor& dy, const Tensor& y, Tensor* gradients)`.
class Rule {
 public:
  Rule() = default;
  Rule(Rule&& other) noexcept : actions_(std::exchange(other.actions_, nullptr)) {
    if (actions_) actions_->move(storage_, other.storage_);
  }
  Rule& operator=(Rule&& other) noexcept {
    reset();
    actions_ = std::exchange(other.actions_, nullptr);
    if (actions_) actions_->move(storage_, other.storage_);
    return *this;
  }
  ~Rule() { reset(); }

  /// Becomes Call{f}, made where it stays: closures capture tensors as constants, which are copied when they
  /// move.
  template <class Call, class F>
  void emplace(const F& f) {
    reset();
    void* place = storage_;
    if constexpr (!fits<Call>()) {
      place = simd::pool_allocate(sizeof(Call));
      *reinterpret_cast<void**>(storage_) = place;
    }
    new (place) Call{f};
    actions_ = &kActions<Call>;
  }
  explicit operator bool() const { return actions_ != nullptr; }
  void operator()(const Tensor& dy, const Tensor& y, Tensor* gradients) const {
    actions_->call(storage_, dy, y, gradients);
  }
  void reset() {
    if (actions_) std::exchange(actions_, nullptr)->destroy(storage_);
  }

 private:
  static constexpr std::size_t kInPlace = 32;
  struct Actions {
    void (*call)(const std::byte*, const Tensor&, const Tensor&, Tensor*);
    void (*move)(std::byte*, std::byte*);
    void (*destroy)(std::byte*);
  };
  template <class F>
  static constexpr bool fits() {
    return sizeof(F) <= kInPlace && alignof(F) <= alignof(std::max_align_t) &&
           std::is_nothrow_move_constructible_v<F>;
  }
  template <class F>
  static F& at(std::byte* storage) {
    if constexpr (fits<F>())
      return *std::launder(reinterpret_cast<F*>(storage));
    else
      return **reinterpret_cast<F**>(storage);
  }
  template <class F>
  static constexpr Actions kActions{
      [](const std::byte* storage, const Tensor& dy, const Tensor& y, Tensor* gradients) {
        at<F>(const_cast<std::byte*>(storage))(dy, y, gradients);
      },
      [](std::byte* to, std::byte* from) {
        if constexpr (fits<F>()) {
          new (to) F(std::move(at<F>(from)));
          at<F>(from).~F();
        } else {
          *reinterpret_cast<void**>(to) = *reinterpret_cast<void**>(from);
        }
      },
      [](std::byte* storage) {
        F& f = at<F>(storage);
        f.~F();
        if constexpr (!fits<F>()) simd::pool_release(&f, sizeof(F));
      }};

  alignas(std::max_align_t) std::byte storage_[kInPlace];
  const Actions* actions_ = nullptr;
};

template <class F>
inline constexpr bool kAsksForResult = std::is_invocable_v<const F&, const Tensor&, const Tensor&> ||
                                       std::is_invocable_v<const F&, Tensor&, const Tensor&, const Tensor&>;

/// The rule of one argument.
template <class F>
struct Single {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, Tensor* gradient) const {
    if constexpr (kAsksForResult<F>)
      *gradient = rule(dy, y);
    else
      *gradient = rule(dy);
  }
};

/// Gradient += rule(dy), written straight into `sum`.
template <class F>
struct Adding {
  F add;
  void operator()(const Tensor& dy, const Tensor& y, Tensor* sum) const {
    if constexpr (kAsksForResult<F>)
      add(*sum, dy, y);
    else
      add(*sum, dy);
  }
};

/// The one rule of several arguments: fills one gradient for each.
template <class F, std::size_t N>
struct Joint {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, Tensor* gradients) const {
    std::array<Tensor, N> all;
    if constexpr (kAsksForResult<F>)
      all = rule(dy, y);
    else
      all = rule(dy);
    std::move(all.begin(), all.end(), gradients);
  }
};

/// The same for a number of arguments that is known only when the op runs.
template <class F>
struct JointList {
  F rule;
  void operator()(const Tensor& dy, const Tensor& y, Tensor* gradients) const {
    auto all = rule(dy, y);
    std::move(all.begin(), all.end(), gradients);
  }
};

/// Re-runs an op as other ops: a fused op's plain twin, or a checkpointed function.
template <class F>
struct Replay {
  F twin;
  void operator()(const Tensor&, const Tensor&, Tensor* result) const { *result = twin(); }
};

/// Makes the name known to the tests as soon as the op is linked in, whether it is called or not.
bool register_op(const char* name);
template <FixedString name>
inline const bool kRegistered = register_op(name.text);

/// The tape's side of op(): decides whether to record, and takes the rules.
class Recorder {
 public:
  Recorder(const char* name, CallSite at, Tensor& value, const Tensor* const* inputs, std::size_t count);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  explicit operator bool() const { return recording_; }
  /// On the active tape, or a leaf that is not frozen.
  static bool asks_for_gradient(const Body& input);
  bool needs(std::size_t input) const { return (needs_ >> input & 1U) != 0; }

  /// Stores a Call{f}, such as Single<F>, for so many arguments.
  template <class Call, class F>
  void rule(const Tensor* const* targets, std::size_t count, const F& f) {
    store<Call>(place_for_rule(targets, count, kAsksForResult<F>), f);
  }
  template <class F>
  void adding(const F& add) {
    store<Adding<F>>(place_for_adding(), add);
  }
  template <class F>
  void replay(const F& twin) {
    store<Replay<F>>(place_for_replay(), twin);
  }
  /// After the last rule.
  void finish();

 private:
  /// Copies f, once, noting which tensors it captured.
  template <class Call, class F>
  void store(Rule& place, const F& f) {
    Tensor::Collect collect(saved());
    place.emplace<Call>(f);
  }
  static void note_leaves(const Tensor* const* inputs, std::size_t count);
  std::vector<Tensor::Saved>& saved();
  /// Where they go on the tape, until the next one is asked for.
  Rule& place_for_rule(const Tensor* const* targets, std::size_t count, bool asks_for_result);
  Rule& place_for_adding();
  Rule& place_for_replay();

  bool recording_ = false;
  std::uint64_t needs_ = 0;  // a bit for each input
  const Tensor* value_ = nullptr;
};

}  // namespace detail

/// One argument and its rule. Refers to both: it lives no longer than the call of op() that it is made for.
template <class F, class A = std::nullptr_t>
struct Wrt {
  const Tensor& target;
  const F& rule;
  const A& add;

  static constexpr std::size_t kTargets = 1;
  void inputs(const Tensor**& out) const { *out++ = &target; }
  void record(detail::Recorder& recorder, std::size_t first) const {
    if (!recorder.needs(first)) return;
    const Tensor* targets[] = {&target};
    recorder.rule<detail::Single<F>>(targets, 1, rule);
    if constexpr (!std::is_same_v<A, std::nullptr_t>) recorder.adding(add);
  }
};

/// The derivative with respect to x: `rule(dy)` or `rule(dy, y)` returns ∂loss/∂x.
template <class F>
Wrt<F> wrt(const Tensor& x, const F& rule) {
  static constexpr std::nullptr_t none = nullptr;
  return {x, rule, none};
}

/// The same with a short cut: `add(sum, dy)` adds the gradient to `sum`, a dense tensor of x's shape that
/// nobody else holds. It is used from the second contribution on, and never where second derivatives are
/// asked for.
template <class F, class A>
Wrt<F, A> wrt(const Tensor& x, const F& rule, const A& add) {
  return {x, rule, add};
}

/// Several arguments whose gradients one kernel computes together.
template <class F, std::size_t N>
struct WrtAll {
  std::array<const Tensor*, N> targets;
  const F& rule;

  static constexpr std::size_t kTargets = N;
  void inputs(const Tensor**& out) const { out = std::copy(targets.begin(), targets.end(), out); }
  void record(detail::Recorder& recorder, std::size_t first) const {
    bool any = false;
    for (std::size_t i = 0; i < N; ++i) any |= recorder.needs(first + i);
    if (any) recorder.rule<detail::Joint<F, N>>(targets.data(), N, rule);
  }
};

/// `rule(dy)` or `rule(dy, y)` returns std::array<Tensor, N>, one gradient per target in order; an empty
/// handle for a target that needs none is allowed.
template <class F, std::size_t N>
WrtAll<F, N> wrt_all(const std::array<const Tensor*, N>& targets, const F& rule) {
  return {targets, rule};
}

/// The same value from plain ops, `twin()`: what second derivatives of a fused op go through.
template <class F>
struct Twin {
  const F& make;

  static constexpr std::size_t kTargets = 0;
  void inputs(const Tensor**&) const {}
  void record(detail::Recorder& recorder, std::size_t) const { recorder.replay(make); }
};
template <class F>
Twin<F> twin(const F& make) {
  return {make};
}

/// Returns `value`, recorded on this thread's tape if one is recording and an argument needs a gradient.
/// The name is part of the type, so every op that is linked in is known to the tests.
template <FixedString name, class... Parts>
Tensor op(CallSite at, Tensor value, const Parts&... parts) {
  static_cast<void>(&detail::kRegistered<name>);
  constexpr std::size_t count = (0 + ... + Parts::kTargets);
  static_assert(count <= 64, "an op takes at most 64 differentiable arguments");
  std::array<const Tensor*, count> inputs{};
  const Tensor** end = inputs.data();
  (parts.inputs(end), ...);
  if (detail::Recorder recorder(name.text, at, value, inputs.data(), count); recorder) {
    std::size_t first = 0;
    ((parts.record(recorder, first), first += Parts::kTargets), ...);
    recorder.finish();
  }
  return value;
}

/// Whether op() would take a rule for x here and now: for ops whose forward can prepare a gradient.
bool records(const Tensor& x);

/// The names of all ops that are linked into this program.
std::vector<const char*> linked_ops();

}  // namespace tapestry
