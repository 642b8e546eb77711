// Where answers become programs: compiled as the build compiles judge/sample.cpp, linked, run.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "lessons/grader/exercise.hpp"
#include "lessons/grader/folder_turn.hpp"
#include "lessons/grader/process.hpp"

namespace tapestry::grader {

/// One answer to an exercise: the learner's, the solution or a wrong one.
struct Answer {
  std::filesystem::path file;  // as the compiler is given it
  std::string text;            // its content
  std::string key;             // the folder below build/…/practise/11.1 that its program is kept in
  bool learners = false;       // it is linked with the learner's pieces of the engine where there are some
};

/// While one lives, no other check compiles or runs a program in the same folder.
struct Program {
  std::filesystem::path file;  // empty: it did not compile or link
  std::string output;          // the compiler's
  bool interrupted = false;
  bool timed_out = false;  // the compiler
  double seconds = 0;      // 0: nothing had to be compiled
  FolderTurn turn;
};

class Compiler {
 public:
  /// `build` is the configured folder, build/release. Throws Error if it does not know how to compile
  /// answers.
  Compiler(std::filesystem::path root, std::filesystem::path build);

  /// Takes the solutions of those that are pieces of the engine, for answers that include one.
  void knows_engine(const std::vector<Exercise>& exercises);

  /// Compiles and links a private copy of `answer.text` and of the headers of the learner's that it includes, so the program
  /// is of exactly these texts whatever is saved meanwhile. Nothing is done again for the same texts, judge and libraries.
  Program make(const Exercise& exercise, const Answer& answer) const;

  /// Of a variant of the exercise: writes it to a file beside its program.
  Answer variant(const Exercise& exercise, const std::string& key, const std::string& text) const;

  struct Judged {
    Run run;
    std::string finding;  // what the judge found, as JSON; "" if it did not come to an end
  };
  Judged judge(const Exercise& exercise, const Program& program, std::uint64_t seed) const;

  /// How an editor compiles the file, for compile_commands.json: folder, command.
  std::pair<std::string, std::string> editor_command(const std::filesystem::path& file) const;

  std::filesystem::path folder_of(const Exercise& exercise) const;
  const std::filesystem::path& root() const { return root_; }

 private:
  struct Kind {  // of compiling: with checks of memory, or fast
    std::string folder, command;
    std::vector<std::string> compile, link,
        libraries;  // words; the object and the program go before the libraries
  };
  using Texts = std::map<std::string, std::string>;  // by name in the private folder, such as engine/tape.hpp
  const Kind& kind_of(const Exercise& exercise) const { return exercise.fast ? fast_ : checked_; }
  std::string stamp(const Kind& kind, const std::string& text) const;
  std::string engine_piece(const std::string& piece, bool learners) const;
  void add_headers(const std::string& text, const Answer& answer, Texts& texts) const;

  std::filesystem::path root_, build_;
  Kind checked_, fast_;
  std::map<std::string, std::string> pieces_;  // tape.hpp → its solution
};

/// The whole of a file; "" where there is none.
std::string content(const std::filesystem::path& file);

}  // namespace tapestry::grader
