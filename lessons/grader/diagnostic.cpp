#include "lessons/grader/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/io/text.hpp"

namespace tapestry::grader {

namespace {

/// A pattern has literal text and: '*', any text; '$word', letters, digits and underscores; '$type', text without quotes;
/// '$args', text up to a closing bracket and quote. Its sentence has $1, $2 … for the pattern's words in turn.
struct Known {
  const char* pattern;  // of the compiler's message in the C locale, which has ' for all quotes
  const char* sentence;
};

constexpr Known kKnownErrors[] = {
    {"expected ';'*", "A semicolon is missing, here or at the end of the line before."},
    {"expected ','*", "A comma, a semicolon or a closing bracket is missing, here or just before."},
    {"expected ')'*", "A comma, a semicolon or a closing bracket is missing, here or just before."},
    {"expected '}'*", "A closing brace } is missing."},
    {"expected primary-expression*", "Something is missing here: an operand, or a bracket too many."},
    {"expected expression*", "Something is missing here: an operand, or a bracket too many."},
    {"'$word' was not declared in this scope; did you mean '$word'?",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {"use of undeclared identifier '$word'; did you mean '$word'?",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {"'$word' was not declared in this scope*", "\"$1\" is not known here: look at how it is spelt."},
    {"use of undeclared identifier '$word'*", "\"$1\" is not known here: look at how it is spelt."},
    {"no return statement in function returning non-void*",
     "This function returns nothing: a \"return\" is missing."},
    {"control reaches end of non-void function*",
     "There is a way through this function without a \"return\"."},
    {"non-void function does not return a value*",
     "There is a way through this function without a \"return\"."},
    {"no matching function for call to '$word($args)'*",
     "\"$1\" does not take these arguments: ($2). Look at their number, order and types."},
    {"no matching function for call to '$word'*",
     "\"$1\" does not take these arguments. Look at their number, order and types."},
    {"too few arguments to function *", "An argument is missing in this call."},
    {"too many arguments to function *", "There is an argument too many in this call."},
    {"*has no member named '$word'*", "There is no \".$1\" here: perhaps it is a function, $1(x)."},
    {"no member named '$word' in *", "There is no \".$1\" here: perhaps it is a function, $1(x)."},
    {"could not convert '*' from '$type'* to '$type'*", "This is a $1, and a $2 is wanted."},
    {"cannot convert '$type'* to '$type'*", "This is a $1, and a $2 is wanted."},
    {"no viable conversion from returned value of type '$type' to *'$type'*",
     "This is a $1, and a $2 is wanted."},
    {"no viable conversion from '$type' to *'$type'*", "This is a $1, and a $2 is wanted."},
    {"narrowing conversion of * from '$type' to '$type'*",
     "A $1 does not fit a $2 by itself here: write static_cast<$2>(…)."},
    {"passing '*' as 'this' argument discards qualifiers*", "This would change something that is const."},
    {"assignment of read-only*", "This is const and cannot be changed: make a new value instead."},
    {"assignment of member*", "This is const and cannot be changed: make a new value instead."},
    {"call of overloaded '$word(*' is ambiguous*",
     "The library has a function \"$1\", too: give yours another name."},
    {"call to '$word' is ambiguous*", "The library has a function \"$1\", too: give yours another name."},
    {"redefinition of '$type'*", "\"$1\" is defined twice."},
    {"no match for 'operator$type' (operand types are '$type'* and '$type'*",
     "There is no \"$2 $1 $3\": an operand is of another type than it has to be."},
    {"no match for 'operator$type'*", "There is no operator$1 for this type."},
};

/// Where the text of a '$…' of a pattern ends: `text` from `at` on.
std::size_t end_of_word(std::string_view kind, std::string_view text, std::size_t at) {
  if (kind == "$args") return std::min(text.find(")'", at), text.size());
  if (kind == "$type") return std::min(text.find('\'', at), text.size());
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  return at;
}

/// The words of a message that is as the pattern says. Linear in the message for each '*', and never recursive: messages
/// of 60 KB occur.
std::optional<std::vector<std::string>> words_of_match(std::string_view pattern, std::string_view text) {
  std::vector<std::string> words, words_at_star;
  std::size_t p = 0, at = 0, star = std::string_view::npos, star_at = 0;
  while (true) {
    if (p == pattern.size() && at == text.size()) return words;
    bool goes_on = false;
    if (p < pattern.size() && pattern[p] == '*') {
      if (p + 1 == pattern.size()) return words;
      star = ++p, star_at = at, words_at_star = words;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '$') {
      const std::string_view kind = pattern.substr(p, 5);  // $word, $type, $args
      const std::size_t end = end_of_word(kind, text, at);
      goes_on = end > at || kind == "$args";
      if (goes_on) words.emplace_back(text.substr(at, end - at));
      p += 5, at = end;
    } else if (p < pattern.size() && at < text.size() && pattern[p] == text[at]) {
      goes_on = true;
      ++p, ++at;
    }
    if (goes_on) continue;
    // Back to the last '*', which takes one character more.
    if (star == std::string_view::npos || star_at >= text.size()) return std::nullopt;
    p = star, at = ++star_at, words = words_at_star;
  }
}

/// `'tapestry::Tensor'` and the like, as the learner writes them.
std::string plain(std::string text) {
  for (const char* prefix : {"tapestry::grader::", "tapestry::", "std::__cxx11::"})
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, std::strlen(prefix));
  return text;
}

/// As it is shown: the names of a template's arguments fill 60 KB.
std::string shortened(const std::string& text) { return printable(plain(text.substr(0, 4000)), 400); }

std::string in_plain_words(const std::string& message) {
  for (const Known& known : kKnownErrors) {
    const auto words = words_of_match(known.pattern, message);
    if (!words) continue;
    std::string sentence;
    for (const char* c = known.sentence; *c != 0; ++c)
      if (*c == '$')
        sentence += shortened((*words)[static_cast<std::size_t>(*++c - '1')]);
      else
        sentence += *c;
    return sentence;
  }
  return shortened(message);
}

/// "path:line:column: kind: message", or line 0.
struct Remark {
  std::string path, kind, message;
  int line = 0;
};

/// Takes ":12" from the end of `path`; 0 if it does not end in one.
int take_number(std::string& path) {
  const std::size_t colon = path.rfind(':');
  if (colon == std::string::npos || colon + 1 == path.size() || path.size() - colon > 9) return 0;
  if (path.find_first_not_of("0123456789", colon + 1) != std::string::npos) return 0;
  const int number = std::stoi(path.substr(colon + 1));
  path.resize(colon);
  return number;
}

Remark remark_in(const std::string& line) {
  for (std::size_t colon = line.find(": "); colon != std::string::npos; colon = line.find(": ", colon + 1)) {
    const std::size_t begin = line.find_first_not_of(' ', colon + 1);
    if (begin == std::string::npos) break;
    for (const char* kind : {"fatal error", "error", "note", "warning", "required from here"}) {
      if (line.compare(begin, std::strlen(kind), kind) != 0) continue;
      Remark remark{line.substr(0, colon), kind, line.substr(begin + std::strlen(kind)), 0};
      const int last = take_number(remark.path), before = take_number(remark.path);
      remark.line = before > 0 ? before : last;
      remark.message.erase(0, remark.message.find_first_not_of(": "));
      if (remark.line > 0) return remark;
    }
  }
  return {};
}

}  // namespace

Diagnostic compile_error(const std::string& output, const std::filesystem::path& answer,
                         const std::filesystem::path& judge) {
  std::istringstream lines(output);
  std::string line, first, first_path;
  int before = 0;  // "required from here" stands before the error that it led to
  while (std::getline(lines, line)) {
    const Remark remark = remark_in(line);
    if (remark.line == 0) continue;
    const bool error = remark.kind == "error" || remark.kind == "fatal error";
    if (remark.path == answer.string()) {
      if (error && first.empty()) return {remark.line, in_plain_words(remark.message)};
      if (!first.empty() && first_path != judge.string()) return {remark.line, in_plain_words(first)};
      if (!error && first.empty()) before = remark.line;
    }
    if (error && first.empty()) {
      first = remark.message;
      first_path = remark.path;
      if (before > 0) return {before, in_plain_words(first)};
    }
  }
  if (first_path == judge.string())
    return {0, fmt::format(
                   "The checks cannot call what you wrote ({}): put the names, arguments and types that were "
                   "given back.",
                   in_plain_words(first))};
  if (!first.empty()) return {0, in_plain_words(first)};
  constexpr std::string_view kUndefined = "undefined reference to `";
  if (const std::size_t at = output.find(kUndefined); at != std::string::npos) {
    const std::size_t name = at + kUndefined.size();
    return {0, fmt::format("\"{}\" is declared and used, but never defined.",
                           shortened(output.substr(name, output.find('\'', name) - name)))};
  }
  std::istringstream again(output);
  std::getline(again, line);
  return {0, line.empty() ? "The compiler does not say why." : "The compiler says: " + shortened(line)};
}

Diagnostic crash(const std::string& output, int signal, const std::filesystem::path& answer) {
  Diagnostic diagnostic;
  std::istringstream lines(output);
  std::string line;
  while (diagnostic.line == 0 &&
         std::getline(lines, line)) {  // "    #1 0x55d2 in half(double) /p/mine.cpp:21:7"
    const std::string place = " " + answer.string() + ":";
    const std::size_t at = line.find(place);
    if (at == std::string::npos || line.find_first_not_of(' ') != line.find('#')) continue;
    diagnostic.line = std::atoi(line.c_str() + at + place.size());
  }
  const std::vector<std::pair<const char*, const char*>> kinds{
      {"__n < this->size()", "An index lies outside of a std::vector or std::array."},
      {"!this->empty()", "The first or last element of something empty is read."},
      {"heap-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"stack-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"global-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"container-overflow", "An index lies outside of a std::vector."},
      {"heap-use-after-free", "Memory is used that was given back: a reference outlives what it refers to."},
      {"stack-use-after",
       "A variable is used after its block has ended: a reference outlives what it refers to."},
      {"stack-overflow", "A function calls itself without end."},
      {"hard rss limit exhausted", "It takes more than 2 GB of memory: something grows without end."},
      {"SEGV", "Memory is used that is not there: a null pointer, or an index far outside."},
      {"Assertion", "An assertion of the standard library failed."},
  };
  for (const auto& [text, sentence] : kinds) {
    if (output.find(text) == std::string::npos) continue;
    diagnostic.sentence = sentence;
    return diagnostic;
  }
  diagnostic.sentence = signal != 0 ? fmt::format("It crashed ({}).", strsignal(signal))
                                    : "It ended in the middle: without a verdict, by exit() or an exception.";
  return diagnostic;
}

}  // namespace tapestry::grader
