// Sentences as words: what stands between white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A sentence as its words, or as pieces of words.
using Words = std::vector<std::string>;
/// The same as numbers.
using Ids = std::vector<std::int64_t>;

/// The words of `line`: what stands between spaces, tabs and other ASCII white space.
Words split_words(std::string_view line);
/// The words with one space between them.
std::string join_words(const Words& words);

}  // namespace tapestry
