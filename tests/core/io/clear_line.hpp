// The form of the messages that refuse a damaged file.
#pragma once

#include <algorithm>
#include <string>

#include "core/io/text.hpp"

namespace tapestry::test {

inline bool is_one_clear_line(const std::string& message) {
  return message.find("'some/file': ") == 0 && message.size() < 500 && is_utf8(message) &&
         std::none_of(message.begin(), message.end(), [](char c) { return c >= 0 && c < 32; });
}

}  // namespace tapestry::test
