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

/// A known compiler message and its explanation. In the pattern, '*' matches any text, '$word' letters, digits and
/// underscores, '$type' text without quotes, and '$args' text up to a closing bracket and quote. In the sentence, $1,
/// $2 … are the matches of the pattern's $ words in order.
struct Known {
  const char* pattern;  // matches the compiler's message in the C locale, where all quotes are '
  const char* sentence;
};

constexpr Known kKnownErrors[] = {
    {"expected ';'*", "A semicolon is missing, here or at the end of the line before."},
    {"expected ','*", "A comma, a semicolon or a closing bracket is missing, here or just before."},
    {"expected ')'*", "A comma, a semicolon or a closing bracket is missing, here or just before."},
    {"expected '}'*", "A closing brace } is missing."},
    {"expected primary-expression*", "An operand is missing here, or there is a bracket too many."},
    {"expected expression*", "An operand is missing here, or there is a bracket too many."},
    {"'$word' was not declared in this scope; did you mean '$word'?",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {"use of undeclared identifier '$word'; did you mean '$word'?",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {"'$word' was not declared in this scope*", "\"$1\" is not known here; check its spelling."},
    {"use of undeclared identifier '$word'*", "\"$1\" is not known here; check its spelling."},
    {"no return statement in function returning non-void*",
     "This function returns nothing: a \"return\" is missing."},
    {"control reaches end of non-void function*", "This function can end without a \"return\"."},
    {"non-void function does not return a value*", "This function can end without a \"return\"."},
    {"no matching function for call to '$word($args)'*",
     "\"$1\" does not take these arguments: ($2). Check their number, order and types."},
    {"no matching function for call to '$word'*",
     "\"$1\" does not take these arguments. Check their number, order and types."},
    {"too few arguments to function *", "This call has too few arguments."},
    {"too many arguments to function *", "This call has too many arguments."},
    {"*has no member named '$word'*", "There is no member \".$1\" here; it may be a function, $1(x)."},
    {"no member named '$word' in *", "There is no member \".$1\" here; it may be a function, $1(x)."},
    {"could not convert '*' from '$type'* to '$type'*", "This is a $1, but a $2 is needed."},
    {"cannot convert '$type'* to '$type'*", "This is a $1, but a $2 is needed."},
    {"no viable conversion from returned value of type '$type' to *'$type'*",
     "This is a $1, but a $2 is needed."},
    {"no viable conversion from '$type' to *'$type'*", "This is a $1, but a $2 is needed."},
    {"narrowing conversion of * from '$type' to '$type'*",
     "A $1 is not converted to a $2 automatically here; write static_cast<$2>(…)."},
    {"passing '*' as 'this' argument discards qualifiers*", "This would change something that is const."},
    {"assignment of read-only*", "This is const and cannot be changed; make a new value instead."},
    {"assignment of member*", "This is const and cannot be changed; make a new value instead."},
    {"call of overloaded '$word(*' is ambiguous*",
     "The library also has a function \"$1\"; give yours another name."},
    {"call to '$word' is ambiguous*", "The library also has a function \"$1\"; give yours another name."},
    {"redefinition of '$type'*", "\"$1\" is defined twice."},
    {"no match for 'operator$type' (operand types are '$type'* and '$type'*",
     "There is no \"$2 $1 $3\"; an operand has the wrong type."},
    {"no match for 'operator$type'*", "There is no operator$1 for this type."},
};

/// Returns the end of the text that a pattern's $ word of this kind matches from `at` on.
std::size_t end_of_word(std::string_view kind, std::string_view text, std::size_t at) {
  if (kind == "$args") return std::min(text.find(")'", at), text.size());
  if (kind == "$type") return std::min(text.find('\'', at), text.size());
  while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  return at;
}

/// Returns the words that the pattern's $ words match, or nothing if the message does not match. It takes time linear
/// in the message for each '*' and does not recurse, since messages of 60 KB occur.
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
    // Backtrack to the last '*', which takes one more character.
    if (star == std::string_view::npos || star_at >= text.size()) return std::nullopt;
    p = star, at = ++star_at, words = words_at_star;
  }
}

/// Removes namespaces: tapestry::Tensor becomes Tensor, as the learner writes it.
std::string plain(std::string text) {
  for (const char* prefix : {"tapestry::grader::", "tapestry::", "std::__cxx11::"})
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, std::strlen(prefix));
  return text;
}

/// Returns the text for display, cut to 400 characters, since the names of template arguments can fill 60 KB.
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

/// A parsed line "path:line:column: kind: message"; `line` is 0 for other lines.
struct Remark {
  std::string path, kind, message;
  int line = 0;
};

/// Removes ":12" from the end of `path` and returns the number, or 0 if there is none.
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
  int before = 0;  // line of a "required from here", which comes before its error
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
    return {0,
            fmt::format(
                "The checks cannot call what you wrote ({}); restore the names, arguments and types of the "
                "starting file.",
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
      {"__n < this->size()", "An index is outside a std::vector or std::array."},
      {"!this->empty()", "The first or last element of an empty container is read."},
      {"heap-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"stack-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"global-buffer-overflow", "Memory beyond the end of an array is read or written."},
      {"container-overflow", "An index is outside a std::vector."},
      {"heap-use-after-free", "Freed memory is used: a reference outlives its object."},
      {"stack-use-after", "A variable is used after its block has ended: a reference outlives its variable."},
      {"stack-overflow", "A function calls itself without end."},
      {"hard rss limit exhausted",
       "It uses more than 2 GB of memory; look for something that keeps growing."},
      {"SEGV", "Invalid memory is used: a null pointer, or an index far out of range."},
      {"Assertion", "An assertion of the standard library failed."},
  };
  for (const auto& [text, sentence] : kinds) {
    if (output.find(text) == std::string::npos) continue;
    diagnostic.sentence = sentence;
    return diagnostic;
  }
  diagnostic.sentence = signal != 0 ? fmt::format("It crashed ({}).", strsignal(signal))
                                    : "It ended early, without a verdict: by exit() or an exception.";
  return diagnostic;
}

}  // namespace tapestry::grader
