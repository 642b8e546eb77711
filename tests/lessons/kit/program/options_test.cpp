// The command line of a lesson, and its exit codes.
#include "lessons/kit/program/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {
namespace {

/// What std::cout and std::cerr get while it lives.
class Capture {
 public:
  Capture() : out_(std::cout.rdbuf(out_text_.rdbuf())), err_(std::cerr.rdbuf(err_text_.rdbuf())) {}
  ~Capture() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  std::string out() const { return out_text_.str(); }
  std::string err() const { return err_text_.str(); }

 private:
  std::ostringstream out_text_, err_text_;
  std::streambuf* out_;
  std::streambuf* err_;
};

struct Outcome {
  int code = -1;
  bool ran = false;
  Options options;
  std::int64_t hidden = 64;
  double rate = 0.5;
  std::string unit = "gru";
  bool deep = false;
  std::string out, err;
};

/// A small lesson: it has options of its own, and reaches `figure` where 99 is wanted.
Outcome run(std::vector<std::string> arguments, const std::function<void()>& in_body = {},
            double figure = 99.5) {
  static const Scratch scratch;
  Outcome outcome;
  const Capture capture;
  Lesson lesson("99_test", "a lesson for tests");
  lesson.steps(100, 7);
  lesson.takes_data("folder with text");
  lesson.add("--hidden", outcome.hidden, "size", 1, 512);
  lesson.add("--rate", outcome.rate, "rate", 0, 1);
  lesson.add("--unit", outcome.unit, "cell", {"gru", "lstm"});
  lesson.add_flag("--deep", outcome.deep, "two layers");
  arguments.insert(arguments.begin(), "lesson");
  if (std::find(arguments.begin(), arguments.end(), "--out") == arguments.end()) {
    arguments.insert(arguments.end(), {"--out", scratch.path("out").string()});
  }
  std::vector<const char*> raw;
  for (const std::string& argument : arguments) raw.push_back(argument.c_str());
  outcome.code =
      lesson.run(static_cast<int>(raw.size()), raw.data(), [&](const Options& options, Report& report) {
        outcome.ran = true;
        outcome.options = options;
        if (in_body) in_body();
        report.at_least("exact match", figure, 99, "%");
      });
  outcome.out = capture.out();
  outcome.err = capture.err();
  return outcome;
}

using Arguments = std::vector<std::string>;

bool is_one_line(const std::string& text) {
  return !text.empty() && std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

}  // namespace

TEST_CASE("a lesson's options have defaults", "[kit]") {
  const Outcome outcome = run({});
  CHECK(outcome.code == 0);
  CHECK(outcome.options.seed == 1);
  CHECK(outcome.options.steps == 100);
  CHECK_FALSE(outcome.options.smoke);
  CHECK(outcome.options.data.empty());
  CHECK(std::filesystem::is_directory(outcome.options.out));
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("99_test: a lesson for tests") != std::string::npos);
}

TEST_CASE("where a file is made into another, standard output holds no title", "[kit]") {
  for (const bool given : {false, true}) {
    const Scratch scratch;
    const Capture capture;
    Lesson lesson("99_test", "a lesson for tests");
    std::filesystem::path file;
    lesson.add_filter("--file", file, "to change");
    const std::string out = scratch.path("out").string();
    const char* const arguments[] = {"lesson", "--out", out.c_str(), "--file", "-"};
    CHECK(lesson.run(given ? 5 : 3, arguments, [](const Options&, Report&) {}) == kMet);
    CHECK(file == (given ? "-" : ""));
    CHECK(capture.out().empty() == given);
  }
}

TEST_CASE("a lesson's options are read", "[kit]") {
  const Outcome outcome = run({"--seed", "18446744073709551615", "--hidden", "32", "--rate=0.25", "--unit",
                               "lstm", "--deep", "--data", "some/where"});
  CHECK(outcome.code == 0);
  CHECK(run({"--hidden", "010"}).hidden == 10);
  CHECK(outcome.options.seed == 18446744073709551615U);
  CHECK(outcome.hidden == 32);
  CHECK(outcome.rate == 0.25);
  CHECK(outcome.unit == "lstm");
  CHECK(outcome.deep);
  CHECK(outcome.options.data == "some/where");
}

