#include "nn/attention/similarity_scores.hpp"

#include <cmath>

#include "core/ops/arithmetic.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

void check_widths(const char* name, const Module& score, const Tensor& query, const Tensor& keys) {
  if (query.rank() < 2 || keys.rank() < 2 || query.size(-1) != keys.size(-1))
    fail(
        "[{} score{}] query {} and keys {} are (…, time, width) with equal widths; general and additive "
        "scores take different ones",
        name, score.in_quotes(), describe(query), describe(keys));
}

/// Returns x / ‖x‖ over the last axis; 0, with gradient 0, where x is 0.
Tensor direction(const Tensor& x) {
  const Tensor squared = sum(x * x, {-1}, Keep::yes);
  const Tensor zero = scalar(0, x.dtype()), one = scalar(1, x.dtype());
  // False for 0 only. True for NaN, for which both comparisons are false.
  const Mask some = less(zero, squared.detach()) | !less(squared.detach(), one);
  return where(some, x / sqrt(where(some, squared, one)), zero);
}

}  // namespace

NadarayaWatsonScore::NadarayaWatsonScore(Parent parent, double sigma, Sigma kind)
    : Score(std::move(parent)),
      log_sigma(kind == Sigma::learned ? Parameter{*this, "log_sigma", {1}, constant(std::log(sigma))}
                                       : Parameter{}),
      sigma_(sigma) {
  if (!(sigma > 0) || !std::isfinite(sigma))
    fail("[nadaraya_watson score{}] sigma must be positive and finite, got {}", in_quotes(), sigma);
}

Tensor NadarayaWatsonScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  check_widths("nadaraya_watson", *this, query, keys);
  const Tensor apart = unsqueeze(query, -2) - unsqueeze(keys, -3);
  const Tensor squared = sum(apart * apart, {-1});
  if (!log_sigma.defined()) return squared * (-0.5 / (sigma_ * sigma_));
  return squared * (exp(log_sigma * -2.0) * -0.5);
}

Tensor DotScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  check_widths("dot", *this, query, keys);
  return matmul(query, transpose(keys));
}

Tensor ScaledDotScore::score(const Tensor& query, const Tensor& keys, ScoreState&) const {
  check_widths("scaled_dot", *this, query, keys);
  return matmul(query * *dot_factor(query), transpose(keys));
}

std::optional<double> ScaledDotScore::dot_factor(const Tensor& query) const {
  return 1 / std::sqrt(static_cast<double>(query.size(-1)));
}

GeneralScore::GeneralScore(Parent parent, Size query_width, Size key_width)
    : Score(std::move(parent)), weight{*this, "weight", {query_width, key_width}, xavier} {}

Tensor GeneralScore::prepare(const Tensor& keys) const { return linear(keys, weight); }

Tensor GeneralScore::score(const Tensor& query, const Tensor& prepared, ScoreState&) const {
  if (query.rank() < 2 || query.size(-1) != weight.size(0))
    fail("[general score{}] query must fit W, got query {} and W {}; pass (…, time, {})", in_quotes(),
         describe(query), to_string(weight.shape()), weight.size(0));
  return matmul(query, transpose(prepared));
}

CosineScore::CosineScore(Parent parent, double first_gain)
    : Score(std::move(parent)), gain{*this, "gain", {1}, constant(first_gain)} {}

Tensor CosineScore::prepare(const Tensor& keys) const { return direction(keys); }

Tensor CosineScore::score(const Tensor& query, const Tensor& prepared, ScoreState&) const {
  check_widths("cosine", *this, query, prepared);
  return matmul(direction(query) * gain, transpose(prepared));
}

ScoreFactory nadaraya_watson(double sigma, Sigma kind) {
  return ScoreFactory::of<NadarayaWatsonScore>(sigma, kind);
}

ScoreFactory dot() { return ScoreFactory::of<DotScore>(); }

ScoreFactory scaled_dot() { return ScoreFactory::of<ScaledDotScore>(); }

ScoreFactory general(Size query_width, Size key_width) {
  return ScoreFactory::of<GeneralScore>(query_width, key_width);
}

ScoreFactory cosine(double gain) { return ScoreFactory::of<CosineScore>(gain); }

}  // namespace tapestry
