// Where lesson 11's model looks while it learns, as maps.
#pragma once

#include <vector>

#include "lessons/11_bahdanau/experiment.hpp"

namespace tapestry::lesson11 {

/// Strings for pictures. The first does not depend on how many there are.
kit::Strings shown_strings(Size count, Size length, const kit::Options& options);

/// Keeps the alignments of three strings, of 8, 14 and 24 letters, at several steps of the training. At each
/// place the right letters go in, whatever the model would write.
class Filmed {
 public:
  explicit Filmed(const kit::Options& options);

  /// Runs before the training, as step 0, and after each step.
  void after(Size step, const Reverser& model);
  kit::MapSeries series() const { return film_.series(); }

 private:
  std::vector<kit::Strings> strings_;
  kit::TrainingRecorder film_;
};

}  // namespace tapestry::lesson11
