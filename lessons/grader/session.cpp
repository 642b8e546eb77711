#include "lessons/grader/session.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <sstream>

#include "core/tensor/error.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::grader {

namespace {

namespace fs = std::filesystem;

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr))); }

std::string indented(const std::string& text) {
  std::string out, line;
  std::istringstream lines(text);
  while (std::getline(lines, line)) out += line.empty() ? "\n" : "  " + line + "\n";
  return out;
}

}  // namespace

Session::Session(const fs::path& root, const fs::path& build)
    : root_(fs::absolute(root).lexically_normal()),
      exercises_(read_exercises(root_)),
      compiler_(root_, build),
      grader_(compiler_),
      store_(root_) {
  compiler_.set_engine_solutions(exercises_);
  if (exercises_.empty()) fail("there are no exercises in {}", (root_ / "lessons").string());
}

fs::path Session::file_of(const Exercise& exercise) const { return root_ / store_.answer_of(exercise); }

/// Returns the path to show, relative to the learner's working directory, which many terminals turn into a link.
fs::path Session::shown(const Exercise& exercise) const {
  const fs::path seen = fs::relative(file_of(exercise));
  return seen.string().rfind("../..", 0) == 0 ? file_of(exercise) : seen;
}

const Exercise& Session::find(const std::string& which) const {
  if (which.empty()) {
    const std::optional<std::string> current = store_.current();
    for (const Exercise& exercise : exercises_)
      if (current ? exercise.id.text() == *current : store_.record(exercise.id).solved.empty())
        return exercise;
    return exercises_.front();
  }
  const Exercise* first = nullptr;
  for (const Exercise& exercise : exercises_) {
    if (exercise.id.text() == which) return exercise;
    if (!exercise.is_of_lesson(which)) continue;
    if (!first) first = &exercise;
    if (store_.record(exercise.id).solved.empty()) return exercise;
  }
  if (first) return *first;
  std::string lessons;
  for (const Exercise& exercise : exercises_) {
    const std::string number = std::to_string(exercise.id.lesson);
    if (exercise.id.number == 1) lessons += (lessons.empty() ? "" : ", ") + number;
  }
  throw kit::UsageError(fmt::format(
      "there is no exercise \"{}\"; name a lesson (lessons {} have exercises) or an exercise, such "
      "as {}; \"lessons/practise list\" shows them all",
      which, lessons, exercises_.front().id.text()));
}

const Exercise* Session::after(const Exercise& exercise) const {
  const Exercise* first = nullptr;
  for (const Exercise& other : exercises_) {
    if (!store_.record(other.id).solved.empty() || other.id == exercise.id) continue;
    if (other.id > exercise.id) return &other;
    if (!first) first = &other;
  }
  return first;
}

std::string Session::list(const kit::Terminal& terminal) const {
  std::string out, folder;
  int solved = 0;
  for (const Exercise& exercise : exercises_) {
    const Record record = store_.record(exercise.id);
    solved += record.solved.empty() ? 0 : 1;
    if (exercise.folder.string() != folder) {
      folder = exercise.folder.string();
      out += bold(terminal, folder) + "\n";
    }
    const char* mark = !record.solved.empty() ? "✓" : store_.current() == exercise.id.text() ? "→" : " ";
    out += fmt::format(" {} {:<5} {:<10} {:>3} min  {}{}\n", mark, exercise.id.text(), exercise.kind,
                       exercise.minutes, exercise.title,
                       record.best ? fmt::format(" (best so far {})", kit::short_number(*record.best)) : "");
  }
  return out + fmt::format("{} of {} are solved.\n", solved, exercises_.size());
}

void Session::write_compile_commands() const {
  std::map<std::string, std::pair<std::string, std::string>> commands;
  for (const Exercise& exercise : exercises_)
    if (fs::exists(file_of(exercise)))
      commands[file_of(exercise).string()] = compiler_.editor_command(file_of(exercise));
  store_.write_compile_commands(commands);
}

