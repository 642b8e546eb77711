// BLEU by the length of the source, including lengths that do not occur in the text itself.
#pragma once

#include <string>
#include <vector>

#include "lessons/kit/picture/picture.hpp"
#include "lessons/kit/text/text.hpp"

namespace tapestry::kit {

/// The sentences of a text: alone, joined in twos, and joined in threes. Holds one curve for each translator of
/// these sentences.
class LengthCurves {
 public:
  /// `ends` are the largest lengths of the buckets, as in bleu_by_length.
  LengthCurves(const ParallelText& sentences, const Joint& joint, std::vector<Size> ends);

  const ParallelText& text() const { return text_; }
  /// Returns the number of words in the longest sentence of text().target.
  Size longest() const;
  /// Adds the translations of text().source, and returns their curve: BLEU (y) over the mean length of each
  /// bucket's sources (x).
  const Series& add(const std::string& name, const std::vector<Words>& written);
  /// Returns a table with a column for each range of lengths and a row for each curve.
  std::string table() const;
  /// Returns a chart of all curves.
  const Chart& chart() const { return chart_; }

 private:
  ParallelText text_;
  std::vector<Size> ends_;
  std::string lengths_;  // the table's first row
  Chart chart_;
};

}  // namespace tapestry::kit
