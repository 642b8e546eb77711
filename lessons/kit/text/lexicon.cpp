// Lexicon of a language: the mapping between words, or subword pieces, and token ids.
#include "lessons/kit/text/lexicon.hpp"

#include <fmt/format.h>

#include <utility>

namespace tapestry::kit {

namespace {

constexpr const char* kMerges = " merges";  // suffix of the lexicon's name

}  // namespace

Lexicon Lexicon::learn(const std::vector<Words>& sentences, Size at_least, Size merges) {
  if (merges == 0) return Vocabulary::build(sentences, at_least);
  BytePairs byte_pairs = BytePairs::learn(sentences, {.merges = merges});
  std::vector<Words> pieces;
  pieces.reserve(sentences.size());
  for (const Words& sentence : sentences) pieces.push_back(byte_pairs.split(sentence));
  return {Vocabulary::build(pieces, at_least), std::move(byte_pairs)};
}

std::string Lexicon::text() const {
  const Size numbered = size() - Vocabulary().size();
  return fmt::format("{} {}", numbered, byte_pairs_ ? "pieces of words" : "words");
}

bool Lexicon::contains(const std::string& word) const {
  for (const std::string& piece : split({word}))
    if (!vocabulary_.contains(piece)) return false;
  return true;
}

Words Lexicon::split(const Words& words) const { return byte_pairs_ ? byte_pairs_->split(words) : words; }

Words Lexicon::join(const Words& pieces) const { return byte_pairs_ ? byte_pairs_->join(pieces) : pieces; }

std::vector<Size> Lexicon::places(const Words& pieces) const {
  std::vector<Size> places;
  for (auto end = pieces.begin(); end != pieces.end();)
    places.push_back(static_cast<Size>(join(Words(pieces.begin(), ++end)).size()) - 1);
  return places;
}

Words Lexicon::labels(const Words& words) const {
  Words labels;
  for (const std::string& word : words) {
    const Words pieces = split({word});
    for (const std::string& piece : pieces) labels.push_back(join({piece}).front() + "-");
    labels.back().pop_back();
  }
  return labels;
}

Words Lexicon::pieces(const Ids& ids) const {
  Words pieces;
  for (const std::int64_t id : ids) pieces.push_back(vocabulary_.word(id));
  return pieces;
}

void Lexicon::put(std::map<std::string, std::string>& texts, const std::string& name) const {
  texts[name] = vocabulary_.text();
  if (byte_pairs_) texts[name + kMerges] = byte_pairs_->text();
}

Lexicon Lexicon::from(const TrainingState& saved, const std::string& name, const std::string& origin) {
  Vocabulary vocabulary = Vocabulary::from_text(saved.text(name), origin);
  if (!saved.has(name + kMerges)) return vocabulary;
  return {std::move(vocabulary), BytePairs::from_text(saved.text(name + kMerges), origin)};
}

}  // namespace tapestry::kit
