// Dropout. Backward draws the mask again, so that it need not be stored.
#include "core/ops/dropout.hpp"

#include "core/ops/views.hpp"
#include "core/simd/random.hpp"
#include "core/tape/op.hpp"

namespace tapestry {

namespace {

/// Stream and rate of one dropout call. With an element's index, they determine if it is dropped.
struct Draw {
  Stream stream;
  double rate;
};

// y = x ⊙ kept / (1 − rate)        ∂x = dy ⊙ kept / (1 − rate)
Tensor drop(const Tensor& x, Draw draw, CallSite at = {}) {
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  const Tensor from = contiguous(x.detach());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::dropout(y.mutable_data<T>(), from.data<T>(), x.count(), static_cast<T>(1.0 / (1.0 - draw.rate)),
                  simd::dropout_threshold(draw.rate), draw.stream.key(), draw.stream.site());
  });
  return op<"dropout">(at, std::move(y), wrt(x, [draw](const Tensor& dy) { return drop(dy, draw); }));
}

}  // namespace

Tensor dropout(const Tensor& x, double rate, CallSite at) {
  if (!(rate >= 0.0 && rate < 1.0))
    fail("[dropout] rate must be in [0, 1), got {}; it is the fraction of elements set to 0 ({}:{})", rate,
         at.file, at.line);
  return dropout(x, rate, next_stream(), at);
}

Tensor dropout(const Tensor& x, double rate, const Stream& stream, CallSite at) {
  return rate == 0.0 ? x : drop(x, {stream, rate}, at);
}

}  // namespace tapestry
