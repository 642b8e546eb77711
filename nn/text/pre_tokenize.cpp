// Pre-tokenizers of byte-level BPE: the patterns as hand-written matchers over character classes.
#include "nn/text/pre_tokenize.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/io/text.hpp"
#include "core/tensor/error.hpp"
#include "nn/text/unicode.hpp"
#include "nn/text/utf8.hpp"

namespace tapestry {
namespace {

using enum CharacterClass;

struct Character {
  char32_t point;  // kInvalid for a byte that is not part of a character
  CharacterClass kind;
  std::size_t at;  // index of its first byte
};

constexpr char32_t kInvalid = 0xFFFFFFFF;

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const char32_t point = length == 0 ? kInvalid : first_code_point(text.substr(at));
    characters.push_back({point, character_class(point), at});
    at += std::max<std::size_t>(length, 1);
  }
  return characters;
}

/// Matches a pattern at an index `at` of a part of the text. Each function returns the index after its match,
/// or `at` if there is none.
class Matcher {
 public:
  Matcher(const std::vector<Character>& text, std::size_t end) : text_(text), end_(end) {}

  std::size_t gpt2(std::size_t at) const {
    for (const std::size_t after : {contraction(at, false), after_space(at, letter), after_space(at, number),
                                    after_space(at, other), spaces(at)})
      if (after != at) return after;
    return at + 1;
  }

  std::size_t llama3(std::size_t at, std::size_t digits) const {
    for (const std::size_t after : {contraction(at, true), letters(at), run(at, number, digits),
                                    punctuation(at), line_ends(at), spaces(at)})
      if (after != at) return after;
    return at + 1;
  }

 private:
  bool is(std::size_t at, CharacterClass kind) const { return at < end_ && text_[at].kind == kind; }
  bool is(std::size_t at, char32_t point) const { return at < end_ && text_[at].point == point; }
  bool is_line_end(std::size_t at) const { return is(at, U'\r') || is(at, U'\n'); }

  std::size_t run(std::size_t at, CharacterClass kind, std::size_t longest = std::size_t(-1)) const {
    const std::size_t limit = longest < end_ - at ? at + longest : end_;
    while (at < limit && text_[at].kind == kind) ++at;
    return at;
  }

  /// 's|'t|'re|'ve|'m|'ll|'d
  std::size_t contraction(std::size_t at, bool ignore_case) const {
    if (!is(at, U'\'')) return at;
    const auto has = [&](std::size_t i, char32_t small) {
      if (is(i, small)) return true;
      // Without regard to case, U+017F (the long s) equals s.
      return ignore_case && (is(i, small - U'a' + U'A') || (small == U's' && is(i, char32_t{0x17F})));
    };
    for (const char32_t one : {U's', U't', U'm', U'd'})
      if (has(at + 1, one)) return at + 2;
    using Two = std::array<char32_t, 2>;
    for (const Two two : {Two{U'r', U'e'}, Two{U'v', U'e'}, Two{U'l', U'l'}})
      if (has(at + 1, two[0]) && has(at + 2, two[1])) return at + 3;
    return at;
  }

  /// " ?" and one or more characters of a class.
  std::size_t after_space(std::size_t at, CharacterClass kind) const {
    const std::size_t first = is(at, U' ') ? at + 1 : at;
    return is(first, kind) ? run(first, kind) : at;
  }

  /// [^\r\n\p{L}\p{N}]?\p{L}+
  std::size_t letters(std::size_t at) const {
    if (is(at, letter)) return run(at, letter);
    if (is(at, number) || is_line_end(at) || !is(at + 1, letter)) return at;
    return run(at + 1, letter);
  }

  ///  ?[^\s\p{L}\p{N}]+[\r\n]*
  std::size_t punctuation(std::size_t at) const {
    std::size_t after = after_space(at, other);
    if (after != at)
      while (is_line_end(after)) ++after;
    return after;
  }

  /// \s*[\r\n]+
  std::size_t line_ends(std::size_t at) const {
    std::size_t after = run(at, space);
    while (after > at && !is_line_end(after - 1)) --after;
    return after;
  }

  /// \s+(?!\S)|\s+: white space without its last character if a word follows.
  std::size_t spaces(std::size_t at) const {
    const std::size_t after = run(at, space);
    return after < end_ && after - at > 1 ? after - 1 : after;
  }

  const std::vector<Character>& text_;
  std::size_t end_;
};

struct Name {
  std::string_view name;
  PreTokenizer kind;
};
constexpr Name kPreTokenizers[] = {{"gpt-2", PreTokenizer::gpt2},
                                   {"default", PreTokenizer::gpt2},
                                   {"smollm", PreTokenizer::smollm},
                                   {"llama-bpe", PreTokenizer::llama3},
                                   {"qwen2", PreTokenizer::qwen2}};

}  // namespace

PreTokenizer pre_tokenizer_of(std::string_view name) {
  std::string known;
  for (const Name& one : kPreTokenizers) {
    if (one.name == name) return one.kind;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  fail("[byte level] the pre-tokenizer must be one of {}, got '{}'; use a model that has one of these", known,
       printable(name));
}

std::vector<std::string_view> pre_tokens(std::string_view text, PreTokenizer kind) {
  const std::vector<Character> characters = characters_of(text);
  std::vector<std::string_view> words;
  std::size_t part_end = 0;  // end of the part of the text that the pattern sees
  for (std::size_t at = 0; at < characters.size();) {
    std::size_t after = at + 1;
    if (kind == PreTokenizer::smollm) {
      const bool digit = characters[at].kind == number;
      if (at >= part_end)
        for (part_end = at + 1; !digit && part_end < characters.size(); ++part_end)
          if (characters[part_end].kind == number) break;
      if (!digit) after = Matcher(characters, part_end).gpt2(at);
    } else if (kind == PreTokenizer::gpt2) {
      after = Matcher(characters, characters.size()).gpt2(at);
    } else {
      after = Matcher(characters, characters.size()).llama3(at, kind == PreTokenizer::llama3 ? 3 : 1);
    }
    const std::size_t begin = characters[at].at;
    const std::size_t end = after < characters.size() ? characters[after].at : text.size();
    words.push_back(text.substr(begin, end - begin));
    at = after;
  }
  return words;
}

}  // namespace tapestry
