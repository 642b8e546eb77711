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
/// A LearnedScoreMod of nn, which this folder does not know.
template <class T>
concept LearnedOption = requires(T& option) {
  option.parameters, option.make;
};
}  // namespace detail

/// A function of the scores, applied before the softmax and built by score_mod(). Copies share its tensors.
class ScoreMod {
 public:
  /// Interface that each kind of score implements. Sources are the tensors that it reads, learned ones first.
  struct Form {
    virtual ~Form() = default;
    /// Returns the score for the tiles of a kernel in f32 or f64. Sources are dense and of that type.
    virtual std::unique_ptr<simd::TileScore<float>> on_tiles(float,
                                                             const std::vector<Tensor>& sources) const = 0;
    virtual std::unique_ptr<simd::TileScore<double>> on_tiles(double,
                                                              const std::vector<Tensor>& sources) const = 0;
    /// Computes the same from plain ops: scores (B, H, Tq, Tk) → scores. Pairs that `live` masks (no mask: none)
    /// affect nothing: no other value, no gradient, no error.
    virtual Tensor by_ops(const Tensor& scores, const std::vector<Tensor>& sources,
                          const Mask& live) const = 0;
  };

  /// No function: the scores do not change.
  ScoreMod() = default;
  ScoreMod(std::shared_ptr<const Form> form, std::vector<Tensor> learned, std::vector<Tensor> constants)
      : form_(std::move(form)), learned_(std::move(learned)), constants_(std::move(constants)) {}

  /// Fails to compile: a layer's option takes a LearnedScoreMod, whose parameters each layer creates.
  template <detail::LearnedOption Option>
  operator Option() const {
    static_assert(
        sizeof(Option) == 0,
        "a layer's score_mod must have parameters and a function that makes the ScoreMod from them: {{}, "
        "[](const auto& p, Size queries, Size keys) { return score_mod(...); }}");
    return {};
  }

  /// Returns true if there is a function; otherwise the scores do not change.
  bool defined() const { return form_ != nullptr; }
  /// The implementation, which must be defined(), and the tensors that it reads: learned() and constants().
  const Form& form() const { return *form_; }
  const std::vector<Tensor>& learned() const { return learned_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  /// Computes scores (…, Tq, Tk) → scores from plain ops. The first leading axis is the batch, the others are
  /// heads. Where `live`, which broadcasts to the scores, is false, the result is unspecified. Slopes at pairs
  /// of score −∞ may be NaN: mask these pairs with without_hidden() and compute the scores again. Throws, like
  /// the tiles, for a table index out of range and for a finite score that becomes NaN or +∞.
  Tensor by_ops(const Tensor& scores, const Mask& live = {}) const;

 private:
  std::shared_ptr<const Form> form_;
  std::vector<Tensor> learned_, constants_;
};

/// Returns `live` (no mask: all pairs) without the pairs whose score (…, Tq, Tk) is −∞, or nullopt if there are
/// no such pairs.
std::optional<Mask> without_hidden(const Mask& live, const Tensor& scores);

namespace detail {

/// Throws std::domain_error if an unmasked pair's score (B, H, Tq, Tk) was finite before and is NaN or +∞ now.
void check_scores(const Tensor& before, const Tensor& after, const Mask& live);

}  // namespace detail

}  // namespace tapestry
