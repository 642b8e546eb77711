// A text as characters for a language model: its training and validation parts, and windows from them.
#include "lessons/20_gpt/char_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/ops/loss.hpp"
#include "core/tensor/random.hpp"
#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/text/text.hpp"
#include "nn/text/lines.hpp"

namespace tapestry::kit {

namespace {

const std::string kCourseText =
#include "lessons/20_gpt/course.txt"
    ;

// That a model validates: characters, and logits, which are as many again for each letter of the alphabet.
constexpr Size kCharactersAtOnce = 4096, kLogitsAtOnce = kCharactersAtOnce * 4096;

/// Windows that begin at these places; the text has a character after each.
Windows windows_at(const Ids& text, const std::vector<Size>& starts, Size length) {
  Ids inputs, targets;
  for (const Size start : starts) {
    const auto first = text.begin() + start;
    inputs.insert(inputs.end(), first, first + length);
    targets.insert(targets.end(), first + 1, first + length + 1);
  }
  const Dims shape{static_cast<Size>(starts.size()), length};
  return {Indices(inputs, shape), Indices(targets, shape)};
}

}  // namespace

CharCorpus read_characters(const std::filesystem::path& file, double valid_share) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (!error && bytes > kMostBytesInFile)
    throw UsageError(
        fmt::format("'{}' has {} bytes; the limit is {} bytes", file.string(), bytes, kMostBytesInFile));
  return cut_characters(read_text(file), file.string(), valid_share);
}

CharCorpus read_characters_or_course(const std::filesystem::path& file, double valid_share, Size context) {
  CharCorpus corpus = file.empty() ? cut_characters(kCourseText, "course.txt", valid_share)
                                   : read_characters(file, valid_share);
  if (static_cast<Size>(std::min(corpus.train.size(), corpus.valid.size())) <= context)
    throw UsageError(fmt::format(
        "the text has {} characters for training and {} that are held out; both parts must have more than {}",
        corpus.train.size(), corpus.valid.size(), context));
  return corpus;
}

CharCorpus cut_characters(const std::string& text, const std::string& name, double valid_share) {
  tapestry::lines_of(text, name);  // throws for characters that a checkpoint's alphabet cannot hold
  CharCorpus corpus{Characters::of(text), {}, {}, hash_of(text)};
  Ids ids = corpus.characters.encode(text);
  const auto cut = static_cast<std::ptrdiff_t>(static_cast<double>(ids.size()) * (1 - valid_share));
  corpus.valid.assign(ids.begin() + cut, ids.end());
  ids.resize(static_cast<std::size_t>(cut));
  corpus.train = std::move(ids);
  if (corpus.train.size() < 2 || corpus.valid.size() < 2)
    throw UsageError(
        fmt::format("'{}' has {} characters; this is not enough for a training part and a validation part",
                    name, corpus.train.size() + corpus.valid.size()));
  return corpus;
}

Windows draw_windows(const Ids& text, Random random, Size count, Size length) {
  const Size places = static_cast<Size>(text.size()) - length;
  if (places < 1)
    throw UsageError(fmt::format(
        "a text of {} characters has no window of {} characters plus one more; choose a shorter context",
        text.size(), length));
  std::vector<Size> starts;
  for (Size i = 0; i < count; ++i) starts.push_back(random.below(places));
  return windows_at(text, starts, length);
}

double loss_per_character(LanguageModel& model, const Ids& text, Size length, Size every) {
  const Evaluating evaluating(model);
  const Size last = static_cast<Size>(text.size()) - 1;  // no character follows it
  double sum = 0, count = 0;
  const auto add = [&](const std::vector<Size>& starts, Size of_length) {
    if (starts.empty()) return;
    const Windows some = windows_at(text, starts, of_length);
    sum += cross_entropy(model(some.inputs), some.targets, {.reduce = Reduce::sum}).item();
    count += static_cast<double>(some.targets.count());
  };
  const Size characters = std::min(kCharactersAtOnce, kLogitsAtOnce / model.output.weight.size(0));
  const Size at_once = std::max<Size>(1, characters / length);
  std::vector<Size> starts;
  Size start = 0;
  for (; start + length <= last; start += every * length) {
    starts.push_back(start);
    if (static_cast<Size>(starts.size()) == at_once) {
      add(starts, length);
      starts.clear();
    }
  }
  add(starts, length);
  if (start < last) add({start}, last - start);
  return sum / count;
}

double loss_of_pairs(const CharCorpus& corpus) {
  constexpr double kMore = 0.1;
  const auto size = static_cast<std::size_t>(corpus.characters.size());
  std::vector<double> pairs(size * size, kMore), firsts(size, kMore * static_cast<double>(size));
  const auto at = [](const Ids& text, std::size_t i) { return static_cast<std::size_t>(text[i]); };
  for (std::size_t i = 0; i + 1 < corpus.train.size(); ++i) {
    pairs[at(corpus.train, i) * size + at(corpus.train, i + 1)] += 1;
    firsts[at(corpus.train, i)] += 1;
  }
  double loss = 0;
  for (std::size_t i = 0; i + 1 < corpus.valid.size(); ++i)
    loss -=
        std::log(pairs[at(corpus.valid, i) * size + at(corpus.valid, i + 1)] / firsts[at(corpus.valid, i)]);
  return loss / static_cast<double>(corpus.valid.size() - 1);
}

}  // namespace tapestry::kit
