// Where the heads of lesson 18 look, as maps: four heads in one picture, and seven over the training.
#pragma once

#include "lessons/18_multi_head/experiment.hpp"

namespace tapestry::lesson18 {

/// Weights (B, H, 12) of the questions on the list.
Tensor weights_for(const Answerer& model, const kit::TwoQuestions& asked);

/// Three questions about one list, in head_grid.svg.
void draw_looks(const Answerer& model, const kit::Options& options);

/// Keeps where the heads of models with one head, two and four look, which are trained in this order, at several steps of their training. A map has twelve questions
/// about one list: question i asks for key i first, and then for the fifth key after it. So who looks for the
/// first key makes a diagonal, and who looks for the second makes one that is shifted.
class Filmed {
 public:
  explicit Filmed(const kit::Options& options);

  /// Runs before a model's training, as step 0, and after each step.
  void after(Size step, const Answerer& model);
  /// By step and head.
  kit::MapSeries series() const { return film_.series(); }

 private:
  kit::TwoQuestions asked_;
  kit::TrainingRecorder film_;
};

}  // namespace tapestry::lesson18
