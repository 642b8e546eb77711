// Length limits for sentences, truncation to them, and a note about the lines that exceed them.
#include "lessons/kit/text/long_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/io/text.hpp"

namespace tapestry::kit {
namespace {

constexpr auto kMost = static_cast<std::size_t>(kMostPieces);

/// Returns the first kMostBytesInWord bytes of a word, rounded up to a whole character.
std::string beginning(const std::string& word) {
  std::string_view rest = word;
  while (word.size() - rest.size() < kMostBytesInWord)
    rest.remove_prefix(std::max<std::size_t>(1, utf8_length(rest)));
  return word.substr(0, word.size() - rest.size());
}

}  // namespace

bool too_long(const Words& sentence) {
  return sentence.size() > kMost ||
         std::any_of(sentence.begin(), sentence.end(),
                     [](const std::string& word) { return word.size() > kMostBytesInWord; });
}

bool too_long(const Lexicon& lexicon, const Words& sentence) {
  return too_long(sentence) || lexicon.split(sentence).size() > kMost;
}

Words first_pieces(const Lexicon& lexicon, const Words& sentence) {
  Words words = sentence;
  words.resize(std::min(words.size(), kMost));
  for (std::string& word : words)
    if (word.size() > kMostBytesInWord) word = beginning(word);
  Words pieces = lexicon.split(words);
  pieces.resize(std::min(pieces.size(), kMost));
  return pieces;
}

void LongLines::add(std::string_view origin, std::size_t line) {
  if (count_++ == 0) first_ = fmt::format("{}:{}", origin, line);
}

std::string LongLines::text(std::string_view what_was_done) const {
  if (count_ == 0) return {};
  const std::string which = count_ == 1   ? first_ + " has"
                            : count_ == 2 ? first_ + " and 1 more line have"
                                          : fmt::format("{} and {} more lines have", first_, count_ - 1);
  return fmt::format("{} more than {} words or pieces, or one word of more than {} bytes: {}", which,
                     kMostPieces, kMostBytesInWord, what_was_done);
}

}  // namespace tapestry::kit
