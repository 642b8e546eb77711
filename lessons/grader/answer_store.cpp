#include "lessons/grader/answer_store.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/io/text.hpp"
#include "lessons/grader/compiler.hpp"
#include "lessons/grader/folder_lock_guard.hpp"
#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/usage_error.hpp"

namespace tapestry::grader {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Returns removed lines with "- " and added lines with "+ ", by the longest common subsequence.
std::string difference(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = lines_of(before), b = lines_of(after);
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::string out;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j])
      ++i, ++j;
    else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1]))
      out += "- " + a[i++] + "\n";
    else
      out += "+ " + b[j++] + "\n";
  }
  return out;
}

}  // namespace

AnswerStore::AnswerStore(fs::path root) : root_(std::move(root)) { read(); }

fs::path AnswerStore::state() const { return root_ / "practise/.state"; }

void AnswerStore::read() {
  const fs::path file = state() / "progress.json";
  if (!fs::exists(file)) return;
  const auto check = [&](bool holds, const std::string& what, const std::string& must) {
    if (holds) return;
    throw kit::UsageError(
        fmt::format("{} is damaged: {} must be {}; repair it, or delete it to start over (your answers stay)",
                    file.string(), printable(what), must));
  };
  const Json json = Json::parse(content(file), nullptr, false);
  check(json.is_object(), "it", "a JSON object");
  // value() returns the member `name` of an object, or null if there is none, and checks its type.
  const auto value = [&](const Json& object, const std::string& of, const char* name, auto is,
                         const char* must) {
    const Json found = object.value(name, Json());
    check(found.is_null() || is(found), of + name, must);
    return found;
  };
  const auto count = [](const Json& x) { return x.is_number_integer() && x >= 0 && x <= 1'000'000'000; };
  const auto text = [](const Json& x) { return x.is_string(); };
  const Json current = value(json, "", "current", text, "a string");
  const Json exercises = value(
      json, "", "exercises", [](const Json& x) { return x.is_object(); }, "an object");
  std::map<std::string, Record> records;
  for (const auto& [id, entry] : exercises.items()) {
    const std::string of = "exercises." + id + ".";
    check(entry.is_object(), "exercises." + id, "an object");
    const Json tries = value(entry, of, "tries", count, "a whole number from 0 to 1000000000");
    const Json hints = value(entry, of, "hints", count, "a whole number from 0 to 1000000000");
    const Json solved = value(entry, of, "solved", text, "a string");
    const Json shown = value(
        entry, of, "solution_shown", [](const Json& x) { return x.is_boolean(); }, "true or false");
    const Json best = value(
        entry, of, "best", [](const Json& x) { return x.is_number(); }, "a number");
    Record& record = records[id];
    if (!tries.is_null()) record.tries = tries;
    if (!hints.is_null()) record.hints = hints;
    if (!solved.is_null()) record.solved = solved;
    if (!shown.is_null()) record.solution_shown = shown;
    if (!best.is_null()) record.best = best.get<double>();
  }
  current_ = current.is_null() ? "" : current.get<std::string>();
  records_ = std::move(records);
}

void AnswerStore::save() const {
  Json json{{"current", current_}, {"exercises", Json::object()}};
  for (const auto& [id, record] : records_) {
    Json& entry = json["exercises"][id];
    entry = {{"tries", record.tries},
             {"hints", record.hints},
             {"solved", record.solved},
             {"solution_shown", record.solution_shown}};
    if (record.best) entry["best"] = *record.best;
  }
  kit::write_atomically(state() / "progress.json", json.dump(1) + "\n");
}

fs::path AnswerStore::answer_of(const Exercise& exercise) const {
  return fs::path("practise") / exercise.folder / exercise.source.filename();
}

fs::path AnswerStore::given_of(const Exercise& exercise) const {
  return root_ / "practise/.state/given" / exercise.folder / exercise.source.filename();
}

void AnswerStore::begin(const Exercise& exercise) const {
  const fs::path answer = root_ / answer_of(exercise);
  if (fs::exists(answer)) return;
  kit::make_writable_folder(answer.parent_path());
  accept_change(exercise);
  kit::create_atomically(answer, exercise.given());  // an editor may have written one meanwhile
}

/// Renames a file, given relative to the project, by adding a timestamp to its name, and returns the new path.
fs::path AnswerStore::rename_with_timestamp(const fs::path& file) const {
  const std::string day = fmt::format("{:%Y-%m-%d_%H.%M.%S}", fmt::localtime(std::time(nullptr)));
  const std::string stem = file.stem().string(), extension = file.extension().string();
  fs::path kept = file.parent_path() / fmt::format("{}.{}{}", stem, day, extension);
  for (int more = 2; fs::exists(root_ / kept); ++more)
    kept = file.parent_path() / fmt::format("{}.{}_{}{}", stem, day, more, extension);
  fs::rename(root_ / file, root_ / kept);
  return kept;
}

bool AnswerStore::has_engine_header(const std::string& piece) const {
  return fs::exists(root_ / "practise/engine" / piece);
}

fs::path AnswerStore::save_engine_header(const Exercise& exercise, const std::string& answer,
                                         const std::vector<Exercise>& all) const {
  const fs::path file = fs::path("practise/engine") / exercise.piece;
  const fs::path ours = root_ / "practise/.state/engine" / exercise.piece;
  const std::string text = "#pragma once\n" + answer, was = content(root_ / file);
  if (was != text) {
    kit::make_writable_folder(root_ / "practise/engine");
    if (!was.empty() && was != content(ours)) rename_with_timestamp(file);
    fs::create_directories(ours.parent_path());
    kit::write_atomically(root_ / file, text);
    kit::write_atomically(ours, text);
  }
  std::string whole = "// Your engine: the pieces that you have written.\n#pragma once\n\n";
  for (const Exercise& other : all)
    if (!other.piece.empty() && has_engine_header(other.piece))
      whole += fmt::format("#include \"engine/{}\"\n", other.piece);
  const fs::path engine = "practise/engine.hpp", ours_too = root_ / "practise/.state/engine.hpp";
  if (const std::string now = content(root_ / engine); now != whole) {
    if (!now.empty() && now != content(ours_too)) rename_with_timestamp(engine);
    kit::write_atomically(root_ / engine, whole);
  }
  if (content(ours_too) != whole) kit::write_atomically(ours_too, whole);
  return file;
}

fs::path AnswerStore::reset(const Exercise& exercise) {
  const fs::path answer = answer_of(exercise);
  const fs::path kept = fs::exists(root_ / answer) ? rename_with_timestamp(answer) : fs::path();
  begin(exercise);
  return kept;
}

std::optional<std::string> AnswerStore::changed(const Exercise& exercise) const {
  const std::string was = content(given_of(exercise)), is = exercise.given();
  if (was.empty() || was == is) return std::nullopt;
  return difference(was, is);
}

void AnswerStore::accept_change(const Exercise& exercise) const {
  fs::create_directories(given_of(exercise).parent_path());
  kit::write_atomically(given_of(exercise), exercise.given());
}

Record AnswerStore::record(const ExerciseId& id) const {
  const auto found = records_.find(id.text());
  return found == records_.end() ? Record{} : found->second;
}

void AnswerStore::remember(const ExerciseId& id, Record record) {
  const FolderLockGuard lock(state());
  read();  // includes what other processes have written since, for this exercise too
  Record& kept = records_[id.text()];
  if (record.solved.empty()) record.solved = kept.solved;
  record.solution_shown |= kept.solution_shown;
  record.tries = std::max(record.tries, kept.tries);
  record.hints = std::max(record.hints, kept.hints);
  if (kept.best && (!record.best || *kept.best < *record.best)) record.best = kept.best;
  kept = record;
  save();
}

std::optional<std::string> AnswerStore::current() const {
  if (current_.empty()) return std::nullopt;
  return current_;
}

void AnswerStore::set_current(const ExerciseId& id) {
  if (current_ == id.text()) return;
  const FolderLockGuard lock(state());
  read();
  current_ = id.text();
  save();
}

void AnswerStore::write_compile_commands(
    const std::map<std::string, std::pair<std::string, std::string>>& commands) const {
  Json json = Json::array();
  for (const auto& [file, command] : commands)
    json.push_back({{"directory", command.first}, {"command", command.second}, {"file", file}});
  const fs::path file = root_ / "practise/compile_commands.json";
  const std::string text = json.dump(1) + "\n";
  if (content(file) != text) kit::write_atomically(file, text);
}

}  // namespace tapestry::grader
