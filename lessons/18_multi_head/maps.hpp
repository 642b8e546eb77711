// Maps of the attention weights in lesson 18: four heads in one picture, and seven heads during training.
#pragma once

#include "lessons/18_multi_head/experiment.hpp"

namespace tapestry::lesson18 {

/// Returns the weights (B, H, 12) of the questions on the tokens of the list.
Tensor weights_for(const Answerer& model, const kit::TwoQuestions& asked);

/// Draws three questions about one list in head_grid.svg.
void draw_weights(const Answerer& model, const kit::Options& options);

/// Records the weights of the models with 1, 2 and 4 heads, which are trained in this order, at several steps
/// of their training. A map has twelve questions about one list. Question i asks first for key i, and then for
/// the key five places after it. So a head that attends to the first key draws a diagonal, and a head that
/// attends to the second key draws a shifted diagonal.
class MapRecorder {
 public:
  explicit MapRecorder(const kit::Options& options);

  /// Runs before a model's training as step 0, and after each step.
  void after(Size step, const Answerer& model);
  /// Returns the maps by step and head.
  kit::MapSeries series() const { return recorder_.series(); }

 private:
  kit::TwoQuestions asked_;
  kit::TrainingRecorder recorder_;
};

}  // namespace tapestry::lesson18
