// Gradient clipping: one parallel pass for the norm, another one for the scaling.
#include "optim/clip.hpp"

#include <cmath>
#include <unordered_set>

#include "core/ops/views.hpp"
#include "core/simd/optimiser_step.hpp"
#include "core/tensor/layout.hpp"
#include "optim/parameter_chunks.hpp"

namespace tapestry {

namespace {

struct Gradient {
  detail::Leaf* leaf;
  Tensor values;  // dense
};

PoolVector<Gradient> gradients_of(const std::vector<Tensor>& leaves) {
  PoolVector<Gradient> gradients;
  std::unordered_set<const detail::TensorImpl*> seen;
  for (const Tensor& leaf : leaves)
    if (leaf.requires_grad() && leaf.has_grad() && seen.insert(leaf.ref().get()).second)
      gradients.push_back({leaf.impl().leaf.get(), contiguous(leaf.grad().detach())});
  return gradients;
}

detail::ParameterChunks chunks_of(const PoolVector<Gradient>& gradients) {
  detail::ParameterChunks chunks;
  for (const Gradient& one : gradients) chunks.add(one.values.count());
  return chunks;
}

double norm_of(const PoolVector<Gradient>& gradients, const detail::ParameterChunks& chunks) {
  PoolVector<double> sums(static_cast<std::size_t>(chunks.count()));
  simd::parallel_for(chunks.count(), [&](Size chunk) {
    double sum = 0;
    chunks.for_each_part(chunk, [&](std::size_t i, Size begin, Size end) {
      dispatch(gradients[i].values.dtype(), [&](auto zero) {
        using T = decltype(zero);
        sum += simd::sum_of_squares(gradients[i].values.data<T>() + begin, end - begin);
      });
    });
    sums[static_cast<std::size_t>(chunk)] = sum;
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

[[noreturn]] void refuse(const PoolVector<Gradient>& gradients, double norm) {
  for (const Gradient& one : gradients) {
    detail::ParameterChunks chunks;
    chunks.add(one.values.count());
    if (!std::isfinite(norm_of({one}, chunks)))
      fail(
          "[clip_gradients] the norm of all gradients must be finite, got {}; "
          "the first gradient that is not finite belongs to {} \"{}\"; "
          "lower the learning rate, or find the operation with AnomalyMode",
          norm, to_string(one.values.shape()), one.leaf->name);
  }
  fail("[clip_gradients] the norm of all gradients must be finite, got {}; lower the learning rate", norm);
}

}  // namespace

double gradient_norm(const std::vector<Tensor>& leaves) {
  const PoolVector<Gradient> gradients = gradients_of(leaves);
  return norm_of(gradients, chunks_of(gradients));
}

double clip_gradients(const std::vector<Tensor>& leaves, double max_norm, NonFinite non_finite) {
  if (!(max_norm > 0)) fail("[clip_gradients] max_norm must be above 0, got {}", max_norm);
  PoolVector<Gradient> gradients = gradients_of(leaves);
  const detail::ParameterChunks chunks = chunks_of(gradients);
  const double norm = norm_of(gradients, chunks);
  if (!std::isfinite(norm)) {
    if (non_finite == NonFinite::refuse) refuse(gradients, norm);
    return norm;
  }
  const double factor = max_norm / (norm + 1e-6);
  if (factor >= 1) return norm;
  // A gradient is scaled in place only if the leaf has the only handle. Our own handle is dropped for that check, then
  // taken again; a shared gradient is copied first.
  for (Gradient& one : gradients) {
    Tensor& grad = one.leaf->grad;
    const bool shares = one.values.impl().buffer.get() == grad.impl().buffer.get();
    if (shares) one.values = Tensor();
    const bool alone = shares && grad.ref().unique() && grad.impl().buffer.unique();
    if (shares) one.values = grad.detach();
    if (shares && !alone) one.values = dense_copy(one.values);
  }
  chunks.run([&](std::size_t i, Size begin, Size end) {
    dispatch(gradients[i].values.dtype(), [&](auto zero) {
      using T = decltype(zero);
      simd::scale(gradients[i].values.mutable_data<T>() + begin, end - begin, factor);
    });
  });
  for (Gradient& one : gradients) {
    mark_written(one.values);
    one.leaf->grad = std::move(one.values);
  }
  return norm;
}

}  // namespace tapestry
