// Command line of a lesson, its main loop and its exit codes.
#include "lessons/kit/program/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/io/text.hpp"
#include "core/simd/runtime/threads.hpp"
#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/output.hpp"
#include "lessons/kit/program/terminal.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr int kLongestComplaint = 1000;        // in characters; a path may have 500
constexpr std::size_t kLongestQuotation = 60;  // of a bad value, in characters
constexpr const char* kPath = "PATH";

/// Parses the whole of `text` as a decimal number. Returns false if it is not one.
template <typename Number>
bool parse(const std::string& text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// Returns the error of a command line. Rewrites two messages of CLI11 that are hard to read: "--out: 1 required PATH
/// missing" and "--seed: At Most 1 required but received 2".
std::string fault_of(const CLI::Error& error) {
  static constexpr std::string_view kBefore = ": 1 required ", kAfter = " missing",
                                    kTwice = ": At Most 1 required";
  std::string words = error.what();
  const std::size_t before = words.find(kBefore), after = words.rfind(kAfter);
  if (before < after && after != std::string::npos) {
    const std::size_t kind = before + kBefore.size();
    words = fmt::format("{} needs a {} after it", words.substr(0, before), words.substr(kind, after - kind));
  } else if (const std::size_t twice = words.find(kTwice); twice != std::string::npos) {
    words = words.substr(0, twice) + " must be given once";
  }
  return words;
}

/// Returns the error for a flag with a value, such as "--smoke=3", which CLI11 reads as a number of flags. Empty if
/// there is none.
std::string value_of_a_flag(const CLI::App& app, std::span<const char* const> words) {
  for (const std::string_view word : words) {
    const std::string name(word.substr(0, word.find('=')));
    const CLI::Option* option = name.size() < word.size() ? app.get_option_no_throw(name) : nullptr;
    if (option != nullptr && option->get_items_expected_max() == 0)
      return fmt::format("{} must have no value, got '{}'", name,
                         tapestry::printable(word.substr(name.size() + 1), kLongestQuotation));
  }
  return {};
}

/// Adds an option for a number in [least, most]. CLI11's own parser turns -1 into a large seed and reads 010 as 8.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, const std::string& help,
                        Number least, Number most) {
  const auto read = [&value](const std::string& text) { parse(text, value); };
  const auto fault = [least, most](const std::string& text) {
    Number number{};
    const bool good = parse(text, number) && number >= least && number <= most;  // false for NaN
    constexpr const char* kKind = std::is_integral_v<Number> ? "whole number" : "number";
    return good ? std::string()
                : fmt::format("'{}' is not a {} from {} to {}", tapestry::printable(text, kLongestQuotation),
                              kKind, least, most);
  };
  return app.add_option_function<std::string>(name, read, help)
      ->check(fault)
      ->type_name("NUMBER")
      ->default_str(fmt::format("{}", value));
}

/// Options that may differ between ranks, because no result depends on them.
constexpr std::array<std::string_view, 2> kOwnOfARank = {"--out", "--no-questions"};

/// Returns the program's name and the given value of each option. A run depends only on these and on its input texts.
std::vector<std::string> facts_of(const CLI::App& app) {
  std::vector<std::string> facts = {"lesson " + app.get_name()};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (std::find(kOwnOfARank.begin(), kOwnOfARank.end(), name) != kOwnOfARank.end()) continue;
    // The same file may have different paths on different machines.
    const bool by_value = option->get_type_name() != kPath;
    facts.push_back(option->count() == 0 ? "no " + name
                    : by_value           ? fmt::format("{} {}", name, fmt::join(option->results(), " "))
                                         : name);
  }
  return facts;
}

/// Returns an environment variable, or "" if it is not set.
std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path project_folder() { return from_environment("TAPESTRY_ROOT"); }

struct Lesson::Parser {
  CLI::App app;
};

Lesson::Lesson(std::string slug, std::string idea)
    : parser_(std::make_unique<Parser>()), slug_(std::move(slug)), idea_(std::move(idea)) {
  options_.out = (project_folder() / "out" / slug_).lexically_normal();
  CLI::App& app = parser_->app;
  app.name(slug_);
  app.description("Lesson " + slug_ + ": " + idea_ + ".");
  app.set_help_flag("-h,--help", "Show the options and exit");
  app.option_defaults()->always_capture_default();
  add_number(app, "--seed", options_.seed, "Seed of all random numbers", std::uint64_t{0}, ~std::uint64_t{0});
  add_number(app, "--steps", options_.steps, "Number of training steps; default: the lesson's own number",
             std::int64_t{1}, kMostSteps)
      ->default_str("");
  add("--out", options_.out, "Folder for pictures, logs and checkpoints");
  add_flag("--smoke", options_.smoke, "Run for a few seconds only; targets are printed but not judged");
  add_flag("--no-questions", options_.no_questions, "Show the questions and their answers without waiting");
}

Lesson::~Lesson() = default;

void Lesson::steps(std::int64_t usual, std::int64_t smoke) {
  usual_steps_ = usual;
  smoke_steps_ = smoke;
}

void Lesson::takes_data(const std::string& help) { add("--data", options_.data, help); }

void Lesson::takes_parts() {
  add("--parts", options_.ranks.parts,
      "under mpirun: number of parts of each batch (0: one for each rank); runs with equal --parts agree up to "
      "rounding on any number of ranks",
      0, 1024);
}

