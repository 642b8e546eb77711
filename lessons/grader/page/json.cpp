#include "lessons/grader/page/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "lessons/grader/diagnostic.hpp"
#include "lessons/grader/exercise.hpp"
#include "lessons/grader/judge/finding.hpp"
#include "lessons/grader/judged_text.hpp"

namespace tapestry::grader {

namespace {

constexpr const char* kAnswerPath = "/answer.cpp";  // in compiler messages

using Pieces = std::map<std::string, std::string>;  // tape.hpp → its text

/// Adds the pieces that a text includes, directly or through other pieces.
void add_pieces(const std::string& text, const Pieces& all, Json& found) {
  for (const std::string& name : pieces_in(text)) {
    const auto piece = all.find(name);
    if (piece == all.end() || found.contains(name)) continue;
    found[name] = piece->second;
    add_pieces(piece->second, all, found);
  }
}

Exercise exercise_from(const Json& json) {
  Exercise exercise;
  exercise.piece = json.at("piece");
  exercise.judge = json.at("judge");
  exercise.judge_line = json.at("judge_line");
  exercise.source = json.at("source").get<std::string>();
  exercise.limit = json.at("limit");
  return exercise;
}

std::string judge_path(const Exercise& exercise) { return "/" + exercise.source.generic_string(); }

Json with_diagnostic(Json verdict, const char* kind, const Diagnostic& diagnostic) {
  verdict["kind"] = kind;
  verdict["line"] = diagnostic.line;
  verdict["sentence"] = diagnostic.sentence;
  return verdict;
}

Json fault_as_json(const Fault& fault) {
  constexpr const char* kKinds[] = {"not_written", "value", "shape", "sentence", "exception"};
  return {{"kind", kKinds[static_cast<int>(fault.kind)]},
          {"title", fault.title},
          {"example", fault.example},
          {"what", fault.what},
          {"expected", fault.expected},
          {"got", fault.got}};
}

}  // namespace

Json exercises_as_json(const Json& sources) {
  std::vector<Exercise> exercises;
  for (const auto& [path, text] : sources.items()) exercises.push_back(parse_exercise(path, text));
  std::sort(exercises.begin(), exercises.end(),
            [](const Exercise& a, const Exercise& b) { return a.id < b.id; });
  Pieces pieces;
  for (const Exercise& exercise : exercises)
    if (!exercise.piece.empty()) pieces[exercise.piece] = "#pragma once\n" + exercise.solution();
  Json all = Json::array();
  for (const Exercise& exercise : exercises) {
    Json wrong = Json::array(), engine = Json::object();
    for (const WrongAnswer& answer : exercise.wrong)
      wrong.push_back({{"sentence", answer.sentence}, {"text", exercise.with(answer)}});
    add_pieces(exercise.given() + exercise.solution(), pieces, engine);
    all.push_back({{"id", exercise.id.text()},
                   {"name", exercise.name},
                   {"kind", exercise.kind},
                   {"title", exercise.title},
                   {"minutes", exercise.minutes},
                   {"path", fmt::format("practise/{}/{}", exercise.folder.generic_string(),
                                        exercise.source.filename().generic_string())},
                   {"given", exercise.given()},
                   {"solution", exercise.solution()},
                   {"hints", exercise.hints},
                   {"piece", exercise.piece},
                   {"uses", pieces_in(exercise.given())},
                   {"limit", exercise.limit},
                   {"fast", exercise.fast},
                   {"symptom", exercise.symptom},
                   {"wrong", wrong},
                   {"engine", engine},
                   {"judge", exercise.judge},
                   {"judge_line", exercise.judge_line},
                   {"source", exercise.source.generic_string()}});
  }
  return all;
}

Json texts_as_json(const Json& input) {
  const Exercise exercise = exercise_from(input.at("exercise"));
  const Json& pieces = input.at("pieces");
  const JudgedText texts = judged_text(exercise, {kAnswerPath, input.at("answer")}, judge_path(exercise),
                                       [&](const std::string& name) -> std::optional<SourceText> {
                                         if (!name.starts_with("engine/") || !pieces.contains(name.substr(7)))
                                           return {};
                                         return SourceText{"/" + name, pieces[name.substr(7)]};
                                       });
  if (texts.error.empty()) return {{"files", texts.files}};
  return {{"compiler", texts.error}};
}

Json verdict_as_json(const Json& input) {
  const Exercise exercise = exercise_from(input.at("exercise"));
  Json verdict{{"kind", ""}, {"right", Json::array()}, {"fault", nullptr}, {"reason", nullptr},
               {"line", 0},  {"sentence", ""},         {"score", nullptr}, {"unit", ""}};
  if (input.contains("compiler"))
    return with_diagnostic(verdict, "compile_error",
                           compile_error(input["compiler"], kAnswerPath, judge_path(exercise)));
  if (input.contains("timed_out")) return with_diagnostic(verdict, "timeout", out_of_time(exercise.limit));
  if (input.contains("trap")) {
    Diagnostic diagnostic = trap(input["trap"]);
    diagnostic.line = input.at("line");
    return with_diagnostic(verdict, "crash", diagnostic);
  }
  const Finding finding = finding_from_json(input.at("finding"));
  verdict["right"] = finding.right;
  if (finding.score) verdict["score"] = *finding.score;
  verdict["unit"] = finding.unit;
  verdict["kind"] = "right";
  if (!finding.fault) return verdict;
  verdict["kind"] = finding.fault->kind == Fault::Kind::not_written ? "not_written" : "wrong";
  verdict["fault"] = fault_as_json(*finding.fault);
  for (const Json& known : input.at("faults")) {
    const Finding other = finding_from_json(known.at(1));
    if (!other.fault || other.fault->kind == Fault::Kind::not_written || !other.fault->like(*finding.fault))
      continue;
    verdict["reason"] = known.at(0);
    break;
  }
  return verdict;
}

}  // namespace tapestry::grader
