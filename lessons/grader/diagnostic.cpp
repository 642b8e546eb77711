#include "lessons/grader/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "lessons/grader/compiler_messages.hpp"
#include "lessons/grader/library_names.hpp"

namespace tapestry::grader {

namespace {

/// A way to crash: its sentence, and the signs of it.
struct Crash {
  const char* sentence;
  std::array<std::string_view, 3> reports;  // in a report of AddressSanitizer or of the standard library
  std::array<std::string_view, 8> traps;    // in a browser's message, in small letters
  std::array<int, 3> signals;
};

constexpr Crash kCrashes[] = {
    {"An index is outside a std::vector or std::array.", {"__n < this->size()"}, {}, {}},
    {"The first or last element of an empty container is read.", {"!this->empty()"}, {}, {}},
    {"Memory beyond the end of an array is read or written.",
     {"heap-buffer-overflow", "stack-buffer-overflow", "global-buffer-overflow"},
     {},
     {}},
    {"An index is outside a std::vector.", {"container-overflow"}, {}, {}},
    {"Freed memory is used: a reference outlives its object.", {"heap-use-after-free"}, {}, {}},
    {"A variable is used after its block has ended: a reference outlives its variable.",
     {"stack-use-after"},
     {},
     {}},
    {"A function calls itself without end.",
     {"stack-overflow"},
     {"maximum call stack size exceeded", "too much recursion"},
     {}},
    {"It uses too much memory; look for something that keeps growing.",
     {"hard rss limit exhausted"},
     {"out of memory", "maximum memory size exceeded", "allocation failed"},
     {}},
    {"Invalid memory is used: a null pointer, or an index far out of range.",
     {"SEGV"},
     {"memory access out of bounds", "out of bounds memory access", "index out of bounds",
      "indirect call to null", "null function or function signature mismatch",
      "indirect call signature mismatch", "call_indirect", "table index is out of bounds"},
     {SIGSEGV, SIGBUS}},
    {"An integer is divided by 0, or a result is too large for its integer type.",
     {"AddressSanitizer: FPE"},
     {"divide by zero", "division by zero", "integer overflow", "divide result unrepresentable",
      "float unrepresentable in integer range", "out of bounds trunc operation"},
     {SIGFPE}},
    {"An assertion of the standard library failed.", {"Assertion"}, {}, {}},
    {"It stopped itself: by abort(), an uncaught exception, or a failed check.",
     {"AddressSanitizer: ABRT", "AddressSanitizer: ILL"},
     {"unreachable", "aborted"},
     {SIGABRT, SIGILL, SIGTRAP}},
};

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& signs) {
  return std::any_of(signs.begin(), signs.end(),
                     [&](std::string_view s) { return !s.empty() && text.find(s) != text.npos; });
}

std::string crashed(std::string_view how) { return fmt::format("It crashed ({}).", how); }

std::string in_plain_words(const std::string& message) {
  const std::string known = known_error(message);
  return known.empty() ? shortened(message.substr(0, message.find(": at '"))) : known;
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
    for (const char* kind : {"fatal error", "error", "note", "warning", "required from"}) {
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

/// Returns whether a line of a compiler's output points to a place in the line before.
bool is_caret(const std::string& line) {
  return line.find('^') != std::string::npos && line.find_first_not_of(" |~^") == std::string::npos;
}

/// Returns the index of the caret in the source, or of the next character that is no space. `source` is the line that
/// the compiler quotes, and `carets` the next one, which has a caret.
std::size_t caret_in(const std::string& source, const std::string& carets) {
  std::size_t column = carets.find('^'), at = 0;
  for (; at < source.size(); ++at)
    if ((static_cast<unsigned char>(source[at]) & 0xc0) != 0x80 && column-- == 0)
      break;  // a character in UTF-8
  return std::min(source.find_first_not_of(' ', at), source.size());
}

/// Returns the operator at the beginning of a text, or "".
std::string operator_in(const std::string& text) {
  constexpr std::string_view kSigns = "+-*/%^&|<>=!";
  if (text.empty() || kSigns.find(text[0]) == kSigns.npos) return "";
  const char next = text.size() > 1 ? text[1] : ' ';
  const bool doubled = next == text[0] && kSigns.substr(6, 4).find(next) != kSigns.npos;  // && || << >>
  return text.substr(0, doubled || next == '=' ? 2 : 1);
}

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the text between the first quotation marks ' of a message.
std::string_view quoted_in(std::string_view message) {
  const std::size_t begin = message.find('\''), end = message.find('\'', begin + 1);
  return end == message.npos ? "" : message.substr(begin + 1, end - begin - 1);
}

/// A number that is written with a comma, such as 0,25: the indices of its first digit and of its comma, and the index
/// after its last digit.
struct CommaNumber {
  std::size_t begin = 0, comma = 0, end = 0;
};

std::vector<CommaNumber> comma_numbers_in(std::string_view source) {
  const auto is = [&](std::size_t at, std::string_view signs, bool word) {
    return at < source.size() && (signs.find(source[at]) != signs.npos ||
                                  (word && std::isalnum(static_cast<unsigned char>(source[at])) != 0));
  };
  constexpr std::string_view kDigits = "0123456789";
  std::vector<CommaNumber> found;
  for (std::size_t comma = source.find(','); comma != source.npos; comma = source.find(',', comma + 1)) {
    std::size_t begin = comma, end = comma + 1;
    while (begin > 0 && is(begin - 1, kDigits, false)) --begin;
    while (is(end, kDigits, false)) ++end;
    const bool alone = (begin == 0 || !is(begin - 1, "_.,[", true)) && !is(end, "_.,(]", true);
    if (begin < comma && end > comma + 1 && alone) found.push_back({begin, comma, end});
  }
  return found;
}

/// Returns true if a text is within one operand: all brackets are closed, and no comma or semicolon is outside them.
bool is_one_operand(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    depth += std::string_view("({[").find(c) != std::string_view::npos ? 1 : 0;
    depth -= std::string_view(")}]").find(c) != std::string_view::npos ? 1 : 0;
    if (depth < 0 || c == ';' || (c == ',' && depth == 0)) return false;
  }
  return depth == 0;
}

/// Returns the number with a comma that an error is about, if it is about one. `caret` is the index of its place.
std::optional<CommaNumber> comma_number_of(const std::string& message, const std::string& source,
                                           std::size_t caret) {
  const auto begins_with_any = [&](std::initializer_list<const char*> texts) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const char* text) { return message.starts_with(text); });
  };
  // The place of an error is in the operand before the comma, or at its beginning.
  const bool in_left =
      begins_with_any({"left operand of comma operator has no effect", "value computed is not used",
                       "no viable conversion from returned value of type 'int' "});
  // It is the comma, the digits after it, or their end.
  const bool at_right =
      begins_with_any({"right operand of comma operator has no effect", "expression result unused",
                       "expected unqualified-id", "could not convert '(((void)"});
  for (const CommaNumber& number : comma_numbers_in(source)) {
    if (in_left && caret <= number.begin &&
        is_one_operand(std::string_view(source).substr(caret, number.begin - caret)))
      return number;
    if (at_right && number.comma <= caret && caret <= number.end) return number;
  }
  return {};
}

