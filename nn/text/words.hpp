// Splitting a sentence into words at white space, and joining words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapestry {

/// A sentence as a list of words or of pieces of words.
using Words = std::vector<std::string>;
/// A sentence as a list of ids.
using Ids = std::vector<std::int64_t>;

/// Splits a line into words at spaces, tabs and other ASCII white space.
Words split_words(std::string_view line);
/// Joins words with one space between them.
std::string join_words(const Words& words);

}  // namespace tapestry
