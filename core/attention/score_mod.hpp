// ScoreMod, a function that changes the scaled scores before the softmax of tiled attention. score_mod()
// (score_lambda.hpp) builds one from a lambda.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

namespace detail {
/// True for LearnedScoreMod of nn, which this folder must not include.
template <class T>
concept LearnedOption = requires(T& option) {
  option.parameters, option.make;
};
}  // namespace detail

/// A function of the scaled scores, applied before the softmax; built by score_mod(). Copies share its tensors.
class ScoreMod {
 public:
  /// Interface of an implementation. Sources are the tensors that the function reads, learned ones first.
  struct Impl {
    virtual ~Impl() = default;
    /// Returns the function for tiles of f32 or f64, which the first argument selects. Sources are dense and of this
    /// type.
    virtual std::unique_ptr<simd::TileScore<float>> on_tiles(float,
                                                             const std::vector<Tensor>& sources) const = 0;
    virtual std::unique_ptr<simd::TileScore<double>> on_tiles(double,
                                                              const std::vector<Tensor>& sources) const = 0;
    /// Computes the same from plain ops: scores (B, H, Tq, Tk) → scores. Pairs where `live` is false (undefined: none)
    /// affect no other value and no gradient, and cause no error.
    virtual Tensor by_ops(const Tensor& scores, const std::vector<Tensor>& sources,
                          const Mask& live) const = 0;
  };

  /// No function: the scores do not change.
  ScoreMod() = default;
  ScoreMod(std::shared_ptr<const Impl> impl, std::vector<Tensor> learned, std::vector<Tensor> constants)
      : impl_(std::move(impl)), learned_(std::move(learned)), constants_(std::move(constants)) {}

  /// Fails to compile: a layer takes a LearnedScoreMod, from which it creates its own parameters.
  template <detail::LearnedOption Option>
  operator Option() const {
    static_assert(
        sizeof(Option) == 0,
        "a layer's score_mod must have parameters and a function that makes the ScoreMod from them: {{}, "
        "[](const auto& p, Size queries, Size keys) { return score_mod(...); }}");
    return {};
  }

  /// Returns true if there is a function; otherwise the scores do not change.
  bool defined() const { return impl_ != nullptr; }
  /// Implementation, if defined(), and the tensors that it reads: learned() and constants().
  const Impl& impl() const { return *impl_; }
  const std::vector<Tensor>& learned() const { return learned_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  /// Computes scores (…, Tq, Tk) → scores from plain ops. The first leading axis is the batch, the others are
  /// heads. `live` broadcasts to the scores; where it is false, the result is unspecified. At a pair whose new score
  /// is −∞, the derivative may be NaN: mask it with mask_out_neg_inf(), then compute the scores again. Throws Error
  /// for a table index out of range and for a finite score that becomes NaN or +∞.
  Tensor by_ops(const Tensor& scores, const Mask& live = {}, CallSite at = {}) const;

 private:
  std::shared_ptr<const Impl> impl_;
  std::vector<Tensor> learned_, constants_;
};

/// Returns `live` (undefined: all pairs) without the pairs whose score (…, Tq, Tk) is −∞, or nullopt if there are
/// none.
std::optional<Mask> mask_out_neg_inf(const Mask& live, const Tensor& scores);

namespace detail {

/// Throws std::domain_error if an unmasked pair's score (B, H, Tq, Tk) was finite before and is NaN or +∞ now.
void check_scores(const Tensor& before, const Tensor& after, const Mask& live);
/// Throws std::domain_error if an unmasked pair's score (B, H, Tq, Tk) is NaN or +∞, although its query (B, H, Tq, U)
/// and key (B, H, Tk, U) are finite.
void check_pair_scores(const Tensor& query, const Tensor& key, const Tensor& scores, const Mask& live);

}  // namespace detail

}  // namespace tapestry
