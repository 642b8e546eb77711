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
// gradient (a joint rule computes all, and what nobody needs goes); backward undoes broadcasting. Rules that are
// written with ops can be differentiated again; kernels work on detach()ed tensors, which no op records.
//
//     wrt(x, rule)                one argument
//     wrt(x, rule, add)           … with a short cut that adds to a gradient that is there already
//     wrt_each(xs, rule_of)       a list of arguments, each with its own rule
//     wrt_all(xs, rule)           several arguments, or a list, whose gradients one kernel computes together
//     decomposition(make)         the same value from plain ops, for second derivatives
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "core/tape/recorder.hpp"
#include "core/tensor/pool_vector.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A string as a template argument.
template <std::size_t N>
struct FixedString {
  constexpr FixedString(const char (&text_in)[N]) { std::copy_n(text_in, N, text); }
  char text[N]{};  // with its 0 at the end
};

namespace detail {

template <FixedString name>
inline const bool kRegistered = register_op(name.text);

/// Replaces a number of arguments that is known only when the op runs.
inline constexpr std::size_t kRunTime = ~std::size_t{0};

/// The interface that op() requires of its parts: Wrt, WrtEach, WrtAll and Decomposition.
template <class Part>
concept OpPart = requires(const Part& part, const Tensor**& out, Recorder& recorder, std::size_t first) {
  { Part::kTargets } -> std::convertible_to<std::size_t>;  // the number of its arguments, or kRunTime
  { part.size() } -> std::same_as<std::size_t>;            // the number of its arguments
  part.inputs(out);                                        // appends pointers to the arguments
  part.record(recorder, first);  // hands the rules to the tape; `first` numbers the part's first argument
};

template <class Targets>
inline constexpr std::size_t kCountOf = kRunTime;
template <std::size_t N>
inline constexpr std::size_t kCountOf<std::array<const Tensor*, N>> = N;

/// Room for the inputs of all parts of an op: of a size that is known, or not.
template <class... Parts>
auto inputs_of(const Parts&... parts) {
  if constexpr ((... && (Parts::kTargets != kRunTime)))
    return std::array<const Tensor*, (0 + ... + Parts::kTargets)>{};
  else
    return PoolVector<const Tensor*>((0 + ... + parts.size()));
}

}  // namespace detail

// The parts of an op. They refer to what they are made of: they live no longer than the call of op().

/// One argument and its rule.
template <class F, class A = std::nullptr_t>
struct Wrt {
  const Tensor& target;  // the argument
  const F& rule;         // (dy) or (dy, y) → ∂loss/∂target
  const A& add;          // (sum, dy), the short cut; nullptr: there is none
  static constexpr std::size_t kTargets = 1;
  constexpr std::size_t size() const { return 1; }
  void inputs(const Tensor**& out) const { *out++ = &target; }
  void record(detail::Recorder& recorder, std::size_t first) const {
    if (!recorder.needs(first)) return;
    const Tensor* targets[] = {&target};
    recorder.rule<detail::Single<F>>(targets, 1, rule);
    if constexpr (!std::is_same_v<A, std::nullptr_t>) recorder.accumulate(add);
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

/// A list of arguments: rule_of(i) is the rule of xs[i].
template <class F>
struct WrtEach {
  std::span<const Tensor> targets;  // the list
  const F& rule_of;                 // (i) → the rule of targets[i]
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
/// The derivatives with respect to a list: rule_of(i) is made, and kept, for the xs[i] that need one.
template <class F>
WrtEach<F> wrt_each(std::span<const Tensor> xs, const F& rule_of) {
  return {xs, rule_of};
}

/// Several arguments whose gradients one kernel computes together.
template <class Targets, class F>
struct WrtAll {
  const Targets& targets;  // pointers to the arguments
  const F& rule;           // (dy) or (dy, y) → a gradient for each
  static constexpr std::size_t kTargets = detail::kCountOf<Targets>;
  std::size_t size() const { return targets.size(); }
  void inputs(const Tensor**& out) const { out = std::copy(targets.begin(), targets.end(), out); }
  void record(detail::Recorder& recorder, std::size_t first) const {
    bool any = false;
    for (std::size_t i = 0; i < targets.size(); ++i) any |= recorder.needs(first + i);
    if (any) recorder.rule<detail::Joint<F>>(targets.data(), targets.size(), rule);
  }
};

/// `rule(dy)` or `rule(dy, y)` returns std::array<Tensor, N>, one gradient per target in order; an empty
/// handle for a target that needs none is allowed.
template <class F, std::size_t N>
WrtAll<std::array<const Tensor*, N>, F> wrt_all(const std::array<const Tensor*, N>& targets, const F& rule) {
  return {targets, rule};
}

/// The same for a list whose length is known only when the op runs: the rule returns as long a list.
template <class F>
WrtAll<PoolVector<const Tensor*>, F> wrt_all(const PoolVector<const Tensor*>& targets, const F& rule) {
  return {targets, rule};
}

/// The same value from plain ops, `make()`: what second derivatives of a fused op go through.
template <class F>
struct Decomposition {
  const F& make;  // () → the value
  static constexpr std::size_t kTargets = 0;
  constexpr std::size_t size() const { return 0; }
  void inputs(const Tensor**&) const {}
  void record(detail::Recorder& recorder, std::size_t) const { recorder.replay(make); }
};
/// Tells op() how to make its value from plain ops.
template <class F>
Decomposition<F> decomposition(const F& make) {
  return {make};
}

/// Returns `value`, recorded on this thread's tape if one is recording and an argument needs a gradient.
/// The name is part of the type, so every op that is linked in is known to the tests.
template <FixedString name, detail::OpPart... Parts>
Tensor op(CallSite at, Tensor value, const Parts&... parts) {
  static_cast<void>(&detail::kRegistered<name>);
  auto inputs = detail::inputs_of(parts...);
  const Tensor** end = inputs.data();
  (parts.inputs(end), ...);
  if (detail::Recorder recorder(name.text, at, value, inputs.data(), inputs.size()); recorder) {
    std::size_t first = 0;
    ((parts.record(recorder, first), first += parts.size()), ...);
    recorder.finish();
  }
  return value;
}

/// Whether op() would take a rule for x here and now: for ops whose forward can prepare a gradient.
bool records(const Tensor& x);

/// Whether x is more than a constant to ops: a leaf that asks for a gradient, or, while there is a tape,
/// something that was computed from one.
bool is_tracked(const Tensor& x);

/// The names of all ops that are linked into this program.
std::vector<const char*> linked_ops();

}  // namespace tapestry
