// Figures against targets.
#include "lessons/kit/program/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"
#include "tests/lessons/kit/scratch.hpp"

namespace tapestry::kit {

TEST_CASE("a report prints figures and remembers what was missed", "[kit]") {
  std::ostringstream out;
  Report report(out);
  report.section("First");
  report.section("Second");
  report.figure("words", 1234, "words/s");
  CHECK_FALSE(report.passed());  // nothing has been judged
  CHECK(report.at_least("exact match", 99.6, 99, "%"));
  CHECK(report.at_most("difference", 1e-7, 1e-6));
  CHECK(report.check("two ways agree", true));
  CHECK(report.exit_code() == 0);
  CHECK(report.passed());
  CHECK_FALSE(report.at_least("recall", 12.5, 50, "%"));
  CHECK_FALSE(report.check("three ways agree", false));
  CHECK(report.exit_code() == 1);
  CHECK_FALSE(report.passed());
  report.finish();
  const std::string text = out.str();
  for (const char* part : {"1. First\n", "2. Second\n", "1234 words/s", "99.6 % (target ≥ 99 %)  ok",
                           "1e-07 (target ≤ 1e-06)  ok", "12.5 % (target ≥ 50 %)  MISSED",
                           "Missed: recall; three ways agree\n"}) {
    CAPTURE(part, text);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("on a narrow terminal a figure stands closer to its name", "[kit]") {
  const auto line = [](bool interactive, int columns) {
    std::ostringstream out;
    Report report(out, {interactive, false, columns});
    report.figure("words", 12);
    return out.str();
  };
  CHECK(line(true, 100) == line(false, 20));
  CHECK(line(true, 80) == line(false, 80));
  CHECK(line(true, 60) == "  words" + std::string(19, ' ') + "  12\n");
  CHECK(line(true, 20) == "  words  12\n");
}

TEST_CASE("a figure of the text is met within its tolerance", "[kit]") {
  std::ostringstream out;
  Report report(out);
  CHECK(report.check_quoted("variance", 0.31, 0.302, 0.1));
  CHECK(report.check_quoted("loss", -1.1, -1, 0.11));
  CHECK(out.str().find("0.31 (the text says 0.302, ±10 %)  ok") != std::string::npos);
  CHECK_FALSE(report.check_quoted("Jacobian", 0.34, 0.302, 0.1));
  CHECK_FALSE(report.check_quoted("gradient", std::nan(""), 1, 0.1));
  CHECK(report.exit_code() == 1);
}

TEST_CASE("a target is met at its value, and never by NaN", "[kit]") {
  std::ostringstream out;
  Report report(out);
  CHECK(report.at_least("a", 99, 99));
  CHECK(report.at_most("b", 0.25, 0.25));
  CHECK_FALSE(report.at_least("c", std::nan(""), 99));
  CHECK_FALSE(report.at_most("d", std::nan(""), 99));
}

TEST_CASE("a share of nothing is not measured", "[kit]") {
  std::ostringstream out;
  Report report(out, {}, Report::Judge::no);
  for (const double none : {std::nan(""), -std::nan("")}) {
    report.figure("a", none, "%");
    report.at_least("b", none, 99, "%");
    report.at_most("c", none, 99);
    report.check_quoted("d", none, 3, 0.1, "s");
  }
  const std::string text = out.str();
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("not measured (target ≥ 99 %)  not judged") != std::string::npos);
  CHECK(text.find("not measured (target ≤ 99)  not judged") != std::string::npos);
  CHECK(text.find("not measured (the text says 3 s, ±10 %)  not judged") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 8);
  CHECK(text.find("not measured\n") != std::string::npos);
}

TEST_CASE("a smoke run judges checks but no targets", "[kit]") {
  std::ostringstream out;
  Report report(out, {}, Report::Judge::no);
  CHECK_FALSE(report.at_least("exact match", 3, 99));
  CHECK(report.exit_code() == 0);
  CHECK(out.str().find("not judged") != std::string::npos);
  report.check("gradients agree", false);
  CHECK(report.exit_code() == 1);
}

TEST_CASE("a part of a lesson that holds does not claim the lesson's targets", "[kit]") {
  std::ostringstream out;
  Report report(out);
  report.part_of_lesson();
  report.check("gradients agree", true);
  report.finish();
  CHECK(out.str().find("All checks passed.") != std::string::npos);
  CHECK(out.str().find("arget is met") == std::string::npos);
  CHECK(report.exit_code() == 0);
  CHECK_FALSE(report.passed());
}

TEST_CASE("rounding never moves a figure across its target", "[kit]") {
  CHECK(number_near(98.99996, 99) == "98.99996");
  CHECK(number_near(99.00001, 99) == "99.00001");
  CHECK(number_near(99, 99) == "99");
  CHECK(number_near(99.61234, 99) == "99.61");
}

TEST_CASE("a whole report is the one that was found right", "[kit]") {
  const auto report_of = [](const Terminal& terminal, Report::Judge judge, bool all_met) {
    std::ostringstream out;
    Report report(out, terminal, judge);
    report.section("The same with nn/");
    report.note("A line of text.");
    report.figure("words", 1234, "words/s");
    report.at_least("exact match", 99.6, 99, "%");
    report.at_most("difference", 1e-7, 1e-6);
    report.section("Further on");
    report.check_quoted("variance", 0.31, 0.302, 0.1);
    report.check("two ways agree", true);
    if (!all_met) {
      report.at_least("recall", 49.99996, 50, "%");
      report.check_quoted("Jacobian", 0.34, 0.302, 0.1);
      report.check("three ways agree", false);
    }
    report.finish();
    return out.str();
  };
  std::string text;
  for (const bool all_met : {true, false}) {
    text += "== plain ==\n" + report_of({}, Report::Judge::yes, all_met);
    text += "== smoke ==\n" + report_of({}, Report::Judge::no, all_met);
    text += "== narrow ==\n" + report_of({true, false, 50}, Report::Judge::yes, all_met);
    text += "== in colours ==\n" + report_of({true, true, 80}, Report::Judge::yes, all_met);
  }
  CHECK(difference("kit/program/report.txt", text) == "");
}

namespace {

/// What a reader types, through a pipe in place of a terminal.
struct Typed {
  explicit Typed(const std::string& text) {
    REQUIRE(::pipe(ends) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
  }
  ~Typed() { ::close(ends[0]); }
  Typed(const Typed&) = delete;
  Typed& operator=(const Typed&) = delete;
  int ends[2];
};

/// What a report prints when the reader types this after "which?", of which b is right.
struct Asked {
  explicit Asked(const std::string& typed, bool holds = true, Report::Judge judge = Report::Judge::yes) {
    const Typed input(typed);
    std::ostringstream out;
    Report report(out, {}, judge, Reader(input.ends[0], out, {}, folder.path("answers"), "06"));
    const Question question = report.ask("the table", "Which?", {"first", "second", "third"});
    const std::size_t before = out.str().size();
    CHECK(report.answer(question, 'b', holds, "Because.") == holds);
    asked = out.str().substr(0, before);
    answered = out.str().substr(before);
    met = report.all_met();
    passed = report.passed();
    kept = folder.read("answers");
  }
  Scratch folder;
  std::string asked, answered, kept;
  bool met = false, passed = false;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a question is put with its choices, and its answer says what the reader said", "[kit]") {
  const Asked right("b\n");
  CHECK(has(right.asked,
            "? Which?\n    a  first\n    b  second\n    c  third\n    a, b or c, or Enter to skip: "));
  CHECK(right.answered == "\n  ? the table: b, as you said, second. Because.\n");
  CHECK(right.kept == "06 the table\tb\tright\n");
  CHECK(right.passed);
  const Asked wrong(" (C).\r\n");
  CHECK(wrong.answered == "\n  ? the table: you said c; the answer is b, second. Because.\n");
  CHECK(wrong.kept == "06 the table\tc\twrong\n");
  CHECK(wrong.passed);  // a wrong guess costs nothing
}

TEST_CASE("a question goes on with Enter, asks again after nonsense, and stands the end of input", "[kit]") {
  for (const char* none : {"\n", " \n", "", "d\n\n"}) {
    CAPTURE(none);
    const Asked asked(none);
    CHECK(asked.answered == "\n  ? the table: b, second. Because.\n");
    CHECK(asked.kept.empty());
    CHECK(asked.passed);
  }
  for (const char* late : {"d\nb\n", "ab\nb\n", "yes\n`\nB", "B"}) {
    CAPTURE(late);
    CHECK(has(Asked(late).answered, "b, as you said"));
  }
}

TEST_CASE("an answer is a target: it is not told against the figures", "[kit]") {
  const Asked against("b\n", false);
  CHECK(has(against.answered, "MISSED: this run does not confirm the answer"));
  CHECK_FALSE(against.met);
  CHECK_FALSE(against.passed);
  const Asked smoke("b\n", false, Report::Judge::no);
  CHECK(smoke.answered.empty());  // a short run knows no answer
  CHECK(smoke.met);
  CHECK(smoke.kept.empty());
}

TEST_CASE("nobody is asked twice, and no question stays open", "[kit]") {
  std::ostringstream out;
  Report report(out);  // nobody is there: nothing waits
  const Question question = report.ask("one", "Which?", {"first", "second"});
  CHECK(question.chosen == 0);
  CHECK_THROWS_AS(report.ask("one", "Which?", {"first", "second"}), std::logic_error);
  CHECK_THROWS_AS(report.ask("two", "Which?", {"first"}), std::logic_error);
  CHECK_THROWS_AS(report.finish(), std::logic_error);
  CHECK_THROWS_AS(report.answer(question, 'c', true, ""), std::logic_error);
  CHECK(report.answer(question, 'a', true, ""));
  CHECK_THROWS_AS(report.answer(question, 'a', true, ""), std::logic_error);
  report.finish();
}

TEST_CASE("an answer that cannot be kept is told, and stops nothing", "[kit]") {
  const Typed input("b\n");
  const Scratch folder;
  std::ostringstream out;
  Report report(out, {}, Report::Judge::yes,
                Reader(input.ends[0], out, {}, folder.path("no") / "file", "06"));
  const Question question = report.ask("one", "Which?", {"first", "second"});
  CHECK(report.answer(question, 'b', true, "Because."));
  CHECK(has(out.str(), "your answer could not be saved: "));
}

}  // namespace tapestry::kit
