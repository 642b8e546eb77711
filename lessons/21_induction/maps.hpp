// Maps of the attention weights in lesson 21: of one head, and of all heads during training.
#pragma once

#include <string>

#include "lessons/21_induction/experiment.hpp"

namespace tapestry::lesson21 {

/// Returns the name of a head: "lower 3" for head 2, "upper 1" for head 4.
std::string name_of(Size head);

/// Draws the weights of a head of the two-layer model for the first 40 places of a sequence in NAME.svg.
void show_map(const Trained& trained, Size head, const std::string& name, const kit::Options& options);

/// Records the maps of all heads for 20 places of that sequence, at six steps of the training.
class MapRecorder {
 public:
  explicit MapRecorder(const kit::Options& options);

  /// Runs after each step. Records maps after 1/100, 1/20, 1/10, 1/5 and 1/2 of the steps, and at the end.
  void after(Size step, const AttentionOnly& model);
  /// Returns the recorded maps by step, layer and head.
  kit::MapSeries series() const { return recorder_.series(); }

 private:
  Indices inputs_;
  kit::TrainingRecorder recorder_;
};

}  // namespace tapestry::lesson21
