// A lesson's figures against its targets, its questions to the reader, and whether all targets were met.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/program/question.hpp"
#include "lessons/kit/program/terminal.hpp"

namespace tapestry::kit {

/// Prints sections, figures and targets, and remembers which targets were missed.
class Report {
 public:
  /// `no`: a smoke run is too short to reach targets; at_least, at_most and check_quoted print them without
  /// judging.
  enum class Judge { yes, no };

  explicit Report(std::ostream& out, Terminal terminal = {}, Judge judge = Judge::yes, Reader reader = {});

  /// A numbered heading: "2. The same with nn/".
  void section(std::string_view title);
  /// A line of text.
  void note(std::string_view line);
  /// A figure without a target.
  void figure(std::string_view what, double value, std::string_view unit = "");
  /// A figure with a target: "exact match  99.6 % (target ≥ 99 %)  ok". NaN meets no target,
  /// and is printed as "not measured".
  /// Returns whether it is met.
  bool at_least(std::string_view what, double value, double target, std::string_view unit = "");
  bool at_most(std::string_view what, double value, double target, std::string_view unit = "");
  /// A figure that the lesson's prose quotes: `text_says`, within `tolerance` of it (a share: 0.1 is 10 %).
  /// Returns whether it is met. So text and output cannot drift apart.
  bool check_quoted(std::string_view what, double value, double text_says, double tolerance,
                    std::string_view unit = "");
  /// A yes or no that holds at any number of steps (gradients agree, two results are equal): always judged.
  bool check(std::string_view what, bool ok);

  /// Puts a question before the figure is known, with two to five choices, and waits for the reader where one
  /// sits at a terminal. `name` says in a few words what it is about: answer() begins with it.
  Question ask(std::string_view name, std::string_view text, std::vector<std::string> choices);
  /// Beside the figure: what the reader said, which letter is right, and why. `holds` says whether this run
  /// shows it: the answer is a target like at_least, so that it is never told against the figures. A smoke run
  /// prints nothing. Throws std::logic_error where `right` is none of the choices.
  bool answer(const Question& question, char right, bool holds, std::string_view why);

  /// This run is a part of the lesson, or does not judge its target: the last line then says so.
  void part_of_lesson() { part_ = true; }
  /// The last line: all met, or the names of those that were missed. Prints nothing where nothing was judged.
  /// Throws std::logic_error if a question was left without its answer.
  void finish();

  bool all_met() const { return missed_.empty(); }
  /// Whether this run judged the lesson, and all was met.
  bool passed() const { return judge_ == Judge::yes && !part_ && judged_ > 0 && all_met(); }
  /// 0 when all was met, else 1.
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
  std::vector<std::string> open_;  // names of questions without an answer so far
  bool part_ = false;
  int sections_ = 0;
  int judged_ = 0;
  std::vector<std::string> missed_;
};

/// `value` with four significant digits, or as many more as it takes to stand on its own side of `target`:
/// 98.9996 against 99 is never printed as 99.
std::string number_beside(double value, double target);

}  // namespace tapestry::kit
