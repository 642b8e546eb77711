#include "nn/attention/position_scores.hpp"

#include "core/ops/matmul.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

namespace {

/// Returns W q for the positions that have a key.
Tensor by_place(const char* name, const Module& score, const Tensor& query, const Tensor& keys,
                const Tensor& weight) {
  const Size places = keys.size(-2), longest = weight.size(0);
  if (places > longest)
    fail(
        "[{} score{}] W must have a row for each key, got {} keys and W {} for {} positions; build the score for {} "
        "or shorten the source",
        name, score.in_quotes(), places, to_string(weight.shape()), longest, places);
  if (query.rank() < 2 || query.size(-1) != weight.size(1))
    fail("[{} score{}] query must fit W, got query {} and W {}; pass (…, time, {})", name, score.in_quotes(),
         describe(query), to_string(weight.shape()), weight.size(1));
  return linear(query, slice(weight, 0, 0, places));
}

}  // namespace

LocationScore::LocationScore(Parent parent, Size query_width, Size longest)
    : Score(std::move(parent)), weight{*this, "weight", {longest, query_width}, xavier} {}

Tensor LocationScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  return by_place("location", *this, query, keys, weight);
}

FullyConnectedScore::FullyConnectedScore(Parent parent, Size embedding_width, Size query_width, Size longest)
    : Score(std::move(parent)), weight{*this, "weight", {longest, embedding_width + query_width}, xavier} {}

Tensor FullyConnectedScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  return by_place("fully_connected", *this, query, keys, weight);
}

ScoreFactory location(Size query_width, Size longest) {
  return ScoreFactory::of<LocationScore>(query_width, longest);
}

ScoreFactory fully_connected(Size embedding_width, Size query_width, Size longest) {
  return ScoreFactory::of<FullyConnectedScore>(embedding_width, query_width, longest);
}

}  // namespace tapestry
