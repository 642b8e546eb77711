#include "core/score_mod.hpp"

#include "core/ops/views.hpp"

namespace tapestry {

Tensor ScoreMod::by_ops(const Tensor& scores) const {
  std::vector<Tensor> sources = learned_;
  sources.insert(sources.end(), constants_.begin(), constants_.end());
  const int rank = scores.rank();
  if (rank == 4) return form_->by_ops(scores, sources);
  if (rank < 2) fail("[score_mod] scores {} are (…, queries, keys)", describe(scores));
  Size heads = 1;
  for (int axis = 1; axis < rank - 2; ++axis) heads *= scores.size(axis);
  const Tensor by_head =
      reshape(scores, {rank > 2 ? scores.size(0) : 1, heads, scores.size(-2), scores.size(-1)});
  return reshape(form_->by_ops(by_head, sources), scores.shape());
}

}  // namespace tapestry
