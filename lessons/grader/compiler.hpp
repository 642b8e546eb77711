// Compiles, links and runs answers, with the commands that the build uses for judge/sample.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "lessons/grader/exercise.hpp"
#include "lessons/grader/folder_lock_guard.hpp"
#include "lessons/grader/judged_text.hpp"
#include "lessons/grader/process.hpp"

namespace tapestry::grader {

/// One answer to an exercise: the learner's, the solution or a wrong one.
struct Answer {
  std::filesystem::path file;  // path that compiler messages name
  std::string text;            // content
  std::string key;             // folder of its program below build/…/practise/11.1
  bool learners = false;       // it uses the learner's pieces of the engine where they exist
};

/// A compiled answer. While it exists, no other check compiles or runs a program in the same folder.
struct Program {
  std::filesystem::path file;  // empty: it did not compile or link
  std::string output;          // of the compiler and linker
  bool interrupted = false;
  bool timed_out = false;  // the compiler took too long
  double seconds = 0;      // compile time; 0: nothing had to be compiled
  FolderLockGuard lock;
};

/// Compiler and runner of answers.
class Compiler {
 public:
  /// Reads the compile and link commands from `build`, the configured folder, such as build/release. Throws Error if
  /// they are not there.
  Compiler(std::filesystem::path root, std::filesystem::path build);

  /// Stores the solutions of exercises that are pieces of the engine, for answers that include such a piece.
  void set_engine_solutions(const std::vector<Exercise>& exercises);

  /// Compiles and links a private copy of `answer.text` and of the learner's headers that it includes, so that files
  /// saved meanwhile do not matter. Reuses the last program if texts, judge, commands and libraries are unchanged.
  /// Throws Error if the disk is full.
  Program make(const Exercise& exercise, const Answer& answer) const;

  /// Writes a variant of the exercise to a file in its program's folder and returns it as an answer.
  Answer variant(const Exercise& exercise, const std::string& key, const std::string& text) const;

  /// A run of a judged program.
  struct Judged {
    Run run;
    std::string finding;  // JSON from the judge; "" if the judge did not finish
  };
  /// Runs the program with its judge and this seed, within the exercise's time limit.
  Judged judge(const Exercise& exercise, const Program& program, std::uint64_t seed) const;

  /// Returns folder and command with which an editor compiles the file, for compile_commands.json.
  std::pair<std::string, std::string> editor_command(const std::filesystem::path& file) const;

  /// Returns the exercise's folder in the build, such as build/release/practise/11.1.
  std::filesystem::path folder_of(const Exercise& exercise) const;
  const std::filesystem::path& root() const { return root_; }

 private:
  struct Kind {  // commands of one kind of build: with memory checks, or fast
    std::string folder, command;
    std::vector<std::string> compile, link,
        libraries;  // words; the object and the program are inserted before the libraries
  };
  const Kind& kind_of(const Exercise& exercise) const { return exercise.fast ? fast_ : checked_; }
  std::string stamp(const Kind& kind, const std::string& text) const;
  std::string engine_piece(const std::string& piece, bool learners) const;
  std::optional<SourceText> header(const std::string& name, const Answer& answer) const;

  std::filesystem::path root_, build_;
  Kind checked_, fast_;
  std::map<std::string, std::string> pieces_;  // tape.hpp → its solution
};

/// Returns a file's content, or "" if it cannot be read.
std::string content(const std::filesystem::path& file);

}  // namespace tapestry::grader
