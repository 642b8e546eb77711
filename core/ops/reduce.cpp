// Reductions over axes, cumulative sums, argmax and argmin.
#include "core/ops/reduce.hpp"

#include <utility>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"
#include "core/simd/rows/reduce.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/map.hpp"

namespace tapestry {

namespace detail {

Reduction reduction(const Tensor& x, const Dims& axes, Keep keep, const char* op, CallSite at) {
  Reduction r{x.shape(), x.shape(), {}, 1, axes.empty() ? ~0U : 0U};
  for (const Size axis : axes) {
    const unsigned bit = 1U << axis_of(x, static_cast<int>(axis), op);
    if (r.reduced & bit)
      fail("[{}] axes {} name an axis of {} twice ({}:{})", op, to_string(axes), describe(x), at.file,
           at.line);
    r.reduced |= bit;
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = (r.reduced >> axis & 1U) != 0;
    if (reduced) r.count *= std::exchange(r.kept[axis], 1);
    if (!reduced || keep == Keep::yes) r.result.push_back(r.kept[axis]);
  }
  return r;
}

Tensor spread(const Tensor& y, const Reduction& r) { return expand(reshape(y, r.kept), r.from); }

}  // namespace detail

namespace {

using detail::Reduction;
using detail::reduction;
using detail::spread;

/// Throws Error if a result would be a reduction of no elements.
void want_elements(const Reduction& r, const Tensor& x, const char* op, CallSite at) {
  if (r.count == 0 && r.kept.count() > 0)
    fail("[{}] cannot reduce {}; a reduced axis has size 0 ({}:{})", op, describe(x), at.file, at.line);
}

/// Returns x reduced by the kernel, in the shape r.result.
Tensor reduced(const Tensor& x, const Reduction& r, simd::Reduction kind) {
  Tensor y = Tensor::uninitialised(r.kept, x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::reduce(kind, y.mutable_view<T>(), x.view<T>());
  });
  return r.kept == r.result ? y : detail::alias(y, r.result, dense_strides(r.result));
}

}  // namespace

// y = Σ x          ∂x = dy, repeated
Tensor sum(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "sum", at);
  return op<"sum">(at, reduced(x, r, simd::Reduction::sum),
                   wrt(x, [r](const Tensor& dy) { return spread(dy, r); }));
}

Tensor mean(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "mean", at);
  want_elements(r, x, "mean", at);
  return div(sum(x, axes, keep, at), scalar(static_cast<double>(r.count), x.dtype()), at);
}

namespace {

/// Returns the fraction of the gradient for each element of x: 1 / m if it is one of the m that equal y, otherwise 0.
Tensor share_of(const Tensor& x, const Tensor& y, const Reduction& r) {
  const Tensor taken = zip(x.detach(), spread(y.detach(), r), simd::IsEqual{});
  return taken / spread(reduced(taken, r, simd::Reduction::sum), r);
}

}  // namespace

// y = max x        ∂x = dy, shared evenly by the elements that equal y
Tensor max(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "max", at);
  want_elements(r, x, "max", at);
  return op<"max">(at, reduced(x, r, simd::Reduction::max), wrt(x, [x, r](const Tensor& dy, const Tensor& y) {
                     return spread(dy, r) * share_of(x, y, r);
                   }));
}

// y = min x        ∂x = dy, shared evenly by the elements that equal y
Tensor min(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "min", at);
  want_elements(r, x, "min", at);
  return op<"min">(at, reduced(x, r, simd::Reduction::min), wrt(x, [x, r](const Tensor& dy, const Tensor& y) {
                     return spread(dy, r) * share_of(x, y, r);
                   }));
}

