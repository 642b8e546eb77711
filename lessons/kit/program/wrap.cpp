// Word wrap for terminals.
#include "lessons/kit/program/wrap.hpp"

#include <algorithm>
#include <utility>

#include "core/io/text.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {

namespace {

/// Returns the number of bytes of the first character of `text`, or 0 if the character is incomplete. An invalid UTF-8
/// byte counts as a character.
std::size_t character_bytes(std::string_view text) {
  if (const std::size_t bytes = utf8_length(text)) return bytes;
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t wanted = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
  return text.size() < wanted ? 0 : 1;
}

}  // namespace

std::string Wrap::operator()(std::string_view piece, int columns) {
  const std::string text = std::exchange(rest_, {}) + std::string(piece);
  std::string_view left = text;
  while (!left.empty()) {
    const std::size_t bytes = character_bytes(left);
    if (bytes == 0) break;
    take(left.substr(0, bytes), columns);
    left.remove_prefix(bytes);
  }
  rest_ = left;
  place_word(columns);
  return std::exchange(out_, {});
}

void Wrap::take(std::string_view character, int columns) {
  const char c = character[0];
  if (escape_ > 0) {
    word_ += character;
    const bool ends = escape_ == 1 ? c != '[' : c >= '@' && c <= '~';
    escape_ = ends ? 0 : 2;
  } else if (c == '\x1b') {
    word_ += c;
    escape_ = 1;
  } else if (c == '\n' || c == '\r') {
    place_word(columns);
    if (column_ + static_cast<int>(blanks_.size()) <= columns) out_ += blanks_;
    out_ += c;
    blanks_.clear();
    column_ = 0;
    indent_ = -1;
    row_ = false;
  } else if (c == ' ') {
    place_word(columns);
    blanks_ += c;
  } else {
    word_ += character;
    word_width_ += std::max(display_width(character), character.size() == 1 && c < ' ' ? 1 : 0);
  }
}

void Wrap::next_row(int columns) {
  out_ += '\n';
  column_ = std::min(std::max(indent_, 0) + 2, columns / 4);
  out_.append(static_cast<std::size_t>(column_), ' ');
  row_ = false;
}

void Wrap::place_word(int columns) {
  if (word_.empty()) return;
  const std::string word = std::exchange(word_, {});
  const int width = std::exchange(word_width_, 0), blanks = static_cast<int>(blanks_.size());
  if (indent_ < 0 && width > 0) indent_ = std::min(column_ + blanks, columns / 2);
  if (column_ + blanks + width <= columns) {
    out_ += blanks_ + word;
    column_ += blanks + width;
  } else {
    if (row_) {
      next_row(columns);
    } else {  // a word that does not fit after the leading blanks of the line
      out_.append(static_cast<std::size_t>(indent_), ' ');
      column_ += indent_;
    }
    for (std::string_view left = word; !left.empty();) {
      const std::size_t bytes = std::max<std::size_t>(1, character_bytes(left));
      const int wide = display_width(left.substr(0, bytes));
      if (column_ + wide > columns) next_row(columns);
      out_ += left.substr(0, bytes);
      column_ += wide;
      left.remove_prefix(bytes);
    }
  }
  blanks_.clear();
  row_ = row_ || width > 0;
}

}  // namespace tapestry::kit
