// Report of a lesson: figures, targets, questions to the reader, and the verdict.
#include "lessons/kit/program/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "lessons/kit/program/wasm_bridge.hpp"
#include "lessons/kit/text/utf8.hpp"

namespace tapestry::kit {
namespace {

constexpr int kNameWidth = 44, kFigureWidth = 36;  // in columns, on a wide terminal
constexpr int kQuestionColour = 208;

int order(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

std::string with_unit(std::string_view number, std::string_view unit) {
  return unit.empty() ? std::string(number) : fmt::format("{} {}", number, unit);
}

/// Returns the text of a figure. NaN comes from 0 / 0, such as a share of the right answers if none is right.
std::string measured(double value, std::string_view number, std::string_view unit) {
  return std::isnan(value) ? "not measured" : with_unit(number, unit);
}

std::string_view verdict_of(Report::Judge judge, bool met) {
  if (judge == Report::Judge::no) return "not judged";
  return met ? "ok" : "MISSED";
}

}  // namespace

std::string number_near(double value, double target) {
  std::string text;
  for (int digits = 4; digits <= 17; ++digits) {
    text = fmt::format("{:.{}g}", value, digits);
    if (order(std::strtod(text.c_str(), nullptr), target) == order(value, target)) break;
  }
  return text;
}

Report::Report(std::ostream& out, Terminal terminal, Judge judge, Reader reader)
    : out_(out), terminal_(terminal), judge_(judge), reader_(std::move(reader)) {}

void Report::section(std::string_view title) {
  out_ << '\n' << bold(terminal_, fmt::format("{}. {}", ++sections_, title)) << '\n' << std::flush;
}

void Report::line(std::string_view what, std::string_view rest, std::string_view verdict, int colour) {
  const int room = terminal_.interactive ? terminal_.columns - kFigureWidth : kNameWidth;
  out_ << "  " << pad_right(what, std::min(room, kNameWidth)) << "  " << rest;
  if (!verdict.empty()) out_ << "  " << paint(terminal_, colour, verdict);
  out_ << '\n' << std::flush;
}

void Report::note(std::string_view line) { out_ << "  " << line << '\n' << std::flush; }

void Report::figure(std::string_view what, double value, std::string_view unit) {
  tell_figure(what, value, unit, "", "");
  line(what, measured(value, fmt::format("{:.4g}", value), unit), "", kGrey);
}

bool Report::judge(std::string_view what, std::string_view shown, bool met) {
  const bool judged = judge_ == Judge::yes;
  if (judged) ++judged_;
  if (judged && !met) missed_.emplace_back(what);
  line(what, shown, verdict_of(judge_, met), !judged ? kGrey : met ? kGreen : kRed);
  return met;
}

bool Report::target(std::string_view what, double value, std::string_view sign, double target,
                    std::string_view unit, bool met) {
  tell_figure(what, value, unit, fmt::format("{} {}", sign, with_unit(fmt::format("{:g}", target), unit)),
              verdict_of(judge_, met));
  return judge(what,
               fmt::format("{} (target {} {})", measured(value, number_near(value, target), unit), sign,
                           with_unit(fmt::format("{:g}", target), unit)),
               met);
}

bool Report::check_quoted(std::string_view what, double value, double text_says, double tolerance,
                          std::string_view unit) {
  const bool met = std::abs(value - text_says) <= tolerance * std::abs(text_says);
  tell_figure(what, value, unit,
              fmt::format("{} ±{:g} %", with_unit(fmt::format("{:.4g}", text_says), unit), 100 * tolerance),
              verdict_of(judge_, met));
  return judge(
      what,
      fmt::format("{} (the text says {}, ±{:g} %)", measured(value, fmt::format("{:.4g}", value), unit),
                  with_unit(fmt::format("{:g}", text_says), unit), 100 * tolerance),
      met);
}

bool Report::at_least(std::string_view what, double value, double goal, std::string_view unit) {
  return target(what, value, "≥", goal, unit, value >= goal);
}

bool Report::at_most(std::string_view what, double value, double goal, std::string_view unit) {
  return target(what, value, "≤", goal, unit, value <= goal);
}

bool Report::check(std::string_view what, bool ok) {
  ++judged_;
  if (!ok) missed_.emplace_back(what);
  line(what, "", ok ? "ok" : "FAILED", ok ? kGreen : kRed);
  return ok;
}

Question Report::ask(std::string_view name, std::string_view text, std::vector<std::string> choices) {
  Question question{std::string(name), std::move(choices)};
  if (question.choices.size() < 2 || question.choices.size() > 5)
    throw std::logic_error(
        fmt::format("question '{}' must have 2 to 5 choices, got {}", name, question.choices.size()));
  if (std::find(open_.begin(), open_.end(), question.name) != open_.end())
    throw std::logic_error(fmt::format("names of questions must be unique, got '{}' twice", name));
  out_ << "\n  " << paint(terminal_, kQuestionColour, "?") << ' ' << text << '\n';
  for (std::size_t i = 0; i < question.choices.size(); ++i)
    out_ << "    " << static_cast<char>('a' + i) << "  " << question.choices[i] << '\n';
  out_ << std::flush;
  question.chosen = reader_.letter(question.choices.size());
  out_ << '\n' << std::flush;
  open_.push_back(question.name);
  return question;
}

bool Report::answer(const Question& question, char right, bool holds, std::string_view why) {
  const auto choice = [&](char letter) -> const std::string& {
    const std::size_t place = static_cast<std::size_t>(letter - 'a');
    if (letter < 'a' || place >= question.choices.size())
      throw std::logic_error(fmt::format("the question '{}' has no choice '{}'", question.name, letter));
    return question.choices[place];
  };
  const std::string& truth = choice(right);
  const auto asked = std::find(open_.begin(), open_.end(), question.name);
  if (asked == open_.end())
    throw std::logic_error(
        fmt::format("the question '{}' was not asked or is already answered", question.name));
  open_.erase(asked);
  if (judge_ == Judge::no) return holds;
  ++judged_;
  const std::string name = fmt::format("the answer to \"{}\"", question.name);
  if (!holds) missed_.push_back(name);
  out_ << "\n  " << paint(terminal_, kQuestionColour, "?") << ' ' << bold(terminal_, question.name) << ": ";
  if (question.chosen == right)
    out_ << fmt::format("{}, as you said, {}.", right, truth);
  else if (question.chosen != 0)
    out_ << fmt::format("you said {}; the answer is {}, {}.", question.chosen, right, truth);
  else
    out_ << fmt::format("{}, {}.", right, truth);
  out_ << ' ' << why;
  if (!holds) out_ << "  " << paint(terminal_, kRed, "MISSED: this run does not confirm the answer");
  out_ << "\n" << std::flush;
  reader_.keep(question, right);
  return holds;
}

void Report::finish() {
  if (!open_.empty())
    throw std::logic_error(fmt::format("the question '{}' has no answer; call answer()", open_.front()));
  if (judged_ == 0) return;
  if (all_met()) {
    out_ << '\n'
         << paint(terminal_, kGreen,
                  part_ ? "All checks passed. This was only a part of the lesson and its targets."
                  : judge_ == Judge::no ? "All checks passed. A smoke run is too short to reach the targets."
                  : judged_ == 1        ? "The target is met."
                                        : "All targets are met.")
         << '\n';
  } else {
    std::string names;
    for (const std::string& name : missed_) names += (names.empty() ? "" : "; ") + name;
    out_ << '\n' << paint(terminal_, kRed, "Missed: ") << names << '\n';
  }
  out_ << std::flush;
}

}  // namespace tapestry::kit