void Lesson::runs_on(Communicator& ranks) {
  options_.ranks.wire = &ranks;
  if (options_.ranks.is_first()) return;
  silent_scope_.emplace();
}

void Lesson::require_single_process(const std::string& what) const {
  if (options_.ranks.several())
    throw UsageError(fmt::format("{} must run in a single process; start the program without mpirun", what));
}

void Lesson::add(const std::string& name, std::int64_t& value, const std::string& help, std::int64_t least,
                 std::int64_t most) {
  add_number(parser_->app, name, value, help, least, most);
}

void Lesson::add(const std::string& name, double& value, const std::string& help, double least, double most) {
  add_number(parser_->app, name, value, help, least, most);
}

void Lesson::add(const std::string& name, std::string& value, const std::string& help,
                 const std::vector<std::string>& choices) {
  CLI::Option* option = parser_->app.add_option(name, value, help);
  if (!choices.empty()) option->check(CLI::IsMember(choices));
}

void Lesson::add(const std::string& name, std::filesystem::path& value, const std::string& help) {
  parser_->app
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = text; }, help)
      ->check([](const std::string& text) {
        return text.empty() ? std::string("the path must not be empty") : std::string();
      })
      ->type_name(kPath)
      ->default_str(value.string());
}

void Lesson::add_flag(const std::string& name, bool& value, const std::string& help) {
  parser_->app.add_flag(name, value, help)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

void Lesson::add_filter(const std::string& name, std::filesystem::path& value, const std::string& help) {
  add(name, value, help);
  prints_result(name);
}

void Lesson::prints_result(const std::string& name) { filters_.push_back(name); }

bool Lesson::given(const std::string& name) const { return parser_->app.count(name) > 0; }

int Lesson::complain(std::string_view what, int code) const {
  std::fflush(stdout);
  std::cout.flush();
  const std::string line = fmt::format("{}: {}\n", slug_, cut_to(printable(what), kLongestComplaint));
  if (!options_.ranks.communicator().may_report()) return code;
  if (silent_scope_)
    fmt::print(stderr, "{}", line);  // a SilentScope drops the output of std::cerr
  else
    std::cerr << line << std::flush;
  return code;
}

int Lesson::run(int argc, const char* const* argv, const Body& body) {
  Output output;
  CLI::App& app = parser_->app;
  const std::span words(argv + std::min(argc, 1), argv + argc);
  const bool help = std::any_of(words.begin(), words.end(),
                                [](std::string_view word) { return word == "-h" || word == "--help"; });
  // If output is lost, the run must not look successful.
  const auto complain_of_loss = [&](const std::string& why, const std::string& rest) {
    return complain(fmt::format("cannot write to standard output: {}{}", why, rest), kUsage);
  };
  const auto complain_of_option = [&](const std::string& fault) {
    return complain(fault + " (--help shows the options)", kUsage);
  };
  const std::string fault = help ? "" : value_of_a_flag(app, words);
  if (!fault.empty()) return complain_of_option(fault);
  try {
    if (!help) app.parse(argc, argv);
  } catch (const CLI::Error& error) {
    return complain_of_option(fault_of(error));
  }
  if (silent_scope_) options_.out = silent_scope_->folder();
  if (!given("--steps")) options_.steps = options_.smoke ? smoke_steps_ : usual_steps_;

  try {
    expect_same(options_.ranks.communicator(), "all ranks must have the same options",
                help ? std::vector<std::string>{"--help"} : facts_of(app));
    if (help) {
      std::cout << app.help();
      if (const auto lost = output.lost()) return complain_of_loss(*lost, "");
      return kMet;
    }
    simd::thread_count();  // reports a bad TAPESTRY_THREADS now, not at the first large op
    make_writable_folder(options_.out);
    const Terminal terminal = Terminal::of(1);
    const bool filter =
        std::any_of(filters_.begin(), filters_.end(), [this](const auto& name) { return given(name); });
    if (!filter) std::cout << bold(terminal, slug_ + ": " + idea_) << '\n';
    const bool waits =
        terminal.interactive && ::isatty(0) == 1 && !filter && !options_.smoke && !options_.no_questions;
    Report report(
        std::cout, terminal, options_.smoke ? Report::Judge::no : Report::Judge::yes,
        waits ? Reader(0, std::cout, terminal, from_environment("TAPESTRY_ANSWERS"), slug_.substr(0, 2))
              : Reader());
    body(options_, report);
    report.finish();
    if (const auto lost = output.lost())
      return complain_of_loss(
          *lost, fmt::format("; the files that the run wrote are in '{}'", options_.out.string()));
    const std::string mark = from_environment("TAPESTRY_PASSED");
    if (report.passed() && !mark.empty()) write_atomically(mark, "");
    return report.exit_code();
  } catch (const std::logic_error& error) {
    return complain(fmt::format("internal error, please report it: {}", error.what()), kInternal);
  } catch (const std::bad_alloc&) {
    return complain("out of memory: try smaller sizes", kUsage);
  } catch (const RankFailure& lost) {
    return complain(fmt::format("{}; start the run again to resume from the last checkpoint", lost.what()),
                    kUsage);
  } catch (const std::exception& error) {
    return complain(error.what(), kUsage);
  }
}

}  // namespace tapestry::kit
