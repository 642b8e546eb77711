// Memory for time: what a checkpointed function saves is forgotten, and recorded again in backward.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "core/tape/tape.hpp"

namespace tapestry {

namespace detail {

/// f() without recording, then one node that re-records it in backward.
Tensor record_checkpoint(std::function<Tensor()> f, CallSite at);

/// A function of X… and the line that handed it over, which the conversion to this class takes along: a
/// parameter after a pack cannot have a default.
template <class... X>
struct Checkpointed {
  template <class F>
  Checkpointed(F f, CallSite caller = {}) : function(std::move(f)), at(caller) {}

  std::function<Tensor(const X&...)> function;
  CallSite at;
};

}  // namespace detail

/// f(x…), with only the x's kept until backward, which runs f again with the same random state and sweeps
/// what it records into the same gradients: the same bits as without (Chen et al. 2016). Weights that f uses
/// inside get theirs, too. f must give the same result when it runs again.
///
///     Tensor y = checkpoint([&](const Tensor& h) { return block(h); }, x);
template <class... X>
Tensor checkpoint(const std::type_identity_t<detail::Checkpointed<X...>>& f, const X&... x) {
  return detail::record_checkpoint([function = f.function, x...] { return function(x...); }, f.at);
}

}  // namespace tapestry
