// What the grader prints of a right answer.
#include "lessons/grader/verdict.hpp"

#include "tests/catch.hpp"

namespace tapestry::grader {
namespace {

std::string right_answer(double score, const std::string& unit) {
  Exercise exercise;
  exercise.id = {27, 5};
  Verdict verdict;
  verdict.kind = Verdict::Kind::right;
  verdict.finding.right = {"keeps to the budget of glances"};
  verdict.finding.score = score;
  verdict.finding.unit = unit;
  return text(verdict, exercise, "mine.cpp", "", kit::Terminal{});
}

}  // namespace

TEST_CASE("a result is written as people write it", "[grader]") {
  CHECK(right_answer(19'200, "glances") ==
        "✓ keeps to the budget of glances\n\nExercise 27.5 is solved.\nYour result: 19,200 glances\n");
  CHECK_THAT(right_answer(0.3125, "of the time"), Catch::Contains("Your result: 0.312 of the time\n"));
  CHECK_THAT(right_answer(4, "weights"), Catch::Contains("Your result: 4 weights\n"));
}

TEST_CASE("a half-written answer names the holes that are not written", "[grader]") {
  const std::string empty = "  // ↓ your code: the sum\n  return not_written_yet();\n  // ↑\n";
  const std::string full = "  // ↓ your code: two lines\n  return 1;  // not_written_yet()\n  // ↑\n";
  const auto said = [](const std::string& answer) {
    Exercise exercise;
    Verdict verdict;
    verdict.kind = Verdict::Kind::not_written;
    return text(verdict, exercise, "mine.cpp", answer, kit::Terminal{});
  };
  CHECK(said(full + empty).starts_with("Line 5 is not written yet: the sum\nNot written yet: "));
  CHECK(said(empty + full + empty).find("Line 8 is not written yet: the sum\n") != std::string::npos);
  for (const std::string& answer : {empty, empty + empty, full})
    CHECK(said(answer).starts_with("Not written yet: "));
}

TEST_CASE("what a program printed is shown cut, without escapes", "[grader]") {
  CHECK(for_terminal("a\tb\n\x1b[31mred\n", 10) == "a    b\n\\x1b[31mred\n");
  CHECK(for_terminal("1\n2\n3\n4", 2) == "1\n2\n… and 2 more lines\n");
  CHECK(for_terminal("1\n2", 2) == "1\n2\n");
  CHECK(for_terminal(std::string(200'000, 'x'), 2).size() < 600);
  CHECK(for_terminal("", 2).empty());
}

}  // namespace tapestry::grader
