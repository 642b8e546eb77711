// A lesson where something is wrong around it: outputs that take nothing, files in the way, no threads,
// another run, a narrow terminal, texts that are none.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <thread>

#include "tests/catch.hpp"
#include "tests/programs/program.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::Ended;
using test::Program;
using test::run;

namespace {

namespace fs = std::filesystem;

/// A text, and a lesson that learns it in a moment.
class Learning {
 public:
  explicit Learning(const std::string& line = "to be or not to be that is the question\n") {
    std::ofstream file(folder_ / "text", std::ios::binary);
    for (int i = 0; i < 50; ++i) file << line;
  }
  /// Its command line; options in `more` replace those of their name.
  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {test::lesson("20_gpt"),
                                    "--data",
                                    folder_ / "text",
                                    "--out",
                                    folder_ / "out",
                                    "--steps",
                                    "20",
                                    "--layers",
                                    "1",
                                    "--heads",
                                    "1",
                                    "--width",
                                    "8",
                                    "--context",
                                    "8",
                                    "--batch",
                                    "2",
                                    "--length",
                                    "40"};
    for (auto word = more.begin(); word != more.end(); ++word) {
      const auto given = std::find(all.begin(), all.end(), *word);
      if (given == all.end())
        all.push_back(*word);
      else
        *std::next(given) = *++word;  // another value
    }
    return all;
  }
  fs::path folder() const { return folder_ / "out/usual"; }
  fs::path checkpoint() const { return folder() / "checkpoint.safetensors"; }
  /// Lines of the log, the columns that hold no times.
  std::string log() const {
    std::ifstream file(folder() / "log.csv");
    std::string line, all;
    while (std::getline(file, line)) all += line.substr(0, line.find(',', line.find(',') + 1)) + "\n";
    return all;
  }

