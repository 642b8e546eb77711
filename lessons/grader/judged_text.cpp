#include "lessons/grader/judged_text.hpp"

#include <fmt/format.h>

namespace tapestry::grader {

namespace {

/// Quotes a file's name for a #line directive.
std::string in_directive(const std::string& path) {
  std::string out = "\"";
  for (const char c : path) out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "\"";
}

std::string with_path(const SourceText& source) {
  return fmt::format("#line 1 {}\n{}", in_directive(source.path), source.text);
}

void add_headers(const std::string& text, const FindHeader& find, std::map<std::string, std::string>& files) {
  for (const auto& [name, line] : includes_of(text)) {
    if (files.contains(name)) continue;
    const std::optional<SourceText> header = find(name);
    if (!header) continue;
    files[name] = with_path(*header);
    add_headers(header->text, find, files);
  }
}

}  // namespace

JudgedText judged_text(const Exercise& exercise, const SourceText& answer, const std::string& judge_path,
                       const FindHeader& find) {
  JudgedText result{{{"answer.cpp", with_path(answer)}}, {}};
  add_headers(answer.text, find, result.files);
  if (result.files.contains("engine/" + exercise.piece)) {
    int line = 1;
    for (const auto& [name, at] : includes_of(answer.text))
      if (name.starts_with("engine/")) line = at;
    result.error = fmt::format(
        "{}:{}:1: error: \"engine/{}\" is the piece that this exercise makes, so it cannot include "
        "itself, directly or through another piece: include earlier pieces only.\n",
        answer.path, line, exercise.piece);
    return result;
  }
  for (const auto& [name, text] : result.files)
    for (const auto& [macro, line] : macros_of(text))
      if (has_word(exercise.judge, macro)) {
        result.error = fmt::format(
            "{}:{}:1: error: the checks use the name \"{}\", so it cannot be a macro: choose "
            "another name.\n",
            name == "answer.cpp" ? answer.path : name, line - 1, macro);
        return result;
      }
  result.files["judged.cpp"] = fmt::format("#include \"answer.cpp\"\n#line {} {}\n{}", exercise.judge_line,
                                           in_directive(judge_path), exercise.judge);
  return result;
}

}  // namespace tapestry::grader
