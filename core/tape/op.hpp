// Defines op(), with which you write an op: it takes the value and one derivative rule per argument.
//
//     // y = a ⊙ b        ∂a = dy ⊙ b        ∂b = dy ⊙ a
//     Tensor mul(const Tensor& a, const Tensor& b, CallSite at) {
//       return op<"mul">(at, zip(a, b, simd::Mul{}),
//                        wrt(a, [b](const Tensor& dy) { return dy * b; }),
//                        wrt(b, [a](const Tensor& dy) { return dy * a; }));
//     }
//
// A rule takes dy, the gradient of the loss with respect to the result, and optionally the result as its second
// argument. The tensors that a rule's lambda captures are saved for backward. op() drops the rules of arguments that
// need no gradient. A joint rule, wrt_all(), computes all its gradients, and backward discards those that are not
// needed. Backward also sums over broadcast axes. A rule that is written with ops can be differentiated again. A rule
// that calls kernels runs them on detach()ed tensors, so nothing is recorded.
//
//     wrt(x, rule)                one argument
//     wrt(x, rule, add)           … and an accumulator that adds to a gradient in place
//     wrt_each(xs, rule_of)       a list of arguments, each with its own rule
//     wrt_all(xs, rule)           several arguments, or a list, with one joint rule
//     decomposition(make)         computes the value from plain ops, for second derivatives
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tape/recorder.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A string that can be a template argument.
template <std::size_t N>
struct FixedString {
  constexpr FixedString(const char (&text_in)[N]) { std::copy_n(text_in, N, text); }
  char text[N]{};  // with the terminating 0
};

namespace detail {

template <FixedString name>
inline const bool kRegistered = register_op(name.text);

/// Marks an argument count known only at run time.
inline constexpr std::size_t kRunTime = ~std::size_t{0};

/// The interface that op() requires of its parts: Wrt, WrtEach, WrtAll and Decomposition.
template <class Part>
concept OpPart = requires(const Part& part, const Tensor**& out, Recorder& recorder, std::size_t first) {
  { Part::kTargets } -> std::convertible_to<std::size_t>;  // the number of its arguments, or kRunTime
  { part.size() } -> std::same_as<std::size_t>;            // the number of its arguments
  part.inputs(out);                                        // appends pointers to the arguments
  part.record(recorder, first);  // hands the rules to the tape; `first` numbers the part's first argument
};

/// Result type of a rule F, which must take (dy) or (dy, y).
template <class F>
using RuleResult = decltype(call_backward(std::declval<const F&>(), std::declval<const Tensor&>(),
                                          std::declval<const Tensor&>()));

/// Returns true if F can be called as a rule. Otherwise a static_assert says what a rule takes.
template <class F>
constexpr bool takes_gradient() {
  constexpr bool kTakes = std::is_invocable_v<const F&, const Tensor&> ||
                          std::is_invocable_v<const F&, const Tensor&, const Tensor&>;
  static_assert(kTakes,
                "op: a rule must take (const Tensor& dy), or (const Tensor& dy, const Tensor& y) to get the "
                "result y too");
  return kTakes;
}

/// Returns true if F is the rule of one argument. Otherwise a static_assert says what to write.
template <class F>
constexpr bool is_rule() {
  if constexpr (takes_gradient<F>()) {
    constexpr bool kReturns = std::is_convertible_v<RuleResult<F>, Tensor>;
    static_assert(kReturns, "op: the rule of wrt(x, rule) must return a Tensor, the gradient of x");
    return kReturns;
  }
  return false;
}

/// Returns true if A is an accumulator. Otherwise a static_assert says what it takes.
template <class A>
constexpr bool is_accumulator() {
  constexpr bool kTakes = std::is_invocable_v<const A&, Tensor&, const Tensor&>;
  static_assert(kTakes, "op: an accumulator must take (Tensor& sum, const Tensor& dy), and add to sum");
  return kTakes;
}

template <class List, std::size_t N>
inline constexpr bool kHoldsGradients = requires(const List& all) {
  { *all.begin() } -> std::convertible_to<Tensor>;
};
template <std::size_t M, std::size_t N>
inline constexpr bool kHoldsGradients<std::array<Tensor, M>, N> = N == kRunTime || M == N;

/// Returns true if F is a joint rule of N arguments. Otherwise a static_assert says what to write.
template <class F, std::size_t N>
constexpr bool is_joint_rule() {
  if constexpr (takes_gradient<F>()) {
    constexpr bool kReturns = kHoldsGradients<std::remove_cvref_t<RuleResult<F>>, N>;
    static_assert(
        kReturns,
        "op: the rule of wrt_all(std::array{&x, &w}, rule) must return one gradient for each argument, as in "
        "std::array{dx, dw}");
    return kReturns;
  }
  return false;
}

template <class Targets>
inline constexpr std::size_t kCountOf = kRunTime;
template <std::size_t N>
inline constexpr std::size_t kCountOf<std::array<const Tensor*, N>> = N;

/// Returns storage for the inputs of all parts: a std::array if their count is known at compile time, otherwise a
/// PoolVector.
template <class... Parts>
auto inputs_of(const Parts&... parts) {
  if constexpr ((... && (Parts::kTargets != kRunTime)))
    return std::array<const Tensor*, (0 + ... + Parts::kTargets)>{};
  else
    return PoolVector<const Tensor*>((0 + ... + parts.size()));
}

}  // namespace detail

