// A score of the learner's own, behind one type: what is done to scaled scores before the softmax of tiled
// attention. score_mod() (score_lambda.hpp) makes one from a lambda.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/simd/attention.hpp"
#include "core/tensor.hpp"

namespace tapestry {

class ScoreMod {
 public:
  /// What a kind of score has to do. Sources are the tensors that it reads; the learned ones come first.
  struct Form {
    virtual ~Form() = default;
    virtual std::unique_ptr<simd::TileScore<float>> on_tiles(float,
                                                             const std::vector<Tensor>& sources) const = 0;
    virtual std::unique_ptr<simd::TileScore<double>> on_tiles(double,
                                                              const std::vector<Tensor>& sources) const = 0;
    /// The same from plain ops: scores (B, H, Tq, Tk) → scores.
    virtual Tensor by_ops(const Tensor& scores, const std::vector<Tensor>& sources) const = 0;
  };

  /// None: scores stay as they are.
  ScoreMod() = default;
  ScoreMod(std::shared_ptr<const Form> form, std::vector<Tensor> learned, std::vector<Tensor> constants)
      : form_(std::move(form)), learned_(std::move(learned)), constants_(std::move(constants)) {}

  bool defined() const { return form_ != nullptr; }
  const Form& form() const { return *form_; }
  const std::vector<Tensor>& learned() const { return learned_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  /// From plain ops, scores (…, Tq, Tk) → scores. The first leading axis is the batch, the others are heads.
  Tensor by_ops(const Tensor& scores) const;

 private:
  std::shared_ptr<const Form> form_;
  std::vector<Tensor> learned_, constants_;
};

}  // namespace tapestry
