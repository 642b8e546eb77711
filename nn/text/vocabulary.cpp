#include "nn/text/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/lines.hpp"

namespace tapestry {
namespace {

constexpr std::array<std::string_view, 4> kSpecials = {"<pad>", "<unk>", "<start>", "<end>"};
constexpr std::string_view kVocabularyHeader = "tapestry vocabulary 1";

bool is_special(std::string_view word) {
  return std::find(kSpecials.begin(), kSpecials.end(), word) != kSpecials.end();
}

}  // namespace

Vocabulary::Vocabulary() : words_(kSpecials.begin(), kSpecials.end()) {}

Vocabulary Vocabulary::build(const std::vector<Words>& sentences, Size at_least) {
  struct Entry {
    std::string_view word;
    Size count;
  };
  std::vector<Entry> entries;  // in order of first appearance
  std::unordered_map<std::string_view, std::size_t> place;
  for (const Words& sentence : sentences) {
    for (const std::string& word : sentence) {
      if (is_special(word)) continue;
      const auto [found, added] = place.emplace(word, entries.size());
      if (added) entries.push_back({word, 0});
      ++entries[found->second].count;
    }
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.count > b.count; });
  Words words;
  for (const Entry& entry : entries) {
    if (entry.count >= at_least) words.emplace_back(entry.word);
  }
  return of(words);
}

Vocabulary Vocabulary::of(const Words& words) {
  std::vector<std::string_view> lines(kSpecials.begin(), kSpecials.end());
  lines.insert(lines.begin(), kVocabularyHeader);
  lines.insert(lines.end(), words.begin(), words.end());
  return from_lines(lines, "vocabulary");
}

std::int64_t Vocabulary::id(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? kUnk : found->second;
}

const std::string& Vocabulary::word(std::int64_t id) const {
  if (id < 0 || id >= size()) {
    fail("word id {} is out of range: the vocabulary has {} words", id, size());
  }
  return words_[static_cast<std::size_t>(id)];
}

Ids Vocabulary::encode(const Words& words) const {
  Ids ids;
  ids.reserve(words.size() + 2);
  for (const std::string& word : words) ids.push_back(id(word));
  return ids;
}

Ids Vocabulary::encode_source(const Words& words) const {
  Ids ids = encode(words);
  ids.push_back(kEnd);
  return ids;
}

Ids Vocabulary::encode_target(const Words& words) const {
  Ids ids = encode_source(words);
  ids.insert(ids.begin(), kStart);
  return ids;
}

Words Vocabulary::decode(std::span<const std::int64_t> ids) const {
  Words words;
  for (const std::int64_t id : ids) {
    if (id == kEnd) break;
    if (id != kPad && id != kStart) words.push_back(word(id));
  }
  return words;
}

std::string Vocabulary::text() const {
  return fmt::format("{}\n{}\n", kVocabularyHeader, fmt::join(words_, "\n"));
}

Vocabulary Vocabulary::from_text(std::string_view text, std::string_view origin) {
  return from_lines(lines_of(text, origin), origin);
}

void Vocabulary::save(const std::filesystem::path& path) const { write_text(path, text()); }

Vocabulary Vocabulary::load(const std::filesystem::path& path) {
  return from_text(read_text(path), printable(path.native(), 500));
}

Vocabulary Vocabulary::from_lines(const std::vector<std::string_view>& lines, std::string_view origin) {
  if (lines.empty() || lines[0] != kVocabularyHeader)
    fail_in_line(origin, 1, "expected the line '{}'", kVocabularyHeader);
  Vocabulary vocabulary;
  for (std::size_t at = 1; at < std::max(lines.size(), kSpecials.size() + 1); ++at) {
    const std::size_t line = at + 1;
    if (at <= kSpecials.size()) {
      if (at >= lines.size() || lines[at] != kSpecials[at - 1])
        fail_in_line(origin, line, "expected the special word '{}'", kSpecials[at - 1]);
      continue;
    }
    check_line(lines[at], origin, line);
    std::string word(lines[at]);
    if (split_words(word) != Words{word})
      fail_in_line(origin, line, "a line must be one word, got '{}'", printable(word));
    if (is_special(word)) fail_in_line(origin, line, "the special word '{}' appears twice", word);
    if (!vocabulary.ids_.emplace(word, vocabulary.size()).second)
      fail_in_line(origin, line, "the word '{}' appears twice", printable(word));
    vocabulary.words_.push_back(std::move(word));
  }
  return vocabulary;
}

}  // namespace tapestry
