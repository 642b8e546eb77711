#include "core/ops/additive.hpp"

#include <algorithm>
#include <array>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/simd/additive.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/broadcast.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// Returns x in the layout of the kernel: dense (batch, rows, U), with the leading axes merged.
Tensor as_batch(const Tensor& x, Size batch) {
  return contiguous(detail::reshaped(x, {batch, x.size(-2), x.size(-1)}));
}

template <class T>
simd::Additive<T> kernel(const Tensor& q, const Tensor& k, const Tensor& v, const View<const bool>& mask) {
  return {q.size(0), q.size(1), k.size(1), q.size(2), q.data<T>(), k.data<T>(), v.data<T>(), mask};
}

}  // namespace

// s = Σ_u v_u t_u, t = tanh(q + k)        ∂q = Σ_j ds v (1 − t²)    ∂k = Σ_i ds v (1 − t²)    ∂v = Σ ds t
Tensor additive_score(const Tensor& query, const Tensor& key, const Tensor& v, const Mask& mask,
                      CallSite at) {
  check_same_dtype(query, key, "additive_score", at);
  check_same_dtype(query, v, "additive_score", at);
  const int lead = query.rank() - 2;
  if (lead < 0 || key.rank() != query.rank() ||
      !std::equal(query.shape().begin(), query.shape().begin() + lead, key.shape().begin()) ||
      key.size(-1) != query.size(-1) || v.rank() != 1 || v.size(0) != query.size(-1))
    fail(
        "[additive_score] query {}, key {} and v {} do not fit; they must be (…,Tq,U), (…,Tk,U) and (U) with equal "
        "U and leading axes ({}:{})",
        describe(query), describe(key), describe(v), at.file, at.line);
  Dims shape = query.shape();
  shape.back() = key.size(-2);
  const Size batch = shape.count(0, lead);
  Mask allowed;  // (batch, Tq, Tk)
  if (mask.defined())
    allowed = mask.expand(shape, "additive_score").reshape({batch, query.size(-2), key.size(-2)});
  const auto mask_view = [allowed] { return allowed.defined() ? allowed.view() : View<const bool>{}; };
  const Tensor q = as_batch(query, batch), k = as_batch(key, batch), weight = contiguous(v.detach());
  Tensor s = Tensor::uninitialised(shape, query.dtype());
  dispatch(s.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::additive_forward(kernel<T>(q, k, weight, mask_view()), s.mutable_data<T>());
  });
  return op<"additive_score">(
      at, std::move(s),
      wrt_all(std::array{&query, &key, &v},
              [q, k, weight, mask_view, q_shape = query.shape(), k_shape = key.shape()](const Tensor& ds) {
                Tensor dq = Tensor::uninitialised(q_shape, q.dtype()),
                       dk = Tensor::uninitialised(k_shape, q.dtype());
                Tensor dv = Tensor::uninitialised(weight.shape(), q.dtype());
                Tensor partial = Tensor::uninitialised({q.size(0), weight.size(0)}, q.dtype());
                const Tensor dense = contiguous(ds);
                dispatch(q.dtype(), [&](auto zero) {
                  using T = decltype(zero);
                  simd::additive_backward(kernel<T>(q, k, weight, mask_view()), dense.data<T>(),
                                          dq.mutable_data<T>(), dk.mutable_data<T>(), dv.mutable_data<T>(),
                                          partial.mutable_data<T>());
                });
                return std::array{dq, dk, dv};
              }),
      decomposition([query, key, v, mask] {
        const Tensor pairs = unsqueeze(query, -2) + unsqueeze(key, -3);
        if (!mask.defined()) return sum(tanh(pairs) * v, {-1});
        const Tensor nothing = scalar(0, query.dtype());
        return sum(where(mask.unsqueeze(-1), tanh(where(mask.unsqueeze(-1), pairs, nothing)), nothing) * v,
                   {-1});
      }));
}

}  // namespace tapestry
