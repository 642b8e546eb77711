// A score of the learner's own, behind one type: what is done to scaled scores before the softmax of tiled
// attention. score_mod() (score_lambda.hpp) makes one from a lambda.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/simd/attention/attention.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What is done to scores before the softmax; score_mod() makes one. Copies share the tensors.
class ScoreMod {
 public:
  /// What a kind of score has to do. Sources are the tensors that it reads; the learned ones come first.
  struct Form {
    virtual ~Form() = default;
    /// For the tiles of a kernel in f32 or f64, from the sources, which are dense and of that type.
    virtual std::unique_ptr<simd::TileScore<float>> on_tiles(float,
                                                             const std::vector<Tensor>& sources) const = 0;
    virtual std::unique_ptr<simd::TileScore<double>> on_tiles(double,
                                                              const std::vector<Tensor>& sources) const = 0;
    /// The same from plain ops: scores (B, H, Tq, Tk) → scores. What is at pairs that `live` (no mask: none)
    /// leaves out touches nothing, and nothing comes of it.
    virtual Tensor by_ops(const Tensor& scores, const std::vector<Tensor>& sources,
                          const Mask& live) const = 0;
  };

  /// None: scores stay as they are.
  ScoreMod() = default;
  ScoreMod(std::shared_ptr<const Form> form, std::vector<Tensor> learned, std::vector<Tensor> constants)
      : form_(std::move(form)), learned_(std::move(learned)), constants_(std::move(constants)) {}

  /// Whether there is one; without it scores stay as they are.
  bool defined() const { return form_ != nullptr; }
  /// Its form(), which has to be there, and the tensors that it reads: those that are learned(), and the
  /// constants().
  const Form& form() const { return *form_; }
  const std::vector<Tensor>& learned() const { return learned_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  /// From plain ops, scores (…, Tq, Tk) → scores. The first leading axis is the batch, the others are heads.
  /// At pairs where `live`, which broadcasts to the scores, is false, any number stands then. Pairs of score
  /// −∞ are to be left out with without_hidden(), and the scores made again: their slopes may be NaN. Throws
  /// as tiles do for a read outside, NaN and +∞.
  Tensor by_ops(const Tensor& scores, const Mask& live = {}) const;

 private:
  std::shared_ptr<const Form> form_;
  std::vector<Tensor> learned_, constants_;
};

/// `live` (none: all) without the pairs whose score (…, Tq, Tk) is −∞; nothing if there are none of those.
std::optional<Mask> without_hidden(const Mask& live, const Tensor& scores);

namespace detail {

/// Throws std::domain_error where a live pair's score (B, H, Tq, Tk) was finite before and is NaN or +∞ now.
void check_scores(const Tensor& before, const Tensor& after, const Mask& live);

}  // namespace detail

}  // namespace tapestry
