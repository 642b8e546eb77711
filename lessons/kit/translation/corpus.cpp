#include "lessons/kit/translation/corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "lessons/kit/program/usage_error.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/text/long_lines.hpp"

namespace tapestry::kit {

std::string Corpus::text() const {
  std::string text = fmt::format("{} sentence pairs for training; vocabularies of {} and {}", train.size(),
                                 source.text(), target.text());
  for (const std::string& note : notes) text += "\n  " + note;
  return text;
}

namespace {

constexpr const char* kParts[] = {"train", "val", "test_2016_flickr"};

/// Removes the pairs with a side that is too long, and their line numbers, and counts them in `left_out`. `paths` are
/// the files of source and target. `is_too_long` takes a sentence and true for a target.
template <class TooLong>
void leave_out(ParallelText& text, std::vector<std::size_t>& lines, const std::string (&paths)[2],
               LongLines& left_out, const TooLong& is_too_long) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool source = is_too_long(text.source[i], false);
    if (source || is_too_long(text.target[i], true)) {
      left_out.add(paths[source ? 0 : 1], lines[i]);
      continue;
    }
    if (kept != i) {
      text.source[kept] = std::move(text.source[i]);
      text.target[kept] = std::move(text.target[i]);
      lines[kept] = lines[i];
    }
    ++kept;
  }
  text.source.resize(kept);
  text.target.resize(kept);
  lines.resize(kept);
}

void note(std::vector<std::string>& notes, std::string what) {
  if (!what.empty()) notes.push_back(std::move(what));
}

}  // namespace

void expect_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to) {
  for (const char* part : kParts)
    for (const std::string& language : {from, to}) {
      const std::string name = fmt::format("{}.{}", part, language);
      if (!std::filesystem::exists(folder / name))
        throw UsageError(
            fmt::format("'{}' must hold Multi30k, but {} is missing; it needs train, val and "
                        "test_2016_flickr, each as .{} and .{}",
                        folder.string(), name, from, to));
    }
}

Corpus read_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to,
                     const CorpusOptions& options) {
  ParallelText train = read_parallel(folder, kParts[0], from, to);
  const std::string paths[] = {(folder / fmt::format("{}.{}", kParts[0], from)).string(),
                               (folder / fmt::format("{}.{}", kParts[0], to)).string()};
  Corpus corpus;
  LongLines left_out;
  std::vector<std::size_t> lines(train.source.size());  // line number of each pair
  std::iota(lines.begin(), lines.end(), std::size_t{1});
  // First by words, so that byte pairs are not learned from huge words.
  leave_out(train, lines, paths, left_out, [](const Words& sentence, bool) { return too_long(sentence); });
  corpus.source = Lexicon::learn(train.source, options.at_least, options.merges);
  corpus.target = Lexicon::learn(train.target, options.at_least, options.merges);
  leave_out(train, lines, paths, left_out, [&](const Words& sentence, bool target) {
    return too_long(target ? corpus.target : corpus.source, sentence);
  });
  if (train.source.empty())
    throw UsageError(left_out.text("no pair is left for training; each line must be one sentence"));
  corpus.train = encode_pairs(with_joined(train, options.joined), corpus.source, corpus.target);
  // Joined sentences may exceed the limit again.
  corpus.train.erase(std::remove_if(corpus.train.begin(), corpus.train.end(),
                                    [](const Pair& pair) {
                                      return std::max(pair.source.size() + 1, pair.target.size()) >
                                             static_cast<std::size_t>(kMostPieces) + 2;
                                    }),
                     corpus.train.end());
  note(corpus.notes, left_out.text("left out of the training set, with the translation"));
  for (const auto& [text, part] : {std::pair(&corpus.valid, kParts[1]), {&corpus.test, kParts[2]}}) {
    *text = read_parallel(folder, part, from, to);
    text->source.resize(std::min(text->source.size(), options.most_tests));
    text->target.resize(text->source.size());
    LongLines cut;
    for (std::size_t i = 0; i < text->source.size(); ++i)
      if (too_long(corpus.source, text->source[i]))
        cut.add((folder / fmt::format("{}.{}", part, from)).string(), i + 1);
    note(corpus.notes, cut.text(kOnlyTheFirst));
  }
  return corpus;
}

