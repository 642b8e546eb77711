// Records the alignments of lesson 11's model during training, as maps.
#pragma once

#include <vector>

#include "lessons/11_bahdanau/experiment.hpp"

namespace tapestry::lesson11 {

/// Draws strings for the pictures. The first string does not depend on `count`.
kit::Strings shown_strings(Size count, Size length, const kit::Options& options);

/// Records the alignments of three strings, with 8, 14 and 24 letters, at several training steps. The decoder receives
/// the right letters (teacher forcing), not its own output.
class AlignmentRecorder {
 public:
  explicit AlignmentRecorder(const kit::Options& options);

  /// Call this before training, with step 0, and after each training step.
  void after(Size step, const Reverser& model);
  kit::MapSeries series() const { return recorder_.series(); }

 private:
  std::vector<kit::Strings> strings_;
  kit::TrainingRecorder recorder_;
};

}  // namespace tapestry::lesson11
