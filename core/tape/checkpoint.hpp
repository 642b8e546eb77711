// Checkpoints trade time for memory: the ops of a checkpointed function save nothing, and backward records them again.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "core/tape/tape.hpp"

namespace tapestry {

namespace detail {

/// Runs f() without recording and appends one node, which records f() during backward.
Tensor record_checkpoint(std::function<Tensor()> f, CallSite at);

/// A function of X… and the line that called checkpoint(). The converting constructor takes that line, because a
/// parameter after a pack cannot have a default argument.
template <class... X>
struct Checkpointed {
  template <class F>
  Checkpointed(F f, CallSite caller = {}) : at(caller) {
    constexpr bool kIsLayer = requires { f.parameters(); };
    constexpr bool kFits = std::is_invocable_r_v<Tensor, F&, const X&...>;
    static_assert(!kIsLayer,
                  "checkpoint: a layer must be called in a lambda, since it cannot be copied: "
                  "checkpoint([&](const Tensor& x) { return layer(x); }, x)");
    static_assert(kIsLayer || kFits,
                  "checkpoint: f must take the arguments that follow it and return a Tensor");
    if constexpr (!kIsLayer && kFits) function = std::move(f);
  }

  std::function<Tensor(const X&...)> function;
  CallSite at;
};

}  // namespace detail

/// Returns f(x…), and saves only the x's until backward (Chen et al. 2016). Backward then runs f again with the same
/// random state and differentiates the ops that it records. Values and gradients have the same bits as without a
/// checkpoint, and weights that f uses get their gradients too. f must return the same result when it runs again.
///
///     Tensor y = checkpoint([&](const Tensor& h) { return block(h); }, x);
template <class... X>
Tensor checkpoint(const std::type_identity_t<detail::Checkpointed<X...>>& f, const X&... x) {
  return detail::record_checkpoint([function = f.function, x...] { return function(x...); }, f.at);
}

}  // namespace tapestry
