// Trains captioners, measures their captions and their attention weights.
#pragma once

#include <array>
#include <memory>

#include "lessons/33_vision/captioner.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson33 {

/// The five captioners, by their parts. kPlacesAndMean computes its initial state from the mean of all places.
enum CaptionerKind { kNeither, kChannelsAlone, kPlacesAlone, kPlacesAndMean, kBoth, kKinds };

/// Trains all captioners on the same pictures. Each part of the light is at least `darkest`.
class Captioners {
 public:
  /// Trains them, prints a line for each, and draws right.svg.
  Captioners(double darkest, const kit::Options& options);

  /// Returns the captions of new pictures in which every word is right, in %.
  double right(CaptionerKind kind) const { return right_[kind]; }
  /// Returns the same if the decoder may not attend to the white frame.
  double right_without_frame(CaptionerKind kind) const;

  /// Mean attention weights in the right captions, in %.
  struct AttentionShares {
    double named = 0;  ///< at colours and shapes: weight on the thing that they name
    double frame = 0;  ///< at colours: weight on the white frame
    double first = 0;  ///< at "left" and "above": weight on the first thing
  };
  /// Measures the attention weights of a captioner. For kBoth it also draws looked.svg.
  AttentionShares attention_shares(CaptionerKind kind) const;

 private:
  double darkest_;
  kit::Options options_;
  std::array<std::unique_ptr<Captioner>, kKinds> all_;
  std::array<double, kKinds> right_{};
};

}  // namespace tapestry::lesson33