TEST_CASE("smoke runs are short and not judged", "[kit]") {
  CHECK(run({"--smoke"}).options.steps == 7);
  CHECK(run({"--smoke", "--steps", "9"}).options.steps == 9);
  CHECK(run({"--smoke"}, {}, 3).code == 0);
  CHECK(run({"--smoke"}).options.folder("task") != run({}).options.folder("task"));
}

TEST_CASE("exit codes: target met, missed, bad use, a bug", "[kit]") {
  CHECK(run({}, {}, 99).code == 0);
  const Outcome missed = run({}, {}, 98.9);
  CHECK(missed.code == 1);
  CHECK(missed.out.find("Missed: exact match") != std::string::npos);

  const Outcome usage = run({}, [] { throw UsageError("bad file 'x'\nsecond line"); });
  CHECK(usage.code == 2);
  CHECK(usage.err == "99_test: bad file 'x' second line\n");
  CHECK(run({}, [] { throw std::runtime_error("disk"); }).code == 2);
  CHECK(run({}, [] { throw std::bad_alloc(); }).code == 2);

  const Outcome bug = run({}, [] { throw std::out_of_range("index 7"); });
  CHECK(bug.code == 3);
  CHECK(bug.err == "99_test: internal error, please report it: index 7\n");
}

TEST_CASE("a lesson that is passed makes the file that it was given for that", "[kit]") {
  const Scratch scratch;
  const std::filesystem::path mark = scratch.path("passed");
  setenv("TAPESTRY_PASSED", mark.c_str(), 1);
  run({"--smoke"});
  run({"--help"});
  run({}, {}, 98);
  run({"--bogus"});
  CHECK_FALSE(std::filesystem::exists(mark));
  run({});
  CHECK(std::filesystem::exists(mark));
  unsetenv("TAPESTRY_PASSED");
}

TEST_CASE("without --out a lesson writes into the project's folder", "[kit]") {
  // CLI11's generations write the default behind an option in different ways.
  const auto help_has = [](const std::string& folder) {
    const std::string help = run({"--help", "--out", "x"}).out;
    const std::size_t at = help.find("out/99_test");
    return at != std::string::npos && help.compare(at - folder.size(), folder.size(), folder) == 0;
  };
  CHECK_FALSE(help_has("/"));
  setenv("TAPESTRY_ROOT", "..", 1);
  CHECK(help_has("../"));
  setenv("TAPESTRY_ROOT", ".", 1);
  CHECK_FALSE(help_has("/"));
  CHECK(help_has(""));
  unsetenv("TAPESTRY_ROOT");
}

TEST_CASE("bad options give one line and exit code 2", "[kit]") {
  const auto arguments = GENERATE(
      Arguments{"--bogus"}, Arguments{"stray"}, Arguments{"--seed", "-1"}, Arguments{"--seed", "one"},
      Arguments{"--seed", "99999999999999999999999"}, Arguments{"--steps", "0"}, Arguments{"--steps", "-5"},
      Arguments{"--steps", "1.5"}, Arguments{"--steps", ""}, Arguments{"--steps", "99999999999"},
      Arguments{"--hidden", "0"}, Arguments{"--hidden", "513"}, Arguments{"--hidden", "0x20"},
      Arguments{"--hidden", "1e2"}, Arguments{"--hidden", "99999999999999999999"}, Arguments{"--rate", "nan"},
      Arguments{"--rate", "1.01"}, Arguments{"--rate", "x\ny"}, Arguments{"--unit", "rnn"},
      Arguments{"--data", ""}, Arguments{"--data"});
  const Outcome outcome = run(arguments);
  CAPTURE(arguments, outcome.err);
  CHECK(outcome.code == 2);
  CHECK_FALSE(outcome.ran);
  CHECK(is_one_line(outcome.err));
}

TEST_CASE("bad options are named, and what they want", "[kit]") {
  const auto said = [](const Arguments& arguments) { return run(arguments).err; };
  const std::string help = " (--help shows the options)\n";
  CHECK(said({"--steps", "1.5"}) ==
        "99_test: --steps: '1.5' is not a whole number from 1 to 1000000000" + help);
  CHECK(said({"--rate", "2"}) == "99_test: --rate: '2' is not a number from 0 to 1" + help);
  const std::string sixty(60, 'x');  // of more, the beginning is said
  CHECK(said({"--rate", sixty}) == "99_test: --rate: '" + sixty + "' is not a number from 0 to 1" + help);
  CHECK(said({"--rate", sixty + "y"}) ==
        "99_test: --rate: '" + sixty + "…' is not a number from 0 to 1" + help);
  CHECK(said({"--out", "x", "--data"}) == "99_test: --data needs a PATH after it" + help);
  CHECK(said({"--out", "x", "--hidden"}) == "99_test: --hidden needs a NUMBER after it" + help);
  CHECK(said({"--out", "x", "--unit"}) == "99_test: --unit needs a TEXT:{gru,lstm} after it" + help);
}