namespace {

/// Converts weights of pieces into weights of words. The pieces of a source word share its attention, so their weights
/// are summed. Each piece of a target word has its own distribution, so these are averaged. Padding has weight 0; only
/// the sentence and its <end> are kept.
std::vector<std::vector<double>> over_words(const std::vector<std::vector<double>>& weights,
                                            const std::vector<Size>& written, const std::vector<Size>& read) {
  const auto count = [](const std::vector<Size>& places) {
    return places.empty() ? std::size_t{0} : static_cast<std::size_t>(places.back()) + 1;
  };
  const std::size_t words = count(read);
  std::vector<std::vector<double>> sums(count(written), std::vector<double>(words + 1));
  std::vector<double> looks(sums.size());
  for (std::size_t row = 0; row < written.size(); ++row) {
    const auto word = static_cast<std::size_t>(written[row]);
    for (std::size_t column = 0; column < read.size(); ++column)
      sums[word][static_cast<std::size_t>(read[column])] += weights.at(row).at(column);
    sums[word].back() += weights[row].at(read.size());
    ++looks[word];
  }
  for (std::size_t word = 0; word < sums.size(); ++word)
    for (double& weight : sums[word]) weight /= looks[word];
  return sums;
}

}  // namespace

std::vector<Translation> translate(SequenceModel& model, const Lexicon& source, const Lexicon& target,
                                   const std::vector<Words>& sentences, const TranslateOptions& options) {
  const Evaluating evaluating(model);
  std::vector<Translation> results(sentences.size());
  std::vector<Words> read(sentences.size());  // words or pieces
  std::vector<Pair> pairs;
  std::vector<std::size_t> places;  // sentence index of each pair
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].empty()) continue;
    read[i] = first_pieces(source, sentences[i]);
    results[i].source = source.join(read[i]);
    pairs.push_back({source.vocabulary().encode_source(read[i]), {kStart, kEnd}});
    places.push_back(i);
  }
  for (const Batch& batch : batches_in_order(pairs, options.batch)) {
    const auto search = model.begin(indices(batch.source), valid_lengths(batch.source));
    const SearchOptions how{.begin = kStart,
                            .end = kEnd,
                            .max_length = options.max_length,
                            .beam = options.beam,
                            .length_power = options.length_power};
    std::vector<Decoded> found = options.beam == 1 ? greedy(*search, how) : beam_search(*search, how);
    for (std::size_t row = 0; row < found.size(); ++row) {
      const std::size_t at = places[static_cast<std::size_t>(batch.pairs[row])];
      Translation& result = results[at];
      const Words pieces = target.pieces(found[row].ids);
      result.words = target.join(pieces);
      result.cut_off = !found[row].ended;
      if (!found[row].alignment.empty())
        result.alignment = over_words(found[row].alignment, target.places(pieces), source.places(read[at]));
    }
  }
  return results;
}

std::vector<Words> words_of(const std::vector<Translation>& translations) {
  std::vector<Words> words;
  for (const Translation& translation : translations) words.push_back(translation.words);
  return words;
}

double exact_match(const std::vector<Words>& written, const std::vector<Words>& wanted) {
  Size exact = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) exact += written.at(i) == wanted[i];
  return wanted.empty() ? 0 : 100.0 * static_cast<double>(exact) / static_cast<double>(wanted.size());
}

Heatmap alignment_picture(const Translation& translation, const std::string& title) {
  Heatmap map;
  map.title = title;
  map.columns = translation.source;
  map.columns.push_back("<end>");
  map.rows = translation.words;
  for (const std::vector<double>& weights : translation.alignment)
    map.values.insert(map.values.end(), weights.begin(), weights.end());
  return map;
}

Size looked_at(const Translation& translation, Size word) {
  const std::vector<double>& weights = translation.alignment.at(static_cast<std::size_t>(word));
  return std::max_element(weights.begin(), weights.end()) - weights.begin();
}

std::vector<Size> crossings(const Translation& translation) {
  std::vector<Size> places;
  const auto words = static_cast<Size>(translation.alignment.size());
  for (Size j = 0; j + 1 < words; ++j)
    if (looked_at(translation, j) == looked_at(translation, j + 1) + 1) places.push_back(j);
  return places;
}

}  // namespace tapestry::kit
