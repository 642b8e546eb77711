#include "nn/text/words.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tapestry {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

Words split_words(std::string_view line) {
  Words words;
  for (std::size_t at = 0; at < line.size();) {
    if (is_space(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !is_space(line[end])) ++end;
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string join_words(const Words& words) { return fmt::format("{}", fmt::join(words, " ")); }

}  // namespace tapestry
