// Training captioners, how many captions are right, and where the captioner looked.
#pragma once

#include <array>
#include <memory>

#include "lessons/33_vision/captioner.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson33 {

/// What the five captioners attend to. With kPlacesAndMean the first state is made from the mean of all
/// places.
enum Way { kNeither, kChannelsAlone, kPlacesAlone, kPlacesAndMean, kBoth, kWays };

/// Trains all on the same pictures, in light of which each part is at least `darkest`.
class Captioners {
 public:
  /// Prints a line for each, and draws right.svg.
  Captioners(double darkest, const kit::Options& options);

  /// Captions of new pictures that come out right to the last word, in %.
  double right(Way way) const { return right_[way]; }
  /// The same where the decoder may not look at the white frame.
  double right_without_frame(Way way) const;

  /// Means over captions that came out right, in % of the weight.
  struct Watched {
    double named = 0;  ///< for colours and shapes: on the thing that they name
    double frame = 0;  ///< for colours: on the white frame
    double first = 0;  ///< for "left" and "above": on the first thing
  };
  /// Where one of them looks; of the one that attends to both draws looked.svg.
  Watched watch(Way way) const;

 private:
  double darkest_;
  kit::Options options_;
  std::array<std::unique_ptr<Captioner>, kWays> all_;
  std::array<double, kWays> right_{};
};

}  // namespace tapestry::lesson33
