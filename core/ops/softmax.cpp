// Softmax and related ops: one forward and one backward kernel each, and decompositions with logsumexp for second
// derivatives.
#include "core/ops/softmax.hpp"

#include <limits>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Returns a new tensor of the inputs' common shape, which kernel(out, in…) fills row by row along the last axis.
template <class Kernel, class... In>
Tensor by_rows(const Kernel& kernel, const In&... in) {
  const auto run = [&](const Tensor& first, const auto&... rest) {
    Tensor y = Tensor::uninitialised(first.shape(), first.dtype());
    dispatch(first.dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernel(simd::rows_of(y.mutable_view<T>()), simd::rows_of(first.view<T>()),
             simd::rows_of(rest.template view<T>())...);
    });
    return y;
  };
  return run(contiguous(in.detach())...);
}

}  // namespace

// y = eˣ / Σ eˣ    ∂x = y ⊙ (dy − Σ dy ⊙ y)
Tensor softmax(const Tensor& x, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  if (a != x.rank() - 1) return transpose(softmax(transpose(x, a, -1, at), -1, at), a, -1, at);
  return op<"softmax">(at, by_rows([](auto y, auto from) { simd::softmax(y, from); }, x),
                       wrt(x,
                           [](const Tensor& dy, const Tensor& y) {
                             return by_rows([](auto dx, auto from_y,
                                               auto from_dy) { simd::softmax_backward(dx, from_y, from_dy); },
                                            y, dy);
                           }),
                       decomposition([x] { return exp(x - logsumexp(x, {-1}, Keep::yes)); }));
}

// y = x − log Σ eˣ         ∂x = dy − eʸ ⊙ Σ dy
Tensor log_softmax(const Tensor& x, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  if (a != x.rank() - 1) return transpose(log_softmax(transpose(x, a, -1, at), -1, at), a, -1, at);
  return op<"log_softmax">(
      at, by_rows([](auto y, auto from) { simd::log_softmax(y, from); }, x),
      wrt(x,
          [](const Tensor& dy, const Tensor& y) {
            return by_rows(
                [](auto dx, auto from_y, auto from_dy) { simd::log_softmax_backward(dx, from_y, from_dy); },
                y, dy);
          }),
      decomposition([x] { return x - logsumexp(x, {-1}, Keep::yes); }));
}

// y = eˣ / Σ eˣ over the unmasked elements, 0 elsewhere        ∂x = y ⊙ (dy − Σ dy ⊙ y)
Tensor masked_softmax(const Tensor& x, const Mask& mask, CallSite at) {
  axis_of(x, -1);
  const View<const bool> allowed = mask.broadcast(x.shape(), "masked_softmax");
  return op<"masked_softmax">(
      at, by_rows([&](auto y, auto from) { simd::masked_softmax(y, from, allowed); }, x),
      wrt(x,
          [](const Tensor& dy, const Tensor& y) {
            return by_rows(
                [](auto dx, auto from_y, auto from_dy) { simd::softmax_backward(dx, from_y, from_dy); }, y,
                dy);
          }),
      decomposition([x, mask] {
        const Tensor seen = where(mask, x, scalar(-std::numeric_limits<double>::infinity(), x.dtype()));
        return where(mask, exp(seen - logsumexp(seen, {-1}, Keep::yes)), scalar(0.0, x.dtype()));
      }));
}

namespace {

/// Returns y with −∞ replaced by 0.
Tensor zero_for_minus_infinity(const Tensor& y) {
  const double lowest =
      dispatch(y.dtype(), [](auto zero) { return double{std::numeric_limits<decltype(zero)>::lowest()}; });
  return where(less(y, scalar(lowest, y.dtype())), scalar(0.0, y.dtype()), y);
}

}  // namespace

// y = log Σ eˣ     ∂x = dy ⊙ e^(x − y), which is softmax x
Tensor logsumexp(const Tensor& x, const Dims& axes, Keep keep, CallSite at) {
  using detail::spread;
  const detail::Reduction r = detail::reduction(x, axes, keep, "logsumexp", at);
  // The kernel reduces rows, so the reduced axes are moved to the end.
  Dims order;
  for (const bool reduced : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if ((r.reduced >> axis & 1U) == reduced) order.push_back(axis);
  const Tensor rows = contiguous(permute(x.detach(), order));
  Tensor y = Tensor::uninitialised(r.result, x.dtype());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::logsumexp(y.mutable_data<T>(),
                    simd::Rows<const T>{rows.data<T>(), r.kept.count(), r.count, r.count});
  });
  // If all of x is −∞, y is −∞ and e^(x − y) would be NaN. With 0 in place of y, e^(x − 0) is 0.
  return op<"logsumexp">(at, std::move(y), wrt(x, [x, r](const Tensor& dy, const Tensor& y_of_x) {
                           return spread(dy, r) * exp(x - spread(zero_for_minus_infinity(y_of_x), r));
                         }));
}

}  // namespace tapestry
