// Figures against targets.
#include "lessons/kit/program/report.hpp"

#include <cmath>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/lessons/kit/kept.hpp"

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
  CHECK(report.quoted("variance", 0.31, 0.302, 0.1));
  CHECK(report.quoted("loss", -1.1, -1, 0.11));
  CHECK(out.str().find("0.31 (the text says 0.302, ±10 %)  ok") != std::string::npos);
  CHECK_FALSE(report.quoted("Jacobian", 0.34, 0.302, 0.1));
  CHECK_FALSE(report.quoted("gradient", std::nan(""), 1, 0.1));
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
  CHECK(out.str().find("All checks hold.") != std::string::npos);
  CHECK(out.str().find("arget is met") == std::string::npos);
  CHECK(report.exit_code() == 0);
  CHECK_FALSE(report.passed());
}

TEST_CASE("rounding never moves a figure across its target", "[kit]") {
  CHECK(number_beside(98.99996, 99) == "98.99996");
  CHECK(number_beside(99.00001, 99) == "99.00001");
  CHECK(number_beside(99, 99) == "99");
  CHECK(number_beside(99.61234, 99) == "99.61");
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
    report.quoted("variance", 0.31, 0.302, 0.1);
    report.check("two ways agree", true);
    if (!all_met) {
      report.at_least("recall", 49.99996, 50, "%");
      report.quoted("Jacobian", 0.34, 0.302, 0.1);
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

}  // namespace tapestry::kit
