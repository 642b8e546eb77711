// The task of parts 1 and 2 of lesson 29: sentences with unknown names.
#include "lessons/29_pointer/sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace tapestry::lesson29 {
namespace {

using Ids = std::vector<std::int64_t>;
constexpr std::int64_t kAdjectives = 10, kNames = 1000;
constexpr std::uint64_t kDictionary = 3'000'000;  // a separate random stream

bool is_adjective(std::int64_t word) { return word < kFirstRead + kAdjectives; }

Ids draw_source(kit::Random& random, Size length) {
  Ids words;
  const std::int64_t sure = random.below(length);  // the position of one certain name
  for (Size j = 0; j < length; ++j)
    words.push_back(j == sure || random.chance(0.25) ? kFirstName + random.below(kNames)
                                                     : kFirstRead + random.below(kKnown));
  return words;
}

Ids translate(const Ids& source, const Ids& dictionary) {
  Ids order = source;
  for (std::size_t j = 0; j + 1 < order.size(); ++j)
    if (is_adjective(order[j]) && !is_adjective(order[j + 1])) {
      std::swap(order[j], order[j + 1]);
      ++j;  // a word that was moved is not moved again
    }
  for (std::int64_t& word : order)
    if (word < kFirstName) word = dictionary[static_cast<std::size_t>(word - kFirstRead)];
  return order;
}

/// Returns a copy with f applied to each id.
template <class F>
Indices each(const Indices& words, F f) {
  Ids ids = words.to_vector();
  std::transform(ids.begin(), ids.end(), ids.begin(), f);
  return Indices(ids, words.shape());
}

}  // namespace

Sentences draw_sentences(std::uint64_t seed, kit::Random random, Size count, Size length) {
  Ids dictionary(static_cast<std::size_t>(kKnown)), source, target;
  std::iota(dictionary.begin(), dictionary.end(), std::int64_t{0});
  kit::Random(seed, kDictionary).shuffle(dictionary);
  for (Size row = 0; row < count; ++row) {
    const Ids words = draw_source(random, length), translated = translate(words, dictionary);
    source.insert(source.end(), words.begin(), words.end());
    target.insert(target.end(), translated.begin(), translated.end());
  }
  return {Indices(source, {count, length}), Indices(target, {count, length})};
}

Indices as_read(const Indices& source) {
  return each(source, [](std::int64_t id) { return std::min(id - kFirstRead, kKnown); });
}

Indices as_written(const Indices& target) {
  return each(target, [](std::int64_t id) { return std::min(id, kUnknown); });
}

Mask names_of(const Indices& words) {
  const Ids ids = words.to_vector();
  const Size columns = words.shape()[1];
  return Mask::from(words.shape()[0], columns, [&](Size i, Size j) {
    return ids[static_cast<std::size_t>(i * columns + j)] >= kFirstName;
  });
}

std::string word_of(std::int64_t id) {
  if (id >= kFirstName) return fmt::format("Name{}", id - kFirstName);
  if (id >= kFirstRead) return fmt::format("{}{}", is_adjective(id) ? "a" : "w", id - kFirstRead);
  return id == kUnknown ? "<unk>" : fmt::format("W{}", id);
}

}  // namespace tapestry::lesson29