std::string Session::begin(const Exercise& exercise, const kit::Terminal& terminal) {
  store_.begin(exercise);
  store_.set_current(exercise.id);
  write_compile_commands();
  std::string out = bold(terminal, fmt::format("{} {}", exercise.id.text(), exercise.title)) +
                    fmt::format("  ({}, about {} minutes)\n\n", exercise.kind, exercise.minutes) +
                    indented(exercise.task) + fmt::format("\nYour file:\n  {}\n", shown(exercise).string());
  std::string pieces;
  for (const std::string& piece : pieces_in(exercise.given()))
    pieces += fmt::format("{}{} ({})", pieces.empty() ? "" : ", ", piece,
                          store_.has_engine_header(piece) ? "yours" : "ours");
  if (!pieces.empty()) out += fmt::format("It builds on the engine's {}.\n", pieces);
  if (const std::optional<std::string> change = store_.changed(exercise)) {
    out += fmt::format(
        "\nThis exercise has changed since your file was made. Your file is unchanged. The starting file now "
        "differs in these lines:\n{}\"lessons/practise reset {}\" renames your file and creates the new "
        "one.\n",
        indented(*change), exercise.id.text());
    store_.accept_change(exercise);
  }
  return out;
}

std::string Session::hint(const Exercise& exercise) {
  Record record = store_.record(exercise.id);
  const auto all = static_cast<int>(exercise.hints.size());
  const bool more = record.hints < all;
  if (more) {
    ++record.hints;
    store_.remember(exercise.id, record);
  }
  std::string out;
  for (int i = more ? record.hints - 1 : 0; i < std::min(record.hints, all); ++i)
    out +=
        fmt::format("Hint {} of {}:\n{}", i + 1, all, indented(exercise.hints[static_cast<std::size_t>(i)]));
  if (!more) out += "There are no more hints. If you are stuck, look at the solution.\n";
  return out;
}

std::string Session::solution(const Exercise& exercise) {
  Record record = store_.record(exercise.id);
  if (record.solved.empty() && !record.solution_shown) {
    record.solution_shown = true;
    store_.remember(exercise.id, record);
  }
  return fmt::format("A solution for {}:\n{}", exercise.id.text(), indented(exercise.holes()));
}

std::string Session::reset(const Exercise& exercise) {
  const fs::path kept = store_.reset(exercise);
  std::string out = fmt::format("{} has its starting text again.\n", shown(exercise).string());
  if (!kept.empty()) out += fmt::format("Your old file is kept as {}.\n", kept.string());
  return out;
}

Session::Checked Session::check(const Exercise& exercise, const kit::Terminal& terminal,
                                std::optional<std::uint64_t> seed) {
  store_.begin(exercise);
  store_.set_current(exercise.id);
  if (!seed)
    seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) %
           1'000'000'007;
  const fs::path file = file_of(exercise);
  if (!fs::is_regular_file(file))
    throw kit::UsageError(fmt::format("{} must be a file or a link to one; remove it and start again",
                                      shown(exercise).string()));
  const std::string answer = content(file);
  Checked checked;
  checked.verdict = grader_.examine(exercise, {file, answer, "yours", true}, *seed);
  const Verdict& verdict = checked.verdict;
  if (verdict.kind == Verdict::Kind::interrupted) return checked;
  checked.text = text(verdict, exercise, shown(exercise), answer, terminal);

  Record record = store_.record(exercise.id);
  ++record.tries;
  const bool first_time = verdict.passed() && record.solved.empty();
  if (first_time) record.solved = today();
  if (verdict.passed() && verdict.finding.score) {
    const double score = *verdict.finding.score;
    if (record.best && *record.best <= score)
      checked.text +=
          fmt::format("Your best so far: {} {}\n", kit::short_number(*record.best), verdict.finding.unit);
    else
      record.best = score;
  }
  store_.remember(exercise.id, record);
  if (verdict.passed() && !exercise.piece.empty())
    checked.text += fmt::format("It is now part of your engine: {}\n",
                                store_.save_engine_header(exercise, answer, exercises_).string());
  if (first_time) checked.text += "\n" + solution(exercise);
  return checked;
}

}  // namespace tapestry::grader