// The parts of an op. They hold references to their constructor arguments, so do not store them beyond the call of
// op().

/// One argument and its rule.
template <class F, class A = std::nullptr_t>
struct Wrt {
  const Tensor& target;  // the argument
  const F& rule;         // (dy) or (dy, y) → ∂loss/∂target
  const A& add;          // (sum, dy): the accumulator; nullptr: none
  /// kTargets, size(), inputs() and record(): the interface detail::OpPart.
  static constexpr std::size_t kTargets = 1;
  constexpr std::size_t size() const { return 1; }
  void inputs(const Tensor**& out) const { *out++ = &target; }
  void record(detail::Recorder& recorder, std::size_t first) const {
    if constexpr (detail::is_rule<F>()) {
      if (!recorder.needs(first)) return;
      const Tensor* targets[] = {&target};
      recorder.rule<detail::Single<F>>(targets, 1, rule);
      if constexpr (!std::is_same_v<A, std::nullptr_t>)
        if constexpr (detail::is_accumulator<A>()) recorder.accumulate(add);
    }
  }
};

/// Makes the part for one argument x: `rule(dy)` or `rule(dy, y)` returns ∂loss/∂x.
template <class F>
Wrt<F> wrt(const Tensor& x, const F& rule) {
  static constexpr std::nullptr_t none = nullptr;
  return {x, rule, none};
}

/// Same, with an accumulator: `add(sum, dy)` adds the gradient to `sum`, a dense tensor of x's shape that is not
/// shared. Backward calls it instead of the rule if x already has a gradient, and never with create_graph.
template <class F, class A>
Wrt<F, A> wrt(const Tensor& x, const F& rule, const A& add) {
  return {x, rule, add};
}

/// A list of arguments: rule_of(i) is the rule of xs[i].
template <class F>
struct WrtEach {
  std::span<const Tensor> targets;  // the list
  const F& rule_of;                 // (i) → the rule of targets[i]
  /// kTargets, size(), inputs() and record(): the interface detail::OpPart.
  static constexpr std::size_t kTargets = detail::kRunTime;
  std::size_t size() const { return targets.size(); }
  void inputs(const Tensor**& out) const {
    for (const Tensor& target : targets) *out++ = &target;
  }
  void record(detail::Recorder& recorder, std::size_t first) const {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!recorder.needs(first + i)) continue;
      const Tensor* target[] = {&targets[i]};
      const auto rule = rule_of(i);
      recorder.rule<detail::Single<std::remove_const_t<decltype(rule)>>>(target, 1, rule);
    }
  }
};
/// Makes the part for a list: calls rule_of(i), and stores the result, only for the xs[i] that need a gradient.
template <class F>
WrtEach<F> wrt_each(std::span<const Tensor> xs, const F& rule_of) {
  return {xs, rule_of};
}

