#include "nn/text/utf8_stream.hpp"

#include <algorithm>
#include <cstddef>

#include "core/io/text.hpp"

namespace tapestry {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

/// Returns true if some bytes after `part` would make it a character. The second byte of a character has a lower or
/// an upper limit, never both, so one of the two continuations fits.
bool can_continue(std::string_view part) {
  const std::string text(part);
  return utf8_length(text + "\x80\x80\x80") > part.size() || utf8_length(text + "\xBF\xBF\xBF") > part.size();
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  const std::string all = kept_ + std::string(bytes);
  std::string characters;
  std::string_view rest = all;
  while (!rest.empty()) {
    std::size_t length = utf8_length(rest);
    if (length != 0) {
      characters += rest.substr(0, length);
    } else {
      length = 1;
      if (can_continue(rest.substr(0, 1)))
        while (length < rest.size() && can_continue(rest.substr(0, length + 1))) ++length;
      if (length == rest.size() && can_continue(rest)) break;
      characters += kReplacement;
    }
    rest.remove_prefix(length);
  }
  kept_ = rest;
  return characters;
}

std::string Utf8Stream::finish() {
  const bool incomplete = !kept_.empty();
  kept_.clear();
  return std::string(incomplete ? kReplacement : "");
}

}  // namespace tapestry
