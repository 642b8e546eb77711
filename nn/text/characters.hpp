// The character tokenizer: characters to ids and back, without loss.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/simd/view.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// An alphabet of Unicode characters (code points), numbered from 0 in increasing order.
/// decode(encode(text)) == text.
class Characters {
 public:
  /// Makes an alphabet of every character in `text`, including white space and line ends.
  /// Characters::of(c.alphabet()) == c. Throws Error if the text is not UTF-8.
  static Characters of(std::string_view text);

  /// Number of characters.
  Size size() const { return static_cast<Size>(points_.size()); }
  /// Returns all characters in the order of their ids, as UTF-8. Save this to restore the alphabet.
  std::string alphabet() const;
  /// Returns true if the alphabet has this character.
  bool contains(char32_t point) const { return ids_.count(point) != 0; }

  /// Returns an id for each character. Throws Error with the position of a character that is not in the
  /// alphabet, or if the text is not UTF-8.
  Ids encode(std::string_view text) const;
  /// Returns the text of ids. Throws Error for an id that is out of range.
  std::string decode(std::span<const std::int64_t> ids) const;

  bool operator==(const Characters& other) const { return points_ == other.points_; }

 private:
  std::u32string points_;
  std::map<char32_t, std::int64_t> ids_;
};

}  // namespace tapestry
