// Byte-pair encoding: applying merges, and reading and writing them.
#include "nn/text/byte_pairs.hpp"

#include <cstddef>
#include <utility>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/lines.hpp"

namespace tapestry {
namespace {

constexpr std::string_view kHeader = "tapestry byte pairs 1";
constexpr std::string_view kMarker = "marker";
constexpr std::string_view kNames[] = {"last", "first"};  // as in MarkedPiece

bool is_character(std::string_view text) { return !text.empty() && utf8_length(text) == text.size(); }

}  // namespace

Words marked_characters(std::string_view word, MarkedPiece marked, std::string_view marker) {
  Words characters;
  while (!word.empty()) {
    const std::size_t length = utf8_length(word);
    if (length == 0)
      fail("[byte pairs] words must be UTF-8, got '{}'; save or convert the text as UTF-8", printable(word));
    characters.emplace_back(word.substr(0, length));
    word.remove_prefix(length);
  }
  if (characters.empty()) fail("[byte pairs] words must not be empty; split_words() returns none that are");
  if (marked == MarkedPiece::last)
    characters.back() += marker;
  else
    characters.front().insert(0, marker);
  return characters;
}

BytePairs::BytePairs(MarkedPiece marked, std::string marker) : marked_(marked), marker_(std::move(marker)) {
  if (!is_utf8(marker_) || split_words(marker_) != Words{marker_})
    fail("[byte pairs] the marker '{}' must be UTF-8, not empty and without white space", printable(marker_));
}

bool BytePairs::has_marker(std::string_view piece) const {
  if (piece.size() <= marker_.size()) return false;
  return marked_ == MarkedPiece::last ? piece.substr(piece.size() - marker_.size()) == marker_
                                      : piece.substr(0, marker_.size()) == marker_;
}

std::int64_t BytePairs::number_of(std::string_view piece) {
  const auto [found, added] = numbers_.emplace(std::string(piece), static_cast<std::int64_t>(pieces_.size()));
  if (added) pieces_.emplace_back(piece);
  return found->second;
}

bool BytePairs::add(std::string_view left, std::string_view right) {
  const auto known = [&](std::string_view piece) {
    if (numbers_.count(std::string(piece)) != 0) return true;
    if (has_marker(piece))
      return is_character(marked_ == MarkedPiece::last ? piece.substr(0, piece.size() - marker_.size())
                                                       : piece.substr(marker_.size()));
    return is_character(piece);
  };
  if (!known(left) || !known(right)) return false;
  if (has_marker(marked_ == MarkedPiece::last ? left : right)) return false;
  const std::string merged = std::string(left) + std::string(right);
  // The letters of a merged piece must not spell the marker, because join() would mistake them for it.
  const std::size_t inside = has_marker(marked_ == MarkedPiece::last ? right : left) ? marker_.size() : 0;
  const std::string_view letters = marked_ == MarkedPiece::last
                                       ? std::string_view(merged).substr(0, merged.size() - inside)
                                       : std::string_view(merged).substr(inside);
  if (letters.find(marker_) != letters.npos) return false;
  const std::int64_t a = number_of(left), b = number_of(right);
  if (!rules_.add(a, b, number_of(merged))) return false;
  merges_.push_back({std::string(left), std::string(right)});
  return true;
}

Words BytePairs::split(const Words& words) const {
  Words pieces;
  pieces.reserve(words.size() * 2);
  for (const std::string& word : words) split_word(pieces, word);
  return pieces;
}

void BytePairs::split_word(Words& pieces, const std::string& word) const {
  Words characters = marked_characters(word, marked_, marker_);
  std::vector<std::int64_t> numbers;
  numbers.reserve(characters.size());
  // A character that no merge contains gets the negative number -1 - index.
  for (const std::string& character : characters) {
    const auto found = numbers_.find(character);
    numbers.push_back(found == numbers_.end() ? -1 - static_cast<std::int64_t>(numbers.size())
                                              : found->second);
  }
  merge_pairs(numbers, rules_);
  for (const std::int64_t number : numbers)
    pieces.push_back(number < 0 ? std::move(characters[static_cast<std::size_t>(-1 - number)])
                                : pieces_[static_cast<std::size_t>(number)]);
}

Words BytePairs::join(const Words& pieces) const {
  Words words;
  bool inside = false;  // in a word that the next piece may continue
  for (const std::string& piece : pieces) {
    const bool mark = has_marker(piece);
    std::string_view letters = piece;
    if (mark && marked_ == MarkedPiece::last) letters.remove_suffix(marker_.size());
    if (mark && marked_ == MarkedPiece::first) letters.remove_prefix(marker_.size());
    if (!inside || (mark && marked_ == MarkedPiece::first)) words.emplace_back();
    words.back() += letters;
    inside = !(mark && marked_ == MarkedPiece::last);
  }
  return words;
}

std::string BytePairs::text() const {
  std::string text =
      fmt::format("{}\n{} {} {}\n", kHeader, kMarker, kNames[marked_ == MarkedPiece::first], marker_);
  for (const Merge& merge : merges_) text += merge.left + ' ' + merge.right + '\n';
  return text;
}

BytePairs BytePairs::from_text(std::string_view text, std::string_view origin) {
  const std::vector<std::string_view> lines = lines_of(text, origin);
  if (lines.empty() || lines[0] != kHeader) fail_in_line(origin, 1, "expected the line '{}'", kHeader);
  const Words marker = lines.size() < 2 ? Words{} : split_words(lines[1]);
  if (marker.size() != 3 || marker[0] != kMarker || (marker[1] != kNames[0] && marker[1] != kNames[1]))
    fail_in_line(origin, 2, "expected 'marker last …' or 'marker first …', where … is the marker");
  BytePairs result(marker[1] == kNames[0] ? MarkedPiece::last : MarkedPiece::first, marker[2]);
  for (std::size_t at = 2; at < lines.size(); ++at) {
    const Words pair = split_words(lines[at]);
    if (pair.size() != 2 || lines[at] != join_words(pair))
      fail_in_line(origin, at + 1, "a merge must be two pieces separated by one space, got '{}'",
                   printable(lines[at]));
    if (!result.add(pair[0], pair[1]))
      fail_in_line(
          origin, at + 1,
          "the merge '{}' is not valid here: it is a duplicate, or uses a piece that no earlier line "
          "makes, or puts the marker inside a word",
          printable(lines[at]));
  }
  return result;
}

void BytePairs::save(const std::filesystem::path& path) const { write_text(path, text()); }

BytePairs BytePairs::load(const std::filesystem::path& path) {
  return from_text(read_text(path), printable(path.native(), 500));
}

}  // namespace tapestry
