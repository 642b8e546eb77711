// BLEU by the length of the source, including lengths that do not occur in the text itself.
#include "lessons/15_translate/length_curves.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"

namespace tapestry::kit {
namespace {

constexpr int kNameWidth = 24, kCellWidth = 7;

std::string range(const LengthBucket& bucket, bool last) {
  return last ? fmt::format("{}+", bucket.least) : fmt::format("{}-{}", bucket.least, bucket.most);
}

}  // namespace

LengthCurves::LengthCurves(const ParallelText& sentences, const Joint& joint, std::vector<Size> ends)
    : text_(sentences), ends_(std::move(ends)) {
  for (const std::size_t parts : {2U, 3U}) {
    const ParallelText more = joined(sentences, parts, joint);
    text_.source.insert(text_.source.end(), more.source.begin(), more.source.end());
    text_.target.insert(text_.target.end(), more.target.begin(), more.target.end());
  }
  chart_.title = "BLEU by length of the source";
  chart_.x_label = "words in the source";
  chart_.y_label = "BLEU";
}

Size LengthCurves::longest() const {
  std::size_t words = 0;
  for (const Words& each : text_.target) words = std::max(words, each.size());
  return static_cast<Size>(words);
}

const Series& LengthCurves::add(const std::string& name, const std::vector<Words>& written) {
  Series curve{name, {}, {}};
  lengths_ = pad_right("  words", kNameWidth);
  for (const LengthBucket& bucket : bleu_by_length(text_.source, written, text_.target, ends_)) {
    curve.x.push_back(bucket.mean);
    curve.y.push_back(bucket.bleu.score);
    lengths_ += pad_left(range(bucket, !ends_.empty() && bucket.least > ends_.back()), kCellWidth);
  }
  chart_.series.push_back(std::move(curve));
  return chart_.series.back();
}

std::string LengthCurves::table() const {
  std::string text = lengths_ + "\n";
  for (const Series& curve : chart_.series) {
    text += pad_right("  " + curve.name, kNameWidth);
    for (const double score : curve.y) text += fmt::format("{:{}.1f}", score, kCellWidth);
    text += "\n";
  }
  return text;
}

}  // namespace tapestry::kit
