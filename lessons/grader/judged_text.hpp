// The source text of a judged program: the answer, the headers that it includes, and the judge.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lessons/grader/exercise.hpp"

namespace tapestry::grader {

/// A text and the path that compiler messages give for it.
struct SourceText {
  std::string path, text;
};

/// Finds a header that the learner may change, by its name in an #include: a piece of the engine, or a file in the
/// answer's folder. Returns nothing for all other headers.
using FindHeader = std::function<std::optional<SourceText>(const std::string& name)>;

/// Files of a judged program.
struct JudgedText {
  std::map<std::string, std::string> files;  // by name: judged.cpp, answer.cpp, engine/tape.hpp
  std::string error;  // in the form of a compiler's message, if the answer must not be compiled; else ""
};

/// Returns the files of the program that judges an answer; the file to compile is judged.cpp. `judge_path` is the path
/// that compiler messages give for the judge. Refuses a piece of the engine that includes itself, and macros with names
/// that the judge uses.
JudgedText judged_text(const Exercise& exercise, const SourceText& answer, const std::string& judge_path,
                       const FindHeader& find);

}  // namespace tapestry::grader
