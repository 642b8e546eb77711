#include "lessons/kit/translation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lessons/kit/tensors.hpp"
#include "lessons/kit/usage_error.hpp"

namespace tapestry::kit {

std::string Corpus::text() const {
  return fmt::format("{} pairs to train on, dictionaries of {} and {}", train.size(), source.text(),
                     target.text());
}

void expect_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to) {
  for (const char* part : {"train", "val", "test_2016_flickr"})
    for (const std::string& language : {from, to}) {
      const std::string name = fmt::format("{}.{}", part, language);
      if (!std::filesystem::exists(folder / name))
        throw UsageError(
            fmt::format("'{}' does not hold Multi30k, {} is missing: it takes train, val and "
                        "test_2016_flickr, each as .{} and .{}",
                        folder.string(), name, from, to));
    }
}

Corpus read_multi30k(const std::filesystem::path& folder, const std::string& from, const std::string& to,
                     const CorpusOptions& options) {
  const ParallelText train = read_parallel(folder, "train", from, to);
  Corpus corpus;
  corpus.source = Lexicon::learn(train.source, options.at_least, options.merges);
  corpus.target = Lexicon::learn(train.target, options.at_least, options.merges);
  corpus.train = encode_pairs(with_joined(train, options.joined), corpus.source, corpus.target);
  corpus.valid = read_parallel(folder, "val", from, to);
  corpus.test = read_parallel(folder, "test_2016_flickr", from, to);
  for (std::vector<Words>* side :
       {&corpus.valid.source, &corpus.valid.target, &corpus.test.source, &corpus.test.target})
    side->resize(std::min(side->size(), options.most_tests));
  return corpus;
}

namespace {

/// Weights of pieces as weights of words: summed over the pieces of a word that was read, since they share
/// what is looked at; the mean over the pieces of a word that was written, since each had its own look.
/// Weights in padding are 0: only the sentence and its end are of interest.
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
  std::vector<Pair> pairs;
  for (const Words& sentence : sentences) pairs.push_back({source.encode_source(sentence), {kStart, kEnd}});
  std::vector<Translation> results(sentences.size());
  for (const Batch& batch : batches_in_order(pairs, options.batch)) {
    const auto search = model.begin(indices(batch.source), valid_lengths(batch.source));
    const SearchOptions how{.begin = kStart,
                            .end = kEnd,
                            .max_length = options.max_length,
                            .beam = options.beam,
                            .length_power = options.length_power};
    std::vector<Decoded> found = options.beam == 1 ? greedy(*search, how) : beam_search(*search, how);
    for (std::size_t row = 0; row < found.size(); ++row) {
      const auto at = static_cast<std::size_t>(batch.pairs[row]);
      Translation& result = results[at];
      result.source = sentences[at];
      const Words pieces = target.pieces(found[row].ids);
      result.words = target.join(pieces);
      if (!found[row].alignment.empty())
        result.alignment = over_words(found[row].alignment, target.places(pieces),
                                      source.places(source.split(sentences[at])));
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
