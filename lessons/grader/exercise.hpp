// An exercise: its one source, read, and the programs that are derived from it.
//
// The source, lessons/NN_slug/exercises/K_name.cpp, is the solved program:
//
//     // 11.1 additive_score: score a query against each key        number, name: title
//     // implement, 10 minutes                                      kind, minutes[, limit 60 s][, fast][, piece x.hpp]
//     //
//     // The task, up to the first line that is no comment.
//     #include "lessons/grader/answer.hpp"
//
//     Tensor additive_score(…) {
//       //[ two lines                    a hole, and what is asked for there
//       //: return not_written_yet();    what stands in it at first, one or more lines
//       …                                the solution
//       //]
//     }
//
//     // hint: a question
//     // hint: the formula with a gap
//     // hint: the line's shape, on as many
//     //   lines as it takes
//     // wrong: the sentence that this mistake gets
//     // - a line of the solution, or several, which stand there once; its comment may be left out
//     // + what people write instead
//     // start: the symptom, where what stands in the holes at first is not "not written yet"
//
//     //= judge
//     …                                  its includes, and judge(Judge&)
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

struct WrongAnswer {
  int number = 0;  // its place in the source, from 1
  std::string sentence;
  std::string old_lines, new_lines;
};

struct Exercise {
  ExerciseId id;
  std::string name, title, kind, task;
  int minutes = 0;
  double limit = 10;  // seconds that the judged program may take
  bool fast = false;  // compiled for speed, without checks of memory
  std::string piece;  // "tape.hpp": the answer is this header of the learner's engine; or ""
  std::vector<std::string> hints;
  std::vector<WrongAnswer> wrong;
  std::string symptom;  // of what is given; empty: it says that nothing is written yet
  std::string judge;
  int judge_line = 0;            // where the judge begins in the source
  std::filesystem::path source;  // relative to the project
  std::filesystem::path folder;  // of its lesson: "11_bahdanau"

  /// Whether it belongs to the lesson of this number: "7" or "07".
  bool is_of_lesson(const std::string& number) const;
  /// What the learner gets.
  std::string given() const;
  /// The solved answer, with the holes' marks as in given().
  std::string solution() const;
  /// The solution with one mistake. Throws Error if its lines do not stand in the solution exactly once.
  std::string with(const WrongAnswer& mistake) const;

  /// Lines of the solution inside the holes.
  std::string holes() const;

 private:
  friend Exercise read_exercise(const std::filesystem::path& root, const std::filesystem::path& source);
  std::string program(bool solved) const;
  std::string body_;
};

/// The names of a text's #include "…", each with its line.
std::vector<std::pair<std::string, int>> includes_of(const std::string& text);

/// The names that a text makes macros of with #define, or takes from them with #undef, each with its line.
std::vector<std::pair<std::string, int>> macros_of(const std::string& text);
/// The text has the name as a word of its own.
bool has_word(const std::string& text, const std::string& name);

/// The headers of the engine that a text includes: "tape.hpp" of #include "engine/tape.hpp".
std::vector<std::string> pieces_in(const std::string& text);

/// Throws Error with file and line where the source is not of that form.
Exercise read_exercise(const std::filesystem::path& root, const std::filesystem::path& source);

/// All of them, in order.
std::vector<Exercise> read_exercises(const std::filesystem::path& root);

}  // namespace tapestry::grader
