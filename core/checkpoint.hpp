// Memory for time: what a checkpointed function saves is forgotten, and recorded again in backward.
#pragma once

#include "core/tape.hpp"

namespace tapestry {

/// f(x…), with only the x's kept until backward, which runs f again with the same random state and sweeps
/// what it records into the same gradients: the same bits as without (Chen et al. 2016). Weights that f uses
/// inside get theirs, too. f must give the same result when it runs again.
///
///     Tensor y = checkpoint([&](const Tensor& h) { return block(h); }, x);
template <class F, class... X>
Tensor checkpoint(F f, const X&... x) {
  return detail::record_checkpoint([f = std::move(f), x...] { return f(x...); }, {});
}

}  // namespace tapestry
