// What the heads of lesson 21 look at, as maps: one head's, and those of all heads over the training.
#pragma once

#include <string>

#include "lessons/21_induction/experiment.hpp"

namespace tapestry::lesson21 {

/// "lower 3": head 2; "upper 1": head 4.
std::string name_of(Size head);

/// The weights of a head of the two-layer model on the first 40 places of a sequence, to NAME.svg.
void show_map(const Trained& trained, Size head, const std::string& name, const kit::Options& options);

/// Keeps the maps of all heads, on 20 places of that sequence, at six steps of the training.
class Filmed {
 public:
  explicit Filmed(const kit::Options& options);

  /// Runs after each step; keeps maps at a hundredth of the steps, a twentieth, a tenth, a fifth, a half, and at
  /// the end.
  void after(Size step, const AttentionOnly& model);
  /// Those that were kept, by step, layer and head.
  kit::MapSeries series() const { return film_.series(); }

 private:
  Indices inputs_;
  kit::TrainingRecorder film_;
};

}  // namespace tapestry::lesson21
