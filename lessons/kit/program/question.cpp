// Questions to the reader: reading the answer from a terminal and storing it.
#include "lessons/kit/program/question.hpp"

#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <optional>
#include <ostream>
#include <utility>

#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {
namespace {

/// Reads a line, without its newline, or nothing at the end of input. Bytes are read one by one, so that later input
/// stays unread.
std::optional<std::string> read_line(int descriptor) {
  std::string line;
  for (char c = 0;;) {
    const ssize_t got = ::read(descriptor, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (c == '\n') return line;
    line += c;
  }
}

/// Returns the single letter of a line in lower case; blanks, parentheses and full stops are ignored: "b", " B ",
/// "(b)", "b.". Returns 0 if the line has no letter or several.
char only_letter(const std::string& line) {
  char found = 0;
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '(' || c == ')' || c == '.') continue;
    if (found != 0) return 0;
    found = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return found;
}

std::string letters(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == count ? " or " : ", ", static_cast<char>('a' + i));
  return list;
}

}  // namespace

Reader::Reader(int descriptor, std::ostream& out, Terminal terminal, std::filesystem::path kept,
               std::string lesson)
    : descriptor_(descriptor),
      out_(&out),
      terminal_(terminal),
      kept_(std::move(kept)),
      lesson_(std::move(lesson)) {}

char Reader::letter(std::size_t choices) {
  if (out_ == nullptr) return 0;
  ::tcflush(descriptor_, TCIFLUSH);
  for (;;) {
    *out_ << "    " << bold(terminal_, fmt::format("{}, or Enter to skip: ", letters(choices))) << std::flush;
    const std::optional<std::string> line = read_line(descriptor_);
    if (!line) {
      *out_ << '\n' << std::flush;
      out_ = nullptr;  // end of input: ask no further questions
      return 0;
    }
    if (line->find_first_not_of(" \t\r") == std::string::npos) return 0;
    const char letter = only_letter(*line);
    if (letter >= 'a' && static_cast<std::size_t>(letter - 'a') < choices) return letter;
    *out_ << "    That is not one of the choices.\n";
  }
}

void Reader::keep(const Question& question, char right) {
  if (out_ == nullptr || kept_.empty() || question.chosen == 0) return;
  try {
    append(kept_, fmt::format("{} {}\t{}\t{}\n", lesson_, question.name, question.chosen,
                              question.chosen == right ? "right" : "wrong"));
  } catch (const UsageError& error) {
    *out_ << "  (your answer could not be saved: " << error.what() << ")\n";
  }
}

}  // namespace tapestry::kit
