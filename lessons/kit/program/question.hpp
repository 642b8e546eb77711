// Questions to the reader: reading the answer from a terminal and storing it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Question from Report::ask(), to be passed to Report::answer().
struct Question {
  std::string name;                  ///< a few words, unique in the lesson: "the empty row"
  std::vector<std::string> choices;  ///< texts of the answers a, b, c, …
  char chosen = 0;                   ///< letter that the reader chose; 0: none
};

/// Reader of a lesson: a terminal to ask, and the file that stores the answers.
class Reader {
 public:
  /// Creates a reader that is absent: no question waits and no answer is stored.
  Reader() = default;
  /// Creates a reader who types on the terminal `descriptor` and sees `out`. An answer is appended to the file `kept`
  /// as one line with tabs between "06 NAME", the letter, and "right" or "wrong". If `kept` is empty, none is stored.
  Reader(int descriptor, std::ostream& out, Terminal terminal, std::filesystem::path kept,
         std::string lesson);

  /// Waits for one of the first `choices` letters, or Enter. Discards input typed before the question was shown.
  /// Returns 0 after Enter, at the end of input, and if the reader is absent.
  char letter(std::size_t choices);
  /// Stores the answer. If the file cannot be written, prints one line and continues.
  void keep(const Question& question, char right);

 private:
  int descriptor_ = -1;
  std::ostream* out_ = nullptr;
  Terminal terminal_;
  std::filesystem::path kept_;
  std::string lesson_;
};

}  // namespace tapestry::kit