/// Several arguments whose gradients one kernel computes together.
template <class Targets, class F>
struct WrtAll {
  const Targets& targets;  // pointers to the arguments
  const F& rule;           // (dy) or (dy, y) → one gradient per argument
  /// kTargets, size(), inputs() and record(): the interface detail::OpPart.
  static constexpr std::size_t kTargets = detail::kCountOf<Targets>;
  std::size_t size() const { return targets.size(); }
  void inputs(const Tensor**& out) const { out = std::copy(targets.begin(), targets.end(), out); }
  void record(detail::Recorder& recorder, std::size_t first) const {
    bool any = false;
    for (std::size_t i = 0; i < targets.size(); ++i) any |= recorder.needs(first + i);
    if constexpr (detail::is_joint_rule<F, kTargets>())
      if (any) recorder.rule<detail::Joint<F>>(targets.data(), targets.size(), rule);
  }
};

/// Makes the part for several arguments: `rule(dy)` or `rule(dy, y)` returns std::array<Tensor, N>, one gradient per
/// target, in order. A target that needs no gradient may get an undefined Tensor.
template <class F, std::size_t N>
WrtAll<std::array<const Tensor*, N>, F> wrt_all(const std::array<const Tensor*, N>& targets, const F& rule) {
  return {targets, rule};
}

/// Same, for a list whose length is known only at run time: the rule returns a list of the same length.
template <class F>
WrtAll<PoolVector<const Tensor*>, F> wrt_all(const PoolVector<const Tensor*>& targets, const F& rule) {
  return {targets, rule};
}

/// Recomputes the value of a fused op from plain ops, `make()`, for second derivatives.
template <class F>
struct Decomposition {
  const F& make;  // () → the value
  /// kTargets, size(), inputs() and record(): the interface detail::OpPart.
  static constexpr std::size_t kTargets = 0;
  constexpr std::size_t size() const { return 0; }
  void inputs(const Tensor**&) const {}
  void record(detail::Recorder& recorder, std::size_t) const { recorder.replay(make); }
};
/// Makes the part that computes the value from plain ops.
template <class F>
Decomposition<F> decomposition(const F& make) {
  return {make};
}

/// Returns `value`, recorded on this thread's tape if a tape is recording and an argument needs a gradient. The name is
/// a template argument, so that linked_ops() can list every op that is linked in.
template <FixedString name, class... Parts>
Tensor op(CallSite at, Tensor value, const Parts&... parts) {
  constexpr bool kAreParts = (... && detail::OpPart<Parts>);
  static_assert(kAreParts,
                "op: after the value, each rule must be given with its argument: wrt(x, rule), wrt_each(xs, "
                "rule_of), wrt_all(xs, rule) or decomposition(make)");
  if constexpr (kAreParts) {
    static_cast<void>(&detail::kRegistered<name>);
    auto inputs = detail::inputs_of(parts...);
    const Tensor** end = inputs.data();
    (parts.inputs(end), ...);
    if (detail::Recorder recorder(name.text, at, value, inputs.data(), inputs.size()); recorder) {
      std::size_t first = 0;
      ((parts.record(recorder, first), first += parts.size()), ...);
      recorder.finish();
    }
  }
  return value;
}

/// Fails to compile, because the caller's line is missing.
template <FixedString name, std::derived_from<Tensor> Value, class... Parts>
Tensor op(const Value& value, const Parts&...) {
  static_assert(
      sizeof(Value) == 0,
      "op: the line of the caller must come before the value: op<\"name\">(at, value, ...), where your "
      "function's last parameter is CallSite at = {}");
  return value;
}

/// Returns true if op() would record a rule for x now. A fused op can then compute the gradient in its forward pass.
bool records(const Tensor& x);

/// Returns true if x is a leaf that requires a gradient or, while a tape exists, was computed from one.
bool is_tracked(const Tensor& x);

/// Returns the names of all ops that are linked into this program.
std::vector<const char*> linked_ops();

}  // namespace tapestry
