#include "lessons/23_bert/text.hpp"

#include <algorithm>

#include "lessons/kit/tensors.hpp"

namespace tapestry::lesson23 {
namespace {

/// Appends /fr to a French word that is also an English word.
std::string french_name(const std::string& word, const Words& english) {
  return std::find(english.begin(), english.end(), word) == english.end() ? word : word + "/fr";
}

}  // namespace

Dictionary::Dictionary() {
  const Words english = kit::grammar_source_words();
  Words all = english;
  for (const std::string& word : kit::grammar_target_words()) all.push_back(french_name(word, english));
  all.emplace_back("[mask]");
  words = Vocabulary::of(all);
  mask = words.id("[mask]");
}

Row Dictionary::read(const Words& english, const Words& french) const {
  static const Words kEnglish = kit::grammar_source_words();
  Row row{{kStart}, {0}, {}};
  const auto add = [&](const Words& half, std::int64_t segment) {
    if (half.empty()) return;
    const Ids ids = words.encode_source(half);  // including <end>
    row.words.insert(row.words.end(), ids.begin(), ids.end());
    row.segments.resize(row.words.size(), segment);
  };
  Words named;
  for (const std::string& word : french) named.push_back(french_name(word, kEnglish));
  add(english, 0);
  add(named, 1);
  row.answers.assign(row.words.size(), kNone);
  return row;
}

std::string Dictionary::text(const Row& row) const {
  Words all;
  for (const std::int64_t id : row.words) all.push_back(words.word(id));
  return kit::join_words(all);
}

Batch batch_of(const std::vector<Row>& rows) {
  std::vector<Ids> words, segments;
  for (const Row& row : rows) {
    words.push_back(row.words);
    segments.push_back(row.segments);
  }
  const kit::Padded padded = kit::pad(words);
  Ids answers;
  for (const Row& row : rows) {
    answers.insert(answers.end(), row.answers.begin(), row.answers.end());
    answers.resize(answers.size() + static_cast<std::size_t>(padded.columns) - row.answers.size(), kNone);
  }
  return {kit::indices(padded), kit::indices(kit::pad(segments)),
          Indices(answers, {padded.rows, padded.columns}), kit::valid_lengths(padded)};
}

}  // namespace tapestry::lesson23