 private:
  test::TemporaryFolder folder_;
};

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void close_output() { ::close(1); }
void close_errors() { ::close(2); }
void no_reader(int descriptor) {
  int ends[2];
  if (::pipe(ends) != 0) std::_Exit(125);
  ::dup2(ends[1], descriptor);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace

TEST_CASE("what cannot be told of progress stops no training", "[unsanitized]") {
  const Learning usual;
  const Ended good = run(usual.words());
  REQUIRE(good.code == 0);
  REQUIRE_FALSE(good.err.empty());
  const std::function<void()> bad[] = {close_errors, [] { test::lead(2, "/dev/full"); },
                                       [] { no_reader(2); }};
  for (const auto& surroundings : bad) {
    const Learning learning;
    const Ended end = run(learning.words(), surroundings);
    CHECK(end.code == 0);
    CHECK(lines(end.out) == lines(good.out));
    CHECK(learning.log() == usual.log());
  }
  // The loop of the other lessons: its line about the time goes another way.
  const test::TemporaryFolder folder;
  CHECK(run({test::lesson("20_gpt"), "--smoke", "--out", folder.path()}, [] {
          test::lead(2, "/dev/full");
        }).code == 0);
}

TEST_CASE("an output that cannot be written is told, and nothing else is lost", "[unsanitized]") {
  const Learning usual;
  REQUIRE(run(usual.words()).code == 0);
  const auto told = [](const Ended& end, const char* why) {
    CHECK(end.code == 2);
    CHECK_THAT(end.err, ContainsSubstring("\n20_gpt: cannot write to standard output: " + std::string(why)));
    CHECK(end.err.find("cannot write") == end.err.rfind("cannot write"));
  };
  const std::pair<std::function<void()>, const char*> bad[] = {
      {close_output, "Bad file descriptor"},
      {[] { test::lead(1, "/dev/full"); }, "No space left on device"},
      {[] { no_reader(1); }, "Broken pipe"}};
  for (const auto& [surroundings, why] : bad) {
    CAPTURE(why);
    const Learning learning;
    const Ended end = run(learning.words(), surroundings);
    told(end, why);
    CHECK_THAT(end.err, ContainsSubstring("/out'"));
    CHECK(learning.log() == usual.log());
    CHECK(run(learning.words({"--prompt", "to be"})).code == 0);  // what it learned is there
  }
  const Ended help = run({test::lesson("20_gpt"), "--help"}, [] { test::lead(1, "/dev/full"); });
  CHECK(help.code == 2);
  CHECK(help.err == "20_gpt: cannot write to standard output: No space left on device\n");
}

TEST_CASE("a limit on the size of files is told") {
  const Learning learning;
  const Ended end = run(learning.words({"--width", "64"}), [] {
    const rlimit limit{16384, 16384};  // less than the checkpoint, more than all else
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  CHECK(end.code == 2);
  CHECK_THAT(end.err,
             ContainsSubstring("cannot write '" + learning.checkpoint().string() + "': File too large"));
  CHECK_FALSE(fs::exists(learning.checkpoint()));
  CHECK_FALSE(fs::exists(learning.checkpoint().string() + ".new"));
}

TEST_CASE("a pipe in the way of the checkpoint is told at once, and a link to it is kept") {
  const Learning learning;
  fs::create_directories(learning.folder());
  const fs::path beside = learning.checkpoint().string() + ".new";
  REQUIRE(::mkfifo(beside.c_str(), 0600) == 0);
  const Ended end = run(learning.words());
  CHECK(end.code == 2);
  CHECK_THAT(end.err, ContainsSubstring("checkpoint.safetensors.new' exists and is not a regular file"));
  fs::remove(beside);
  fs::create_directory(learning.folder() / "disk");
  fs::create_symlink("disk/model", learning.checkpoint());
  CHECK(run(learning.words()).code == 0);
  CHECK(run(learning.words({"--fresh"})).code == 0);
  CHECK(fs::is_symlink(learning.checkpoint()));
  CHECK(fs::file_size(learning.folder() / "disk/model") > 1000);
}

TEST_CASE("a folder belongs to one run, until that ends or is killed", "[unsanitized]") {
  const Learning learning;
  Program first(learning.words({"--steps", "100000000"}));
  for (int i = 0; i < 2000 && !fs::exists(learning.folder() / "log.csv"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Ended second = run(learning.words());
  CHECK(second.code == 2);
  CHECK(lines(second.err) == 1);
  CHECK_THAT(second.err,
             ContainsSubstring("another run is using the folder '" + learning.folder().string() + "'"));
  first.kill();
  CHECK(run(learning.words()).code == 0);
}

TEST_CASE("without threads a run takes one, says so once, and has the same bits", "[unsanitized]") {
  const auto learn = [](const Learning& learning, bool threads) {
    return run(learning.words({"--width", "64", "--context", "64", "--batch", "8"}), [threads] {
      ::setenv("TAPESTRY_THREADS", "4", 1);
      // A thread's stack is as large as this: larger than an address space.
      const rlimit limit{rlim_t{1} << 47, RLIM_INFINITY};
      if (!threads && ::setrlimit(RLIMIT_STACK, &limit) != 0) std::_Exit(125);
    });
  };
  const Learning usual, alone;
  const Ended good = learn(usual, true), end = learn(alone, false);
  REQUIRE(good.code == 0);
  if (end.code == 125) return;  // the limit may not be raised here
  CHECK(end.code == 0);
  CHECK_THAT(end.err, ContainsSubstring("running on 1 thread instead of 4\n"));
  CHECK(end.err.find("instead of") == end.err.rfind("instead of"));
  CHECK(alone.log() == usual.log());
}

TEST_CASE("a narrow terminal gets narrow lines, anything else the lines as they are", "[unsanitized]") {
  const Learning learning;
  const Ended end = test::run_on_terminal(learning.words(), 20);
  CHECK(end.code == 0);
  // A row ends with "\n", or is drawn anew after "\r"; escape sequences take no room.
  const std::string plain = std::regex_replace(end.out, std::regex("\x1b\\[[0-9;?]*[A-Za-z]"), "");
  std::size_t rows = 0;
  std::istringstream all(std::regex_replace(plain, std::regex("\r"), "\n"));
  for (std::string row; std::getline(all, row); ++rows) {
    const auto characters = std::count_if(row.begin(), row.end(), [](char c) { return (c & 0xC0) != 0x80; });
    CAPTURE(row);
    CHECK(characters <= 20);
  }
  CHECK(rows > 30);
  const Ended piped = run(learning.words({"--fresh"}));
  CHECK_THAT(piped.out, ContainsSubstring("  a GPT with two blocks"));
  std::istringstream lines_of(piped.out);
  std::size_t longest = 0;
  for (std::string row; std::getline(lines_of, row);) longest = std::max(longest, row.size());
  CHECK(longest > 80);
}

TEST_CASE("a text without a line's end is learned and written on", "[unsanitized]") {
  const Learning learning("to be or not to be ");
  const Ended end = run(learning.words());
  CHECK(end.code == 0);
  CHECK(end.err.find("alphabet") == std::string::npos);
  CHECK(end.out.size() > end.out.find("Generated text") + 40);
  CHECK(run(learning.words({"--prompt", ""})).code == 0);
}

TEST_CASE("a NUL byte is refused before anything is learned") {
  const Learning learning(std::string("to be\nor\0not\n", 13));
  const Ended end = run(learning.words());
  CHECK(end.code == 2);
  CHECK(end.err.find("/text:2: a NUL byte at byte 3 of the line") != std::string::npos);
  CHECK_FALSE(fs::exists(learning.folder()));
}

TEST_CASE("the scripts can be called through a link") {
  const test::TemporaryFolder folder;
  const fs::path source = TAPESTRY_SOURCE_DIR;
  for (const char* script : {"lessons/run", "tests/run"}) {
    fs::remove(folder / "link");
    fs::remove(folder / "second");
    fs::create_symlink(source / script, folder / "link");
    fs::create_symlink("link", folder / "second");
    const Ended straight = run({source / script, "--help"}), linked = run({folder / "second", "--help"});
    CHECK(linked.code == 0);
    CHECK(linked.err.empty());
    CHECK(linked.out == straight.out);
    CHECK(linked.out.find("usage:") == 0);
  }
}
