#include "lessons/grader/complaint.hpp"

#include <fmt/format.h>

#include <cstring>
#include <regex>
#include <sstream>
#include <vector>

namespace tapestry::grader {

namespace {

struct Known {
  const char* pattern;   // of the compiler's message
  const char* sentence;  // $1 … are the pattern's groups
};

// Quotes are ' in both: the grader asks for the C locale.
const std::vector<Known> kKnownErrors{
    {R"(expected ['‘]?;['’]?.*)", "A semicolon is missing, here or at the end of the line before."},
    {R"(expected ['‘]?[,;)]['’]? .*)",
     "A comma, a semicolon or a closing bracket is missing, here or just before."},
    {R"(expected ['‘]?\}['’]?( at end of input)?.*)", "A closing brace } is missing."},
    {R"(expected (primary-)?expression.*)", "Something is missing here: an operand, or a bracket too many."},
    {R"(['‘](\w+)['’] was not declared in this scope; did you mean ['‘](\w+)['’]\?)",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {R"(use of undeclared identifier ['‘](\w+)['’]; did you mean ['‘](\w+)['’]\?)",
     "\"$1\" is not known here; did you mean \"$2\"?"},
    {R"(['‘](\w+)['’] was not declared in this scope.*)",
     "\"$1\" is not known here: look at how it is spelt."},
    {R"(use of undeclared identifier ['‘](\w+)['’].*)", "\"$1\" is not known here: look at how it is spelt."},
    {R"(no return statement in function returning non-void.*)",
     "This function returns nothing: a \"return\" is missing."},
    {R"(control reaches end of non-void function.*)",
     "There is a way through this function without a \"return\"."},
    {R"(non-void function does not return a value.*)",
     "There is a way through this function without a \"return\"."},
    {R"(no matching function for call to ['‘](\w+)\((.*)\)['’].*)",
     "\"$1\" does not take these arguments: ($2). Look at their number, order and types."},
    {R"(no matching function for call to ['‘](\w+)['’].*)",
     "\"$1\" does not take these arguments. Look at their number, order and types."},
    {R"(too few arguments to function (?:call|['‘].*['’]).*)", "An argument is missing in this call."},
    {R"(too many arguments to function (?:call|['‘].*['’]).*)",
     "There is an argument too many in this call."},
    {R"(.*has no member named ['‘](\w+)['’].*)",
     "There is no \".$1\" here: perhaps it is a function, $1(x)."},
    {R"(no member named ['‘](\w+)['’] in .*)", "There is no \".$1\" here: perhaps it is a function, $1(x)."},
    {R"(could not convert ['‘].*['’] from ['‘](.*)['’] to ['‘](.*)['’].*)",
     "This is a $1, and a $2 is wanted."},
    {R"(cannot convert ['‘](.*)['’] to ['‘](.*)['’].*)", "This is a $1, and a $2 is wanted."},
    {R"(no viable conversion from (?:returned value of type )?['‘](.*)['’] to .*['‘](.*)['’].*)",
     "This is a $1, and a $2 is wanted."},
    {R"(narrowing conversion of .* from ['‘](.*)['’] to ['‘](.*)['’].*)",
     "A $1 does not fit a $2 by itself here: write static_cast<$2>(…)."},
    {R"(passing ['‘].*['’] as ['‘]this['’] argument discards qualifiers.*)",
     "This would change something that is const."},
    {R"(assignment of (?:read-only|member).*)",
     "This is const and cannot be changed: make a new value instead."},
    {R"(call of overloaded ['‘](\w+)\(.*['’] is ambiguous.*)",
     "The library has a function \"$1\", too: give yours another name."},
    {R"(call to ['‘](\w+)['’] is ambiguous.*)",
     "The library has a function \"$1\", too: give yours another name."},
    {R"(redefinition of ['‘](.*)['’].*)", "\"$1\" is defined twice."},
    {R"(no match for ['‘]operator([^'‘’]+)['’] \(operand types are ['‘]([^'‘’]+)['’].* and ['‘]([^'‘’]+)['’].*)",
     "There is no \"$2 $1 $3\": an operand is of another type than it has to be."},
    {R"(no match for ['‘](operator[^'‘’]+)['’].*)", "There is no $1 for this type."},
};

/// `'tapestry::Tensor'` and the like, as the learner writes them.
std::string plain(std::string text) {
  for (const char* prefix : {"tapestry::grader::", "tapestry::", "std::__cxx11::"})
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, std::strlen(prefix));
  return text;
}

std::string in_plain_words(const std::string& message) {
  for (const Known& known : kKnownErrors) {
    std::smatch match;
    if (!std::regex_match(message, match, std::regex(known.pattern))) continue;
    return plain(match.format(known.sentence));
  }
  return plain(message);
}

/// "path:line:column: kind: message", or line 0.
struct Remark {
  std::string path, kind, message;
  int line = 0;
};

Remark remark_in(const std::string& line) {
  static const std::regex kForm(
      R"((.+?):(\d+):(?:(\d+):)? +(fatal error|error|note|warning|required from here):?(.*))");
  std::smatch match;
  if (!std::regex_match(line, match, kForm)) return {};
  std::string message = match[5];
  message.erase(0, message.find_first_not_of(' '));
  return {match[1], match[4], message, std::stoi(match[2])};
}

}  // namespace

Complaint compile_error(const std::string& output, const std::filesystem::path& answer,
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
  std::smatch match;
  if (std::regex_search(output, match, std::regex(R"(undefined reference to `([^']*)')")))
    return {0, fmt::format("\"{}\" is declared and used, but never defined.", plain(match[1]))};
  return {0, "It does not compile."};
}

Complaint crash(const std::string& output, int signal, const std::filesystem::path& answer) {
  Complaint complaint;
  std::istringstream lines(output);
  std::string line;
  const std::regex frame(R"( *#\d+ 0x[0-9a-f]+ in .* (/[^:]+):(\d+)(:\d+)?)");
  while (complaint.line == 0 && std::getline(lines, line)) {
    std::smatch match;
    if (std::regex_match(line, match, frame) && match[1] == answer.string())
      complaint.line = std::stoi(match[2]);
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
    complaint.sentence = sentence;
    return complaint;
  }
  complaint.sentence = signal != 0 ? fmt::format("It crashed ({}).", strsignal(signal))
                                   : "It ended in the middle: without a verdict, by exit() or an exception.";
  return complaint;
}

}  // namespace tapestry::grader