TEST_CASE("a flag has no value and is given once", "[kit]") {
  const std::string help = " (--help shows the options)\n";
  for (const std::string flag : {"--smoke", "--no-questions", "--deep"})
    for (const std::string value : {"3", "1", "0", "true", "false", "perhaps", ""}) {
      CAPTURE(flag, value);
      const Outcome outcome = run({flag + "=" + value});
      CHECK(outcome.code == 2);
      CHECK(outcome.err == "99_test: " + flag + " must have no value, got '" + value + "'" + help);
    }
  CHECK(run({"--smoke=\x1b[31m" + std::string(100, 'x')}).err ==
        "99_test: --smoke must have no value, got '\\x1b[31m" + std::string(52, 'x') + "…'" + help);
  const Outcome twice = run({"--smoke", "--smoke"});
  CHECK(twice.code == 2);
  CHECK(twice.err == "99_test: --smoke must be given once" + help);
  CHECK(run({"--smoke", "--smoke=3"}).code == 2);
  CHECK(run({"--help=3"}).err == "99_test: --help must have no value, got '3'" + help);
  CHECK(run({"--rate=0.25", "--data=--smoke=3"}).code == 0);
  CHECK(run({"--out", "x", "--hidden", "2", "--hidden", "3"}).err ==
        "99_test: --hidden must be given once" + help);
}

TEST_CASE("--data is a bad option where no text is read", "[kit]") {
  const Capture capture;
  Lesson lesson("99_test", "no data");
  const char* const arguments[] = {"lesson", "--data", "x"};
  CHECK(lesson.run(3, arguments, [](const Options&, Report&) {}) == 2);
}

TEST_CASE("--help shows every option and succeeds", "[kit]") {
  const Outcome outcome = run({"--help"});
  CHECK(outcome.code == 0);
  CHECK_FALSE(outcome.ran);
  for (const char* option : {"--seed", "--steps", "--out", "--smoke", "--data", "--hidden", "--deep"}) {
    CAPTURE(option);
    CHECK(outcome.out.find(option) != std::string::npos);
  }
}

TEST_CASE("--help in any place shows the options and does nothing else", "[kit]") {
  const std::string help = run({"--help"}).out;
  for (const Arguments& arguments : {Arguments{"--smoke", "--help"}, Arguments{"--help", "--seed", "x"},
                                     Arguments{"--seed", "x", "-h"}, Arguments{"--nonsense", "-h", "stray"},
                                     Arguments{"--data", "--help"}, Arguments{"--out", "/proc/x", "-h"}}) {
    const Outcome outcome = run(arguments);
    CAPTURE(arguments);
    CHECK(outcome.code == 0);
    CHECK_FALSE(outcome.ran);
    CHECK(outcome.err.empty());
    CHECK(outcome.out == help);
  }
}

TEST_CASE("an out folder that cannot be made is one line and exit code 2", "[kit]") {
  const Scratch scratch;
  scratch.write("file", "x");
  for (const std::string& place :
       {scratch.path("file").string(), scratch.path("file/inside").string(), std::string("/proc/no/such")}) {
    const Outcome outcome = run({"--out", place});
    CAPTURE(outcome.err);
    CHECK(outcome.code == 2);
    CHECK_FALSE(outcome.ran);
    CHECK(is_one_line(outcome.err));
    CHECK(outcome.err.find(place) != std::string::npos);
  }
}

TEST_CASE("a nested out folder is made and left clean", "[kit]") {
  const Scratch scratch;
  const Outcome outcome = run({"--out", scratch.path("a/b c/é").string()});
  CHECK(outcome.code == 0);
  CHECK(std::filesystem::is_empty(scratch.path("a/b c/é")));
}

}  // namespace tapestry::kit
