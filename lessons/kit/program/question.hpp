// Questions to the reader before a figure is shown: who answers, and where answers are kept.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// A question that Report::ask() put, for Report::answer().
struct Question {
  std::string name;                  ///< "the empty row": a few words, different from the lesson's others
  std::vector<std::string> choices;  ///< a, b, c, …
  char said = 0;                     ///< the reader's letter; 0: none
};

/// Whoever sits in front of the lesson, and the file that keeps what they said.
class Reader {
 public:
  /// Nobody: nothing waits, and nothing is kept.
  Reader() = default;
  /// Somebody who types at `descriptor`, a terminal, and sees `out`. An answer is a line "06 NAME", the letter
  /// and right or wrong, with tabs between, at the end of `kept`; none is kept where that is empty.
  Reader(int descriptor, std::ostream& out, Terminal terminal, std::filesystem::path kept,
         std::string lesson);

  /// Waits for a letter of so many choices, or Enter. What was typed before the question was there is dropped.
  /// 0: no letter, because of Enter, the end of input, or since nobody is there.
  char letter(std::size_t choices);
  /// Writes down what was said. A file that cannot be written is told in one line, and stops nothing.
  void keep(const Question& question, char right);

 private:
  int descriptor_ = -1;
  std::ostream* out_ = nullptr;
  Terminal terminal_;
  std::filesystem::path kept_;
  std::string lesson_;
};

}  // namespace tapestry::kit
