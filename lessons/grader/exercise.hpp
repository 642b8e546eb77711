// An exercise, read from its one source file, and the programs derived from it.
//
// The source file, lessons/NN_slug/exercises/K_name.cpp, is the solved program:
//
//     // 11.1 additive_score: The additive attention score          number, name: title
//     // implement, 10 minutes                                      kind, minutes[, limit 60 s][, fast][, piece x.hpp]
//     //
//     // The task, up to the first line that is no comment.
//     #include "lessons/grader/answer.hpp"
//
//     Tensor additive_score(…) {
//       //[ two lines                    start of a hole, and the code to write there
//       //: return not_written_yet();    starting text of the hole, one or more lines
//       …                                solution
//       //]
//     }
//
//     // hint: a question
//     // hint: the formula with a gap
//     // hint: the line's shape, on
//     //   several lines if needed
//     // wrong: the sentence shown for this mistake
//     // - lines of the solution that occur in it once; their comments may be left out
//     // + the code that people write instead
//     // start: the symptom, if the starting text is a program with a mistake instead of "not written yet"
//
//     //= judge
//     …                                  includes, and judge(Judge&)
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapestry::grader {

/// Number of lesson and number in it: "11.2".
struct ExerciseId {
  int lesson = 0, number = 0;
  std::string text() const;
  auto operator<=>(const ExerciseId&) const = default;
};

/// A mistake that people make, as a change of the solution.
struct WrongAnswer {
  int number = 0;  // position in the source, from 1
  std::string sentence;
  std::string old_lines, new_lines;
};

/// One exercise.
struct Exercise {
  ExerciseId id;
  std::string name, title, kind, task;
  int minutes = 0;
  double limit = 10;  // time limit of the judged program in seconds
  bool fast = false;  // compiled for speed, without memory checks
  std::string piece;  // "tape.hpp": the answer is this header of the learner's engine; else ""
  std::vector<std::string> hints;
  std::vector<WrongAnswer> wrong;
  std::string symptom;  // of the starting text; empty: it is judged "not written yet"
  std::string judge;
  int judge_line = 0;            // line of the source where the judge begins
  std::filesystem::path source;  // relative to the project
  std::filesystem::path folder;  // of its lesson: "11_bahdanau"

  /// Returns true if the exercise belongs to the lesson of this number, "7" or "07".
  bool is_of_lesson(const std::string& number) const;
  /// Returns the starting text, which the learner gets.
  std::string given() const;
  /// Returns the solved answer, with the marks of the holes as in given().
  std::string solution() const;
  /// Returns the solution with one mistake. Throws Error if the mistake's lines do not occur in the solution exactly
  /// once.
  std::string with(const WrongAnswer& mistake) const;

  /// Returns the lines of the solution inside the holes.
  std::string holes() const;

 private:
  friend Exercise parse_exercise(const std::filesystem::path& source, const std::string& text);
  std::string program(bool solved) const;
  std::string body_;
};

/// Returns the lines of the text, without the line breaks.
std::vector<std::string> lines_of(const std::string& text);

/// Returns the names in a text's #include "…" directives, each with its line number.
std::vector<std::pair<std::string, int>> includes_of(const std::string& text);

/// Returns the names in a text's #define and #undef directives, each with its line number.
std::vector<std::pair<std::string, int>> macros_of(const std::string& text);
/// Returns true if the text contains the name as a whole word.
bool has_word(const std::string& text, const std::string& name);

/// Returns the headers of the engine that a text includes: "tape.hpp" for #include "engine/tape.hpp".
std::vector<std::string> pieces_in(const std::string& text);

/// Parses the text of an exercise. `source` is its path relative to the project. Throws Error, most often with file and
/// line, if the text does not have the form above.
Exercise parse_exercise(const std::filesystem::path& source, const std::string& text);
/// Reads an exercise's file. Throws Error as parse_exercise() does, or if the file cannot be read.
Exercise read_exercise(const std::filesystem::path& root, const std::filesystem::path& source);

/// Reads all exercises, in order. Throws Error as read_exercise() does, or if two exercises have the same number.
std::vector<Exercise> read_exercises(const std::filesystem::path& root);

}  // namespace tapestry::grader