// y = Π x, composed of other ops: each round multiplies one half of the factors by the other. No rule divides by a
// factor, so zeros need no special case in any derivative.
Tensor prod(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "prod", at);
  if (r.count == 0) return add(sum(x, axes, keep, at), scalar(1, x.dtype()), at);
  Dims order;  // the reduced axes first, so that the halves are dense
  for (const bool reduced : {true, false})
    for (int axis = 0; axis < x.rank(); ++axis)
      if ((r.reduced >> axis & 1U) == reduced) order.push_back(axis);
  Tensor y = reshape(permute(x, order, at), {r.count, r.kept.count()}, at), rest;
  for (Size n = r.count; n > 1; n /= 2) {
    if (n % 2 == 1) {
      const Tensor last = slice(y, 0, n - 1, n, 1, at);
      rest = rest.defined() ? mul(rest, last, at) : last;
    }
    y = mul(slice(y, 0, 0, n / 2, 1, at), slice(y, 0, n / 2, n / 2 * 2, 1, at), at);
  }
  if (rest.defined()) y = mul(y, rest, at);
  return reshape(y, r.result, at);
}

// y = Σ (x − mean)² / (n − correction), composed of other ops
Tensor var(const Tensor& x, const Dims& axes, int correction, Keep keep, CallSite at) {
  const Reduction r = reduction(x, axes, keep, "var", at);
  const Size n = r.count - correction;
  if (n <= 0 && r.kept.count() > 0)
    fail("[var] correction must be less than the {} reduced elements of {}, got {} ({}:{})", r.count,
         describe(x), correction, at.file, at.line);
  const Tensor centred = sub(x, mean(x, axes, Keep::yes, at), at);
  return div(sum(mul(centred, centred, at), axes, keep, at), scalar(static_cast<double>(n), x.dtype()), at);
}

// y = Σ x over the broadcast axes        ∂x = dy, repeated
Tensor sum_to(const Tensor& x, const Dims& shape, CallSite at) {
  if (x.shape() == shape) return x;
  if (!broadcasts_to(shape, x.shape()))
    fail("[sum_to] {} was not broadcast from {}; sizes of the latter must be equal or 1 ({}:{})", describe(x),
         to_string(shape), at.file, at.line);
  Reduction r{x.shape(), shape, shape, 1, 0};
  while (r.kept.rank() < x.rank()) r.kept.insert(0, 1);
  return op<"sum_to">(at, reduced(x, r, simd::Reduction::sum),
                      wrt(x, [r](const Tensor& dy) { return spread(dy, r); }));
}

namespace {

// y[i] = Σ x[j] over j ≤ i (reverse: j ≥ i)        ∂x[i] = Σ dy[j] over j ≥ i (j ≤ i)
Tensor running_sum(const Tensor& x, int axis, bool reverse, CallSite at = {}) {
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::cumsum(y.mutable_view<T>(), x.view<T>(), axis, reverse);
  });
  return op<"cumsum">(at, std::move(y),
                      wrt(x, [axis, reverse](const Tensor& dy) { return running_sum(dy, axis, !reverse); }));
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis, CallSite at) { return running_sum(x, axis_of(x, axis), false, at); }

namespace {

Indices first_largest(const Tensor& x, int axis, const char* op) {
  const int a = axis_of(x, axis, op);
  if (x.shape()[a] == 0) fail("[{}] axis {} of {} must not be empty", op, axis, describe(x));
  Dims shape = x.shape(), order;
  shape.erase(a);
  for (int i = 0; i < x.rank(); ++i)
    if (i != a) order.push_back(i);
  order.push_back(a);
  const Tensor rows = permute(x.detach(), order);
  std::vector<std::int64_t> places(static_cast<std::size_t>(shape.count()));
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::argmax(View<std::int64_t>{places.data(), shape, dense_strides(shape)}, rows.view<T>());
  });
  return Indices(places, shape);
}

}  // namespace

Indices argmax(const Tensor& x, int axis) { return first_largest(x, axis, "argmax"); }
Indices argmin(const Tensor& x, int axis) { return first_largest(map(x, simd::Neg{}), axis, "argmin"); }

}  // namespace tapestry