/// Names a function of the library in place of a compiler's suggestion that is not nearer to the unknown name. GCC
/// does not suggest names that a using-directive makes known. `text` is the source at the caret.
void suggest_library_name(std::string& message, const std::string& text) {
  const std::string name(quoted_in(message));
  if (!message.starts_with(fmt::format("'{}' was not declared in this scope", name)) &&
      !message.starts_with("use of undeclared identifier '"))
    return;
  if (name.empty() || !text.starts_with(name + "(")) return;
  const std::string_view nearest = nearest_library_name(name);
  const std::size_t hint = message.find("; did you mean '");
  if (nearest.empty() ||
      (hint != std::string::npos &&
       spelling_distance(name, quoted_in(message.substr(hint))) < spelling_distance(name, nearest)))
    return;
  message = fmt::format("{}; did you mean '{}'?", message.substr(0, hint), nearest);
}

/// Adds to a message what the compiler only points to: the operator, the text that Clang does not expect, a number with
/// a comma, or the name that an unknown one resembles. `caret` is the index of the place in the source.
void add_source(std::string& message, const std::string& source, std::size_t caret) {
  const std::string text = source.substr(caret);
  if (text.empty()) return;
  const std::optional<CommaNumber> number = comma_number_of(message, source, caret);
  suggest_library_name(message, text);
  if (message.starts_with("invalid operands to binary expression (") ||
      message.starts_with("invalid argument type '")) {
    if (const std::string sign = operator_in(text); !sign.empty())
      message += fmt::format(": operator '{}'", sign);
  } else if (message.starts_with("expected ") || message.starts_with("no matching function for call to ")) {
    message += fmt::format(": at '{}'", text);
  }
  if (number)
    message +=
        fmt::format("; '{}' is a decimal '{}.{}'", source.substr(number->begin, number->end - number->begin),
                    source.substr(number->begin, number->comma - number->begin),
                    source.substr(number->comma + 1, number->end - number->comma - 1));
}

