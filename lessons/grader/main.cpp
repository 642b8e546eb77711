// The program behind lessons/practise: it shows exercises, judges answers at each save and explains faults.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "core/io/text.hpp"
#include "lessons/grader/session.hpp"
#include "lessons/grader/verify.hpp"
#include "lessons/grader/watch.hpp"
#include "lessons/kit/program/options.hpp"
#include "lessons/kit/program/output.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace {

using namespace tapestry;
using namespace tapestry::grader;

void print(const std::string& text) { fmt::print("{}", text); }

/// Prints the reason why the command ends on standard error, as one line, and returns the exit code.
int complain(std::string_view what) {
  constexpr int kLongest = 1000;  // in characters; a path may have 500
  std::fflush(stdout);
  fmt::print(stderr, "practise: {}\n", kit::cut_to(kit::printable(what), kLongest));
  return kit::kUsage;
}

int practise(const std::vector<std::string>& words, std::optional<std::uint64_t> seed,
             const VerifyOptions& verifying) {
  static const std::vector<std::string> kCommands{"list", "hint", "solution", "reset", "check", "verify"};
  const bool verifies = !words.empty() && words[0] == "verify";
  std::string command, which;
  if (!words.empty() && std::find(kCommands.begin(), kCommands.end(), words[0]) != kCommands.end())
    command = words[0];
  if (words.size() > (command.empty() ? 0U : 1U)) which = words[command.empty() ? 0 : 1];
  if (command.empty() && words.size() > 1 && !std::isdigit(static_cast<unsigned char>(words[0][0])))
    throw kit::UsageError(
        fmt::format("there is no command \"{}\"; the commands are {}", words[0], fmt::join(kCommands, ", ")));
  if (command == "list" && !which.empty())
    throw kit::UsageError(fmt::format("list takes no argument, got \"{}\"", tapestry::printable(which, 60)));
  if (!verifies && words.size() > (command.empty() ? 1U : 2U))
    throw kit::UsageError(
        fmt::format("the command must name one lesson or exercise at most, got \"{}\" too", words.back()));

  Session session(kit::project_folder().empty() ? "." : kit::project_folder(), TAPESTRY_BUILD_DIR);
  const kit::Terminal terminal = kit::Terminal::of(1);
  if (verifies)
    return verify(session, {words.begin() + 1, words.end()}, verifying) ? kit::kMet : kit::kMissed;
  if (command == "list") {
    print(session.list(terminal));
    return kit::kMet;
  }
  const Exercise& exercise = session.find(which);
  if (command == "hint" || command == "solution" || command == "reset") {
    print(command == "hint"       ? session.hint(exercise)
          : command == "solution" ? session.solution(exercise)
                                  : session.reset(exercise));
    return kit::kMet;
  }
  if (command.empty() && terminal.interactive && isatty(0) == 1) {
    watch(session, exercise);
    return kit::kMet;
  }
  print(command.empty() ? session.begin(exercise, terminal) + "\n"
                        : bold(terminal, fmt::format("{} {}", exercise.id.text(), exercise.title)) + "\n");
  const Session::Checked checked = session.check(exercise, terminal, seed);
  print(checked.text);
  return checked.verdict.passed() ? kit::kMet : kit::kMissed;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Exercises: shows the next one, and judges your file at each save.\n"
      "  practise                 continues with the current exercise\n"
      "  practise 11, 11.2        starts at lesson 11, or at exercise 11.2\n"
      "  practise list            lists all exercises and marks the solved ones\n"
      "  practise hint [11.2]     shows the next hint\n"
      "  practise solution [11.2] shows the solution\n"
      "  practise reset [11.2]    creates a new starting file; your old file is renamed\n"
      "  practise check [11.2]    judges once; exit code 0: right, 1: not yet, 2: a bad option or file\n"
      "  practise verify [11.2 …] for authors: checks starting files, solutions and wrong answers (default: all)",
      "practise");
  std::vector<std::string> words;
  std::optional<std::uint64_t> seed;
  const auto read_seed = [&seed](const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return false;
    seed = value;
    return true;
  };
  VerifyOptions verifying;
  app.add_option("what", words, "a lesson, an exercise or a command")->expected(0, -1);
  app.add_option_function<std::string>("--seed", read_seed,
                                       "seed of the examples; by default a new one at each check")
      ->check([&](const std::string& text) {
        return read_seed(text)
                   ? ""
                   : fmt::format("'{}' must be a whole number from 0 to {}", text, ~std::uint64_t{0});
      })
      ->type_name("NUMBER");
  app.add_option("--seeds", verifying.seeds, "verify: number of seeds for each solution and wrong answer")
      ->check(CLI::Range(1, 1000));
  app.add_option("--wrong", verifying.wrong,
                 "verify: number of wrong answers tried per exercise; all by default")
      ->check(CLI::Range(0, 1000));
  app.add_option("--turn", verifying.turn,
                 "verify: with --wrong, selects the wrong answers; each number selects others")
      ->check(CLI::Range(0, 1000000));
  app.add_flag("--wrong-only", verifying.wrong_only,
               "verify: tries the wrong answers, without the given code and the solution");
  app.add_option("--changes", verifying.changes, "verify: number of one-word changes tried per solution")
      ->check(CLI::Range(0, 1000));
  kit::Output output;
  const auto is_help = [](std::string_view word) { return word == "-h" || word == "--help"; };
  if (std::any_of(argv + 1, argv + argc, is_help)) {
    print(app.help());
    return kit::kMet;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {  // only "--help=3" gets here; "--help" was handled above
    return complain("--help must have no value");
  } catch (const CLI::ParseError& error) {
    return complain(fmt::format("{} (--help shows the options)", error.what()));
  }
  try {
    return practise(words, seed, verifying);
  } catch (const std::exception& error) {
    return complain(error.what());
  }
}
