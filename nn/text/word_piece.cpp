// WordPiece: reading a vocabulary, and splitting words greedily into the longest pieces.
#include "nn/text/word_piece.hpp"

#include <algorithm>
#include <cstddef>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/lines.hpp"
#include "nn/text/utf8.hpp"

namespace tapestry {
namespace {

constexpr std::string_view kFurther = "##";

}  // namespace

WordPiece WordPiece::load(const std::filesystem::path& vocabulary, const WordPieceOptions& options) {
  return from_text(read_text(vocabulary), printable(vocabulary.native(), 500), options);
}

WordPiece WordPiece::from_text(std::string_view text, std::string_view where,
                               const WordPieceOptions& options) {
  if (options.max_length < 2)
    fail("WordPiece: max_length must be at least 2, for [CLS] and [SEP], got {}", options.max_length);
  if (options.longest_word < 1)
    fail("WordPiece: longest_word must be at least 1, got {}", options.longest_word);
  WordPiece result;
  result.options_ = options;
  for (const std::string_view piece : lines_of(text, where)) {
    const std::size_t line = result.pieces_.size() + 1;
    if (piece.empty()) fail_in_line(where, line, "the line is empty; each line must be a piece");
    const bool further = piece.size() > kFurther.size() && piece.substr(0, kFurther.size()) == kFurther;
    Places& places = further ? result.further_ : result.first_;
    const std::string_view key = further ? piece.substr(kFurther.size()) : piece;
    if (!places.emplace(key, result.size()).second)
      fail_in_line(where, line, "the piece '{}' appears twice", printable(piece));
    result.longest_ = std::max(result.longest_, key.size());
    result.pieces_.emplace_back(piece);
  }
  const auto needed = [&](const char* special) {
    const auto found = result.id(special);
    if (!found) fail("{}: the line '{}' is missing; a BERT vocabulary must have it", where, special);
    return *found;
  };
  result.pad_ = needed("[PAD]");
  result.unknown_ = needed("[UNK]");
  result.begin_ = needed("[CLS]");
  result.end_ = needed("[SEP]");
  for (const char* special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (const auto found = result.id(special)) result.special_.push_back({code_points_of(special), *found});
  return result;
}

const std::string& WordPiece::piece(std::int64_t id) const {
  if (id < 0 || id >= size()) fail("piece {} is out of range: the vocabulary has {} pieces", id, size());
  return pieces_[static_cast<std::size_t>(id)];
}

std::optional<std::int64_t> WordPiece::id(std::string_view piece) const {
  const bool further = piece.size() > kFurther.size() && piece.substr(0, kFurther.size()) == kFurther;
  const Places& places = further ? further_ : first_;
  const auto found = places.find(further ? piece.substr(kFurther.size()) : piece);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

Ids WordPiece::encode(std::string_view text) const {
  Ids ids = pieces_of(text);
  const auto room = static_cast<std::size_t>(options_.max_length) - 2;
  if (ids.size() > room) ids.resize(room);
  ids.insert(ids.begin(), begin_);
  ids.push_back(end_);
  return ids;
}

Ids WordPiece::pieces_of(std::string_view text) const {
  const std::u32string points = code_points_of(text, "the text to encode");
  const std::u32string_view all = points;
  Ids ids;
  std::size_t plain = 0;  // start of the text after the last special token
  for (std::size_t at = options_.specials_in_text ? all.find(U'[') : all.npos; at != all.npos;
       at = all.find(U'[', at)) {
    const auto special = std::find_if(special_.begin(), special_.end(), [&](const Special& one) {
      return all.substr(at, one.text.size()) == one.text;
    });
    if (special == special_.end()) {
      ++at;
      continue;
    }
    add_plain(ids, all.substr(plain, at - plain));
    ids.push_back(special->id);
    at += special->text.size();
    plain = at;
  }
  add_plain(ids, all.substr(plain));
  return ids;
}

void WordPiece::add_plain(Ids& ids, std::u32string_view text) const {
  const std::u32string cleaned = bert_cleaned(text, options_.text);
  for (const std::u32string_view word : bert_words(cleaned)) add_word(ids, word);
}

void WordPiece::add_word(Ids& ids, std::u32string_view word) const {
  const std::size_t before = ids.size();
  const auto give_up = [&] {
    ids.resize(before);
    ids.push_back(unknown_);
  };
  if (word.size() > static_cast<std::size_t>(options_.longest_word)) return give_up();
  const std::string text = utf8_of(word);
  for (std::size_t begin = 0; begin < text.size();) {
    const Places& places = begin == 0 ? first_ : further_;
    std::size_t length = std::min(text.size() - begin, longest_);
    auto found = places.end();
    // A length that ends inside a character finds nothing, because pieces consist of whole characters.
    for (; length > 0; --length) {
      found = places.find(std::string_view(text).substr(begin, length));
      if (found != places.end()) break;
    }
    if (length == 0) return give_up();
    ids.push_back(found->second);
    begin += length;
  }
}

}  // namespace tapestry
