// Lines in groups: of files, of standard input, and of a pipe that stops for a while.
#include "lessons/kit/text/line_reader.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "lessons/kit/program/peak_memory.hpp"
#include "lessons/kit/text/line_writer.hpp"
#include "lessons/kit/text/text.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/standard_input.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines come in groups", "[kit]") {
  const Scratch scratch;
  LineReader reader(scratch.write("text", "a\n\nc\r\nd"));
  CHECK(reader.group(3) == Lines{"a", "", "c"});
  CHECK(reader.number() == 3);
  CHECK(reader.group(3) == Lines{"d"});
  CHECK(reader.group(3).empty());
  CHECK(LineReader(scratch.write("text", "\xEF\xBB\xBF")).group(3).empty());
  CHECK(LineReader(scratch.write("text", "\xEF\xBB\xBF\n")).group(3) == Lines{""});
}

TEST_CASE("a file that the system cannot even look for says why", "[kit]") {
  const Scratch scratch;
  CHECK_THAT(usage_error([&] { LineReader{scratch.folder() / std::string(5000, 'a')}; }),
             ContainsSubstring("cannot read '") && ContainsSubstring("File name too long"));
  CHECK_THAT(usage_error([&] { LineReader{scratch.write("a", "x") / "b"}; }),
             ContainsSubstring("no such file"));
  CHECK_THAT(usage_error([&] { LineReader{scratch.folder()}; }), ContainsSubstring("it is a folder"));
}

TEST_CASE("what stands before a bad line comes first", "[kit]") {
  const StandardInput input("a\nb\nc\xFF\nd\n");
  LineReader reader("-");
  CHECK(reader.group(10) == Lines{"a", "b"});
  for (int again = 0; again < 2; ++again)
    CHECK_THAT(usage_error([&] { reader.group(10); }), ContainsSubstring("standard input:3: invalid UTF-8"));
}

TEST_CASE("a pipe gives what it has", "[kit]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int before = ::dup(STDIN_FILENO);
  REQUIRE(::dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
  ::close(ends[0]);
  const auto put = [&](const std::string& text) {
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  };
  {
    LineReader reader("-");
    put("one\ntwo\nthr");
    CHECK(reader.group(10) == Lines{"one", "two"});  // and does not wait for the third
    put("ee\n");
    CHECK(reader.group(10) == Lines{"three"});
    put("four");
    ::close(ends[1]);
    CHECK(reader.group(10) == Lines{"four"});
    CHECK(reader.group(10).empty());
  }
  ::dup2(before, STDIN_FILENO);
  ::close(before);
}

TEST_CASE("a line that is too long is refused before it takes the memory", "[kit]") {
  const Scratch scratch;
  const auto path = scratch.write("text", "a\n");
  std::filesystem::resize_file(path, 300'000'000);  // one line of zeros, which takes no place on the disk
  const double before = peak_memory();
  CHECK_THAT(usage_error([&] { read_lines(path); }), ContainsSubstring(":2: the line has more bytes than"));
  CHECK(peak_memory() - before < 50);
}

TEST_CASE("a file of lines is there when it is whole", "[kit]") {
  const Scratch scratch;
  scratch.write("old", "old\n");
  std::filesystem::create_symlink("old", scratch.path("link"));
  {
    LineWriter writer(scratch.path("link"));
    writer.line("new");
    writer.flush();
    CHECK(scratch.read("old") == "old\n");
    CHECK(scratch.read("old.part") == "new\n");
    writer.line("");
    writer.finish();
  }
  CHECK(scratch.read("old") == "new\n\n");
  CHECK(std::filesystem::is_symlink(scratch.path("link")));
  CHECK(scratch.files() == 2);
  CHECK_THAT(usage_error([&] { LineWriter{scratch.folder()}; }), ContainsSubstring("it is a folder"));
  CHECK_THAT(usage_error([&] { LineWriter{scratch.path("none") / "x"}; }), ContainsSubstring("No such file"));
  CHECK_THAT(usage_error([&] {
               LineWriter full("/dev/full");
               full.line("x");
               full.finish();
             }),
             ContainsSubstring("/dev/full") && ContainsSubstring("No space left"));
}

TEST_CASE("a disk that gets full leaves no part of a file behind", "[kit]") {
  const Scratch scratch;
  scratch.write("old", "old\n");
  const auto before =
      std::signal(SIGXFSZ, SIG_IGN);  // so that a write beyond the limit fails as on a full disk
  rlimit usual{};
  ::getrlimit(RLIMIT_FSIZE, &usual);
  for (const std::size_t lines : {1U, 5000U}) {  // lost at the end, and in the middle
    std::string said;
    {
      LineWriter writer(scratch.path("old"));
      const rlimit few{4, usual.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &few);
      said = usage_error([&] {
        for (std::size_t i = 0; i < lines; ++i) writer.line("a line");
        writer.finish();
      });
      ::setrlimit(RLIMIT_FSIZE, &usual);
    }
    CHECK_THAT(said, ContainsSubstring("cannot write '") && ContainsSubstring("File too large"));
    CHECK(scratch.read("old") == "old\n");
    CHECK(scratch.files() == 1);
  }
  std::signal(SIGXFSZ, before);
}

TEST_CASE("a whole file whose name is taken by a folder meanwhile keeps its lines", "[kit]") {
  const Scratch scratch;
  LineWriter writer(scratch.path("new"));
  writer.line("a line");
  std::filesystem::create_directories(scratch.path("new") / "folder");
  CHECK_THAT(usage_error([&] { writer.finish(); }), ContainsSubstring("cannot write '"));
  CHECK(scratch.read("new.part") == "a line\n");
}

TEST_CASE("a line of more words than the limit is refused", "[kit]") {
  const auto line = [](std::size_t words, const std::string& between) {
    std::string text = between;
    for (std::size_t i = 0; i < words; ++i) text += "w" + between;
    return text;
  };
  for (const char* between : {" ", "\t", " \f ", "\v"}) {
    CHECK(checked_line(line(kMostWordsInLine, between), "text", 1) == line(kMostWordsInLine, between));
    CHECK(usage_error([&] { checked_line(line(kMostWordsInLine + 1, between), "text", 7); }) ==
          "text:7: the line has 10001 words, more than the limit of 10000");
  }
  CHECK(checked_line(std::string(2 * kMostWordsInLine, 'w'), "text", 1).size() == 2 * kMostWordsInLine);
}

}  // namespace tapestry::kit
