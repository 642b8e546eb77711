// The three gradients of attention, tile by tile (Dao et al. 2022, appendix B.2). Each tile of the weights is
// computed again from Q, K and the log-sum-exp. D_i = dO_i · O_i replaces the sum over all keys.
//
// An op with this rule has no second derivative, because its inputs are detached. core/tape/op.hpp explains
// how to give an op a decomposition for that.
#include "lessons/25_tiled/backward.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/core.hpp"
#include "lessons/25_tiled/experiment.hpp"

namespace tapestry::lesson25 {

std::array<Tensor, 3> backward(const Tensor& q, const Tensor& k, const Tensor& v, const Tiled& kept,
                               const Tensor& d_out, Size tile) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor delta = sum(d_out * kept.out, {-1}, Keep::yes);  // D (Tq, 1)
  Tensor dq = zeros(q.shape(), q.dtype());
  std::vector<Tensor> dk, dv;
  for (Size first = 0; first < k.size(0); first += tile) {
    const Size last = std::min(first + tile, k.size(0));
    const Tensor keys = rows(k, first, last), values = rows(v, first, last);
    const Tensor p = exp(scores_of(q, keys) - kept.log_sum_exp);
    const Tensor ds = p * (matmul(d_out, transpose(values)) - delta);
    dv.push_back(matmul(transpose(p), d_out));
    dk.push_back(scale * matmul(transpose(ds), q));
    dq = dq + scale * matmul(ds, keys);
  }
  return {dq, concat(dk, -2), concat(dv, -2)};
}

}  // namespace tapestry::lesson25