/// Adds to a message about an unknown name what the name means elsewhere.
std::string with_origin(const std::string& message) {
  constexpr std::array<std::string_view, 4> kPython = {"np", "numpy", "torch", "math"};
  constexpr std::array<std::string_view, 7> kSizes = {"rows", "cols",  "columns", "length",
                                                      "len",  "nrows", "ncols"};
  const std::size_t named = message.find("no member named '");
  if (named != message.npos && message.find("Tensor'") != message.npos &&
      is_one_of(quoted_in(std::string_view(message).substr(named)), kSizes))
    return message + "; it is a size";
  if (is_one_of(quoted_in(message), kPython) &&
      (message.find("not declared") != message.npos || message.find("not been declared") != message.npos ||
       message.starts_with("use of undeclared ")))
    return fmt::format("'{}' is Python's", quoted_in(message));
  return message;
}

/// Returns why a function is not chosen for a call, as an error's message would say it, or "" if a note is about
/// something else. A reason that is not understood is returned as it is.
std::string reason_in(const std::string& note) {
  const bool clang = note.starts_with("candidate ") && note.find("ot viable: ") != std::string::npos;
  const bool gcc =
      note.starts_with("candidate expects ") || note.starts_with("no known conversion for argument ");
  const bool ignored =
      note.starts_with("candidate template ignored") || note.starts_with("template argument deduction");
  if (!clang && !gcc) return ignored ? note : "";
  // "requires at least 2 arguments, but 1 was provided", "requires single argument 'a', but no arguments were
  // provided", "expects 2 arguments, 1 provided"
  const std::size_t comma = note.find(", ");
  if (comma == std::string::npos || !note.ends_with(" provided")) return note;
  const auto number = [](std::string_view text) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit != text.npos) return std::atoi(std::string(text.substr(digit, 9)).c_str());
    return text.find("no arguments") != text.npos ? 0 : 1;  // a single argument
  };
  const std::size_t needs = std::min({note.find("requires "), note.find("expects "), note.find("allows ")});
  if (needs > comma) return note;
  const std::string_view all = note;
  return number(all.substr(comma)) < number(all.substr(needs, comma - needs)) ? "too few arguments to it"
                                                                              : "too many arguments to it";
}

/// The first error in a compiler's output, and what its notes say of it.
struct FirstError {
  std::string message, path;
  int line = 0;
  int led_from = 0;                 // line of the answer that led to an error elsewhere
  bool led_from_judge = false;      // the judge's source led to it
  int noted = 0;                    // line of the answer that a note names
  bool pointed = false;             // the compiler has pointed to the place of the error
  std::set<std::string> reasons;    // why functions are not chosen, as sentences
  bool of_std = false;              // the call is one of std::
  bool std_refuses_tensor = false;  // a function of std:: is not chosen, because it takes numbers

  std::string sentence() const {
    constexpr std::array<std::string_view, 9> kOfTensors = {"exp", "log", "sqrt", "abs",  "tanh",
                                                            "sin", "cos", "pow",  "floor"};
    const bool call = message.starts_with("no matching ");
    const std::string_view name = quoted_in(message).substr(0, quoted_in(message).find('('));
    const bool tensor =
        std_refuses_tensor || (of_std && quoted_in(message).find("Tensor") != std::string::npos);
    if (call && tensor && is_one_of(name, kOfTensors))
      return in_plain_words(fmt::format("a Tensor for std::{}", name));
    const std::string words = in_plain_words(message);
    // A reason says more than the general sentence, but less than one about this function.
    const bool general =
        words.ends_with(" Check their number, order and types.") || known_error(message).empty();
    return call && general && reasons.size() == 1 && *reasons.begin() != "" ? *reasons.begin() : words;
  }
};

