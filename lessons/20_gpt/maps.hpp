// Maps of the attention weights in lesson 20's sorting GPT, during training.
#pragma once

#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/map_series.hpp"
#include "nn/transformer/language_model.hpp"

namespace tapestry::lesson20 {

/// Records the attention weights of all heads for one string, at several steps of the training.
class MapRecorder {
 public:
  MapRecorder(const LanguageModel& model, const kit::Options& options);

  /// Runs before the training (step 0) and after each step.
  void after(Size step, const LanguageModel& model);
  /// Returns the recorded maps by step, layer and head.
  kit::MapSeries series() const { return recorder_.series(); }

 private:
  Indices inputs_;
  kit::TrainingRecorder recorder_;
};

}  // namespace tapestry::lesson20
