#include "core/attention/score_mod.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/ops/views.hpp"
#include "core/simd/attention/score_tiles.hpp"

namespace tapestry {

namespace {

/// Calls f(row, j, score) for each unmasked score (…, Tq, Tk) that is not finite. A first pass, without branches, ends
/// the search in the usual case that there is none.
template <class F>
void each_not_finite(const Tensor& scores, const Mask& live, const F& f) {
  const Tensor dense = contiguous(scores.detach());
  const Dims& shape = dense.shape();
  dispatch(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* x = dense.data<T>();
    unsigned faults = 0;  // x − x is 0 for a finite number, NaN otherwise
    for (Size i = 0; i < dense.count(); ++i) faults |= x[i] - x[i] == T(0) ? 0U : 1U;
    if (faults == 0) return;
    const std::vector<bool> may = live.defined()
                                      ? live.expand(shape, "score").to_vector()
                                      : std::vector<bool>(static_cast<std::size_t>(dense.count()), true);
    for (Size i = 0; i < dense.count(); ++i)
      if (may[static_cast<std::size_t>(i)] && !(x[i] - x[i] == T(0)))
        f(i / shape.back(), i % shape.back(), static_cast<double>(x[i]));
  });
}

}  // namespace

Tensor ScoreMod::by_ops(const Tensor& scores, const Mask& live, CallSite at) const {
  std::vector<Tensor> sources = learned_;
  sources.insert(sources.end(), constants_.begin(), constants_.end());
  const int rank = scores.rank();
  if (rank < 2) fail("[score_mod] scores {} must have shape (…, queries, keys)", describe(scores));
  Size heads = 1;
  for (int axis = 1; axis < rank - 2; ++axis) heads *= scores.size(axis);
  const Dims by_head{rank > 2 ? scores.size(0) : 1, heads, scores.size(-2), scores.size(-1)};
  const bool fits = rank == 4 || !live.defined();
  try {
    const Tensor result = impl_->by_ops(rank == 4 ? scores : reshape(scores, by_head), sources,
                                        fits ? live : live.expand(scores.shape(), "score").reshape(by_head));
    return rank == 4 ? result : reshape(result, scores.shape());
  } catch (const std::logic_error& mistake) {
    fail("{} ({}:{})", mistake.what(), at.file, at.line);
  }
}

std::optional<Mask> mask_out_neg_inf(const Mask& live, const Tensor& scores) {
  std::vector<Size> hidden;
  const Size keys = scores.size(-1);
  each_not_finite(scores, live, [&](Size row, Size j, double score) {
    if (score == -std::numeric_limits<double>::infinity()) hidden.push_back(row * keys + j);
  });
  if (hidden.empty()) return {};
  auto next = hidden.begin();
  const Mask rest = Mask::from(scores.count() / keys, keys, [&](Size row, Size j) {
    const bool is_next = next != hidden.end() && *next == row * keys + j;
    if (is_next) ++next;
    return !is_next;
  });
  return live & rest.reshape(scores.shape());
}

namespace detail {

void check_scores(const Tensor& before, const Tensor& after, const Mask& live) {
  const Tensor was = before.detach();
  each_not_finite(after, live, [&](Size row, Size j, double score) {
    const Size i = row % was.size(2), item = row / was.size(2);
    const simd::QueryKey pair{item / was.size(1), item % was.size(1), i, j};
    if (score != -std::numeric_limits<double>::infinity() && std::isfinite(was.at({pair.b, pair.h, i, j})))
      simd::fail_score(score, pair);
  });
}

void check_pair_scores(const Tensor& query, const Tensor& key, const Tensor& scores, const Mask& live) {
  const Dims& sizes = scores.shape();
  const auto finite = [](const Tensor& x, Size b, Size h, Size row) {
    for (Size u = 0; u < x.size(-1); ++u)
      if (!std::isfinite(x.at({b, h, row, u}))) return false;
    return true;
  };
  each_not_finite(scores, live, [&](Size row, Size j, double score) {
    const Size i = row % sizes[2], item = row / sizes[2];
    const simd::QueryKey pair{item / sizes[1], item % sizes[1], i, j};
    if (score != -std::numeric_limits<double>::infinity() && finite(query, pair.b, pair.h, i) &&
        finite(key, pair.b, pair.h, j))
      simd::fail_pair_score(score, pair);
  });
}

}  // namespace detail

}  // namespace tapestry
