// Program of a lesson: its options, its main() and its exit codes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/program/ranks.hpp"
#include "lessons/kit/program/report.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::kit {

/// Options that every lesson has.
struct Options {
  std::uint64_t seed = 1;
  std::int64_t steps = 0;      ///< --steps, or the lesson's default (with --smoke, its smoke default)
  std::filesystem::path out;   ///< output folder; exists and is writable when the body runs
  bool smoke = false;          ///< run for seconds only; targets are printed but not judged
  bool no_questions = false;   ///< show questions with their answers, without waiting
  std::filesystem::path data;  ///< empty unless --data was given
  Ranks ranks = {};  ///< ranks that train together; only this process unless the lesson calls runs_on()

  /// Returns the subfolder of `out` for a model of `task`: the task's name, with "-smoke" in a smoke run, so that the
  /// two are never confused.
  std::string folder(const std::string& task) const { return smoke ? task + "-smoke" : task; }
};

/// Returns the path of the project's root, relative to the working directory. lessons/run passes it in TAPESTRY_ROOT.
/// If the variable is not set, returns an empty path, because the program is then assumed to run in the root.
std::filesystem::path project_folder();

/// Exit codes of every lesson.
enum ExitCode : int {
  kMet = 0,       ///< no target was missed (a smoke run judges none), or --help
  kMissed = 1,    ///< the run missed a target, a check or the answer to a question
  kUsage = 2,     ///< another exception, or lost standard output; one line on stderr says why
  kInternal = 3,  ///< std::logic_error, which is a bug in the lesson or the kit; one line on stderr
};

/// Command-line program of a lesson: its name, its options and its main():
///
///     int main(int argc, char** argv) {
///       kit::Lesson lesson("39_mine", "what this lesson is about");
///       lesson.steps(1250, 20);
///       std::int64_t hidden = 64;
///       lesson.add("--hidden", hidden, "size of the state", 1, 4096);
///       return lesson.run(argc, argv, [&](const kit::Options& options, kit::Report& report) { … });
///     }
class Lesson {
 public:
  using Body = std::function<void(const Options&, Report&)>;

  Lesson(std::string slug, std::string idea);
  ~Lesson();
  Lesson(const Lesson&) = delete;
  Lesson& operator=(const Lesson&) = delete;

  /// Sets the default number of training steps, without and with --smoke.
  void steps(std::int64_t usual, std::int64_t smoke);
  /// Adds the option --data. Without this call, --data is rejected.
  void takes_data(const std::string& help);
  /// Adds the option --parts, the number of parts into which each batch is split, for lessons that train on
  /// Options::ranks.
  void takes_parts();
  /// Makes this process one of several ranks; `ranks` must outlive run(). Rank 0 prints, asks and writes the output
  /// files. The others work in a SilentScope. On each machine, only the first error is printed.
  void runs_on(Communicator& ranks);
  /// Throws UsageError if there are several ranks. `what` is the option that needs a single process, such as
  /// "--translate".
  void require_single_process(const std::string& what) const;

  /// Add an option of the lesson. `value` holds the default, receives the given value and must outlive run(). A number
  /// outside [least, most], or a word that is not one of `choices`, is rejected.
  void add(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least,
           std::int64_t most);
  void add(const std::string& name, double& value, const std::string& help, double least, double most);
  void add(const std::string& name, std::string& value, const std::string& help,
           const std::vector<std::string>& choices = {});
  void add(const std::string& name, std::filesystem::path& value, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  /// Adds an option for an input file, or "-" for standard input, which the lesson reads with LineReader. Same as add()
  /// and prints_result().
  void add_filter(const std::string& name, std::filesystem::path& value, const std::string& help);
  /// Declares that with this option the body prints only a result: the title is not printed, and no question waits.
  void prints_result(const std::string& name);

  /// Returns true if the option was on the command line. For use in the body.
  bool given(const std::string& name) const;

  /// Reads the options and TAPESTRY_THREADS, creates the output folder, prints the title, runs `body`, prints the last
  /// line of the report, and returns an ExitCode. Catches every std::exception. A failed write to
  /// standard output or standard error does not stop the run (see Output); what standard output lost is reported at the
  /// end, with kUsage.
  ///
  /// lessons/run passes two more files in the environment, except under mpirun. The file named by TAPESTRY_PASSED is
  /// created if this run judged the whole lesson and met all targets (Report::passed()). Answers to questions are
  /// appended to the file named by TAPESTRY_ANSWERS. The lesson waits for answers only if
  /// standard input and output are terminals.
  int run(int argc, const char* const* argv, const Body& body);

 private:
  struct Parser;  // hides CLI11, which would slow down the lessons' compilation
  /// Prints one line on standard error that says why the run ends. Returns `code`.
  int complain(std::string_view what, int code) const;

  std::unique_ptr<Parser> parser_;
  std::string slug_;
  std::string idea_;
  std::vector<std::string> filters_;
  std::optional<SilentScope> silent_scope_;
  Options options_;
  std::int64_t usual_steps_ = 1;
  std::int64_t smoke_steps_ = 1;
};

}  // namespace tapestry::kit
