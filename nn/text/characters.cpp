#include "nn/text/characters.hpp"

#include <set>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/utf8.hpp"

namespace tapestry {

Characters Characters::of(std::string_view text) {
  const std::u32string points = code_points_of(text, "the text of the alphabet");
  Characters result;
  for (const char32_t point : std::set<char32_t>(points.begin(), points.end())) {
    result.ids_.emplace(point, result.size());
    result.points_ += point;
  }
  return result;
}

std::string Characters::alphabet() const { return utf8_of(points_); }

Ids Characters::encode(std::string_view text) const {
  const std::u32string points = code_points_of(text, "the text to encode");
  Ids ids;
  ids.reserve(points.size());
  for (const char32_t point : points) {
    const auto found = ids_.find(point);
    if (found == ids_.end())
      fail("character {} of the text, '{}' (U+{:04X}), is not among the alphabet's {}", ids.size() + 1,
           printable(utf8_of({&point, 1})), static_cast<unsigned>(point), size());
    ids.push_back(found->second);
  }
  return ids;
}

std::string Characters::decode(std::span<const std::int64_t> ids) const {
  std::string text;
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= size()) fail("character id {} is out of range: the alphabet has {}", id, size());
    append_utf8(text, points_[static_cast<std::size_t>(id)]);
  }
  return text;
}

}  // namespace tapestry
