// A lesson's command line, and the only place that turns its outcome into an exit code.
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

/// What every lesson takes.
struct Options {
  std::uint64_t seed = 1;
  std::int64_t steps = 0;      ///< --steps; else the smoke steps under --smoke; else the lesson's own
  std::filesystem::path out;   ///< exists and can be written when the lesson's body runs
  bool smoke = false;          ///< seconds only; targets are printed but not judged
  bool no_questions = false;   ///< questions are shown with their answers, and nothing waits
  std::filesystem::path data;  ///< empty unless --data was given
  Ranks ranks = {};  ///< who trains together: this process alone, but where a lesson runs_on() ranks

  /// The name of a folder in `out` for what is trained on a task. A smoke run has one of its own, so that
  /// nobody uses its model for a trained one, and it takes nothing from one that is.
  std::string folder(const std::string& task) const { return smoke ? task + "-smoke" : task; }
};

/// The top of the project, seen from where the program was started: lessons/run says it in TAPESTRY_ROOT;
/// otherwise programs are started there, and it is empty.
std::filesystem::path project_folder();

/// The exit codes of every lesson.
enum ExitCode : int {
  kMet = 0,       ///< every target was met
  kMissed = 1,    ///< the lesson ran, and missed a target
  kUsage = 2,     ///< UsageError, tapestry::Error, any other exception, or standard output cannot be written:
                  ///< one line on stderr says what is wrong
  kInternal = 3,  ///< std::logic_error, so a bug in the lesson or the kit: one line on stderr
};

/// A lesson's name, its own options, and its main():
///
///     int main(int argc, char** argv) {
///       kit::Lesson lesson("11_bahdanau", "look back while you write");
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

  /// The steps that it trains for by default, and under --smoke.
  void steps(std::int64_t usual, std::int64_t smoke);
  /// Offers --data; without this call it is a bad option.
  void takes_data(const std::string& help);
  /// Offers --parts, for what trains with Options::ranks.
  void takes_parts();
  /// This process is one of these ranks, which must outlive run(). The first one prints, asks, and keeps what is made;
  /// the others work in a BackRoom. Of trouble that several have one rank of a machine tells.
  void runs_on(Communicator& ranks);
  /// Throws UsageError if this process is one of several ranks: `what`, "--translate", is done by one.
  void alone_for(const std::string& what) const;

  /// The lesson's own options. `value` holds the default, gets what was given, and must outlive run().
  /// A number outside [least, most], or a word that is none of `choices`, is a bad option.
  void add(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least,
           std::int64_t most);
  void add(const std::string& name, double& value, const std::string& help, double least, double most);
  void add(const std::string& name, std::string& value, const std::string& help,
           const std::vector<std::string>& choices = {});
  void add(const std::string& name, std::filesystem::path& value, const std::string& help);
  void add_flag(const std::string& name, bool& value, const std::string& help);
  /// A file, or "-", that the lesson turns into another: when it is given, the title is not printed, so that
  /// standard output holds the result alone.
  void add_filter(const std::string& name, std::filesystem::path& value, const std::string& help);

  /// True when the option was on the command line; for use in the body.
  bool given(const std::string& name) const;

  /// Reads the options and TAPESTRY_THREADS, creates the out folder, prints the title, runs `body`, prints
  /// the report's last line, and returns an ExitCode. Nothing that derives from std::exception leaves it.
  /// What cannot be printed stops nothing (Output): of progress it is dropped, of results told at the end.
  /// When the lesson is passed it makes the file that TAPESTRY_PASSED names, and answers to its questions are
  /// kept in the one that TAPESTRY_ANSWERS names: lessons/run asks for both. It waits for answers where standard
  /// input and output are a terminal.
  int run(int argc, const char* const* argv, const Body& body);

 private:
  struct Parser;  // CLI11, kept out of the lessons' compile time
  /// Says on standard error, as one line, why the run ends; returns `code`.
  int complain(std::string_view what, int code) const;

  std::unique_ptr<Parser> parser_;
  std::string slug_;
  std::string idea_;
  std::vector<std::string> filters_;
  std::optional<BackRoom> back_room_;
  Options options_;
  std::int64_t usual_steps_ = 1;
  std::int64_t smoke_steps_ = 1;
};

}  // namespace tapestry::kit
