// Characters to ids and back: the simplest tokenizer, which loses nothing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/simd/view.hpp"
#include "nn/text/words.hpp"

namespace tapestry {

/// An alphabet of Unicode's characters (code points), numbered from 0 in their order.
/// decode(encode(text)) == text.
class Characters {
 public:
  /// Every character that occurs in `text`, white space and line ends too. The alphabet() of another one
  /// gives that one again. Throws Error if the text is no UTF-8.
  static Characters of(std::string_view text);

  Size size() const { return static_cast<Size>(points_.size()); }
  /// All characters, in the order of their ids, as UTF-8: what to save.
  std::string alphabet() const;
  /// Whether the alphabet has this character.
  bool contains(char32_t point) const { return ids_.count(point) != 0; }

  /// An id for each character. Throws Error for one that the alphabet lacks, with its place, and if the text
  /// is no UTF-8.
  Ids encode(std::string_view text) const;
  /// Throws Error for an id that is out of range.
  std::string decode(std::span<const std::int64_t> ids) const;

  bool operator==(const Characters& other) const { return points_ == other.points_; }

 private:
  std::u32string points_;
  std::map<char32_t, std::int64_t> ids_;
};

}  // namespace tapestry
