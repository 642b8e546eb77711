// Report of a lesson: figures, targets, questions to the reader, and the verdict.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/program/question.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Report that prints sections, figures and targets, and records the missed targets.
class Report {
 public:
  /// Mode for targets. With `no`, at_least, at_most and check_quoted print without judging, because a smoke run is too
  /// short to reach targets.
  enum class Judge { yes, no };

  explicit Report(std::ostream& out, Terminal terminal = {}, Judge judge = Judge::yes, Reader reader = {});

  /// Prints a numbered heading: "2. The same with nn/".
  void section(std::string_view title);
  /// Prints a line of text.
  void note(std::string_view line);
  /// Prints a figure without a target.
  void figure(std::string_view what, double value, std::string_view unit = "");
  /// Print a figure with a target: "exact match  99.6 % (target ≥ 99 %)  ok". Return true if the target is met. NaN
  /// meets no target and is printed as "not measured".
  bool at_least(std::string_view what, double value, double target, std::string_view unit = "");
  bool at_most(std::string_view what, double value, double target, std::string_view unit = "");
  /// Prints a figure that the lesson's text quotes as `text_says`, so that text and output cannot drift apart. Returns
  /// true if |value − text_says| ≤ tolerance · |text_says|.
  bool check_quoted(std::string_view what, double value, double text_says, double tolerance,
                    std::string_view unit = "");
  /// Prints a check that must pass after any number of steps (gradients agree, two results are equal). It is always
  /// judged. Returns `ok`.
  bool check(std::string_view what, bool ok);

  /// Asks a question with two to five choices before its figure is shown, and waits for the answer if there is a
  /// reader. `name` is a short title, with which answer() starts. Throws std::logic_error for another number of
  /// choices, or if an open question has the same name.
  Question ask(std::string_view name, std::string_view text, std::vector<std::string> choices);
  /// Prints the reader's answer, the right letter, and why. `holds` says if the figures of this run confirm the right
  /// answer; it is judged like a target. Returns `holds`. A smoke run prints nothing. Throws std::logic_error if
  /// `right` is not one of the choices, or if the question is not open.
  bool answer(const Question& question, char right, bool holds, std::string_view why);

  /// Marks this run as a part of the lesson, or as one that does not judge its target. The last line says so.
  void part_of_lesson() { part_ = true; }
  /// Prints the last line: all targets are met, or the names of the missed ones. Prints nothing if nothing was judged.
  /// Throws std::logic_error if a question has no answer yet.
  void finish();

  bool all_met() const { return missed_.empty(); }
  /// Returns true if this run judged the whole lesson and met all targets.
  bool passed() const { return judge_ == Judge::yes && !part_ && judged_ > 0 && all_met(); }
  /// Returns 0 if all targets are met, otherwise 1.
  int exit_code() const { return all_met() ? 0 : 1; }

 private:
  bool target(std::string_view what, double value, std::string_view sign, double target,
              std::string_view unit, bool met);
  bool judge(std::string_view what, std::string_view shown, bool met);
  void line(std::string_view what, std::string_view rest, std::string_view verdict, int colour);

  std::ostream& out_;
  Terminal terminal_;
  Judge judge_;
  Reader reader_;
  std::vector<std::string> open_;  // names of the questions without an answer
  bool part_ = false;
  int sections_ = 0;
  int judged_ = 0;
  std::vector<std::string> missed_;
};

/// Formats `value` with four significant digits, or with as many more as are needed to show on which side of `target`
/// it is: with target 99, 98.9996 is never printed as 99.
std::string number_near(double value, double target);

}  // namespace tapestry::kit
