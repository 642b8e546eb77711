// BLEU by length of the source, up to lengths that a text lacks.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// A text with its sentences alone, joined in twos and joined in threes, and a curve for each who translated
/// it.
class LengthCurves {
 public:
  /// `ends` are the longest lengths of the buckets, as for bleu_by_length.
  LengthCurves(const ParallelText& sentences, const Joint& joint, std::vector<Size> ends);

  const ParallelText& text() const { return text_; }
  /// Words in the longest of text().target.
  Size longest() const;
  /// Takes what somebody wrote for text().source, and returns the curve: BLEU (y) against the mean length of
  /// the bucket's sources (x).
  const Series& add(const std::string& name, const std::vector<Words>& written);
  /// Lengths across, a row for each curve.
  std::string table() const;
  /// All curves.
  const Chart& chart() const { return chart_; }

 private:
  ParallelText text_;
  std::vector<Size> ends_;
  std::string lengths_;  // the table's first row
  Chart chart_;
};

}  // namespace tapestry::kit