FirstError first_error(const std::string& output, const std::string& answer, const std::string& judge) {
  FirstError first;
  std::istringstream lines(output);
  for (std::string line, previous; std::getline(lines, line); previous = line) {
    const Remark remark = remark_in(line);
    if (remark.line == 0) {
      if (first.message.empty() || first.pointed || !is_caret(line)) continue;
      add_source(first.message, previous, caret_in(previous, line));
      first.pointed = true;
      continue;
    }
    // A text without its closing quotation mark is a warning first, and an error about what follows.
    const bool error = remark.kind == "error" || remark.kind == "fatal error" ||
                       remark.message.starts_with("missing terminating ");
    const bool warning = remark.kind == "warning" && !error, found = !first.message.empty();
    if (found && (error || warning)) {
      if (first.message.starts_with("expected ';'")) first.message += "; then: " + remark.message;
      break;
    }
    if (warning) first = {};
    if (error)
      first.message = with_origin(remark.message), first.path = remark.path, first.line = remark.line;
    // The places that required a template, from the innermost on: GCC lists them before the error, Clang after it.
    if (found ? remark.message.ends_with(" requested here") : remark.kind == "required from") {
      if (remark.path == answer && first.led_from == 0) first.led_from = remark.line;
      if (remark.path == judge) first.led_from_judge = true;
    }
    if (!found || remark.kind != "note") continue;
    if (remark.path == answer && first.noted == 0) first.noted = remark.line;
    // GCC suggests std::vector for vector in a note.
    if (remark.message.starts_with("'std::") && first.message.ends_with(" was not declared in this scope"))
      first.message += fmt::format("; did you mean {}?", remark.message);
    if (remark.message.ends_with(" declared here") &&
        first.message.find("arguments to ") != std::string::npos &&
        first.message.find(" declared here") == std::string::npos)
      first.message += "; " + remark.message;
    if (first.message.starts_with("no viable overloaded ") &&
        remark.message.find("'this' argument has type 'const ") != std::string::npos)
      first.message = remark.message;
    const std::string_view called = quoted_in(first.message);
    first.of_std |= first.message.find(": at 'std::") != std::string::npos ||
                    (remark.message.starts_with("candidate: ") && !called.empty() &&
                     remark.message.find(fmt::format(" std::{}(", called.substr(0, called.find('(')))) !=
                         std::string::npos);
    if (first.of_std && remark.message.find("o known conversion ") != std::string::npos &&
        remark.message.find("Tensor' to '") != std::string::npos)
      first.std_refuses_tensor = true;
    if (const std::string reason = reason_in(remark.message); !reason.empty())
      first.reasons.insert(known_error(reason));  // "" among them: one reason is not known
  }
  return first;
}

/// Returns the name of the first symbol that the linker does not find, or "".
std::string undefined_symbol(const std::string& output) {
  for (const auto& [sign, end] : {std::pair{"undefined reference to `", '\''}, {"undefined symbol: ", '\n'}})
    if (const std::size_t at = output.find(sign); at != std::string::npos) {
      const std::size_t name = at + std::strlen(sign);
      return output.substr(name, output.find(end, name) - name);
    }
  return "";
}

/// Returns whether a message says that the code around it is in a function, although it is not meant to be.
bool inside_function(std::string_view message) {
  for (const char* sign :
       {"a function-definition is not allowed here", "function definition is not allowed here",
        "expected '}'", "'namespace' definition is not allowed here", "expected identifier before '{'",
        "namespaces can only be defined in global or namespace scope"})
    if (message.starts_with(sign)) return true;
  return false;
}

}  // namespace

Diagnostic compile_error(const std::string& output, const std::filesystem::path& answer,
                         const std::filesystem::path& judge) {
  const FirstError first = first_error(output, answer.string(), judge.string());
  if (!first.message.empty()) {
    if (first.path == judge.string() && inside_function(first.message))
      return {0, "A closing brace } is missing: one of your functions or loops does not end."};
    if (first.path == answer.string()) return {first.line, first.sentence()};
    if (first.path != judge.string() && (first.led_from > 0 || !first.led_from_judge))
      return {first.led_from, first.sentence()};
    return {first.noted,
            fmt::format("The checks cannot call what you wrote ({}); restore the names, arguments and types "
                        "of the starting file.",
                        first.sentence())};
  }
  if (const std::string symbol = undefined_symbol(output); !symbol.empty())
    return {0, fmt::format("\"{}\" is declared and used, but never defined.", shortened(symbol))};
  const std::string line = output.substr(0, output.find('\n'));
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
  for (const Crash& crash : kCrashes)
    if (has_any(output, crash.reports)) return {diagnostic.line, crash.sentence};
  if (signal == 0) return {diagnostic.line, "It ended early, without a verdict: by exit() or an exception."};
  for (const Crash& crash : kCrashes)
    if (std::find(crash.signals.begin(), crash.signals.end(), signal) != crash.signals.end())
      return {diagnostic.line, crash.sentence};
  return {diagnostic.line, crashed(strsignal(signal))};
}

Diagnostic trap(const std::string& message) {
  std::string small;
  for (const char c : message) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Crash& crash : kCrashes)
    if (has_any(small, crash.traps)) return {0, crash.sentence};
  return {0, crashed(shortened(message))};
}

Diagnostic out_of_time(double limit) {
  return {0, fmt::format(
                 "It does not end within {:g} seconds; look for an endless loop, or for work that is done "
                 "many times.",
                 limit)};
}

}  // namespace tapestry::grader
