// Files as vectors, a line of numbers for each line of text.
#include "lessons/24_pretrained/embed_file.hpp"

#include <cstdlib>
#include <sstream>

#include "core/core.hpp"
#include "lessons/kit/text/line_reader.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/standard_input.hpp"

namespace tapestry::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

WordPiece pieces() {
  return WordPiece::from_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##a\n##b\né\n", "pieces", {.max_length = 6});
}

/// Of each row: how many ids, their sum over 3, and the last one.
Tensor embed(const std::vector<Ids>& rows) {
  std::vector<double> numbers;
  for (const Ids& row : rows) {
    double sum = 0;
    for (const std::int64_t id : row) sum += static_cast<double>(id);
    numbers.insert(numbers.end(),
                   {static_cast<double>(row.size()), sum / 3, static_cast<double>(row.back())});
  }
  return tensor(numbers, {static_cast<Size>(rows.size()), 3});
}

}  // namespace

TEST_CASE("each line of a file becomes a line of numbers", "[kit]") {
  const Scratch scratch;
  const std::string text = "a b\n\nab\nB a a a a a a\nwho\n";
  // [CLS] a b [SEP]; [CLS] [SEP]; a ##b; the first four of seven; [UNK]
  const std::vector<std::vector<float>> expected = {
      {4, 14.F / 3, 3}, {2, 5.F / 3, 3}, {4, 16.F / 3, 3}, {6, 22.F / 3, 3}, {3, 6.F / 3, 3}};
  const auto read = [&] {
    std::vector<std::vector<float>> rows;
    std::istringstream lines(scratch.read("out"));
    for (std::string line; std::getline(lines, line);) {
      rows.emplace_back();
      std::istringstream numbers(line);
      for (std::string number; std::getline(numbers, number, '\t');)
        rows.back().push_back(std::strtof(number.c_str(), nullptr));
    }
    return rows;
  };
  embed_file(pieces(), embed, {scratch.write("in", text), scratch.path("out")});
  CHECK(read() == expected);  // bit for bit
  std::filesystem::remove(scratch.path("out"));
  const StandardInput input(text);
  embed_file(pieces(), embed, {"-", scratch.path("out")});
  CHECK(read() == expected);
}

TEST_CASE("a bad line is no vector", "[kit]") {
  const Scratch scratch;
  const auto out = scratch.path("out");
  const auto error = [&](const std::string& text) {
    return usage_error([&] { embed_file(pieces(), embed, {scratch.write("in", text), out}); });
  };
  CHECK_THAT(error("a\nb\xFF\n"), ContainsSubstring("in:2: invalid UTF-8"));
  CHECK_THAT(error(std::string("a\n\0", 3)), ContainsSubstring("in:2: a NUL byte"));
  CHECK_THAT(error("a\n" + std::string(kMostBytesInLine + 1, 'a')), ContainsSubstring("in:2: the line has"));
  CHECK(scratch.files() == 1);
  const StandardInput input("a\nb\xFF\n");
  CHECK_THAT(usage_error([&] {
               embed_file(pieces(), embed, {"-", out});
             }),
             ContainsSubstring("standard input:2: invalid UTF-8"));
  CHECK(scratch.read("out.part") == "3\t3\t3\n");
}

}  // namespace tapestry::kit
