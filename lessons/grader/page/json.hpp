// Exercises, program texts and verdicts as JSON, for the book's pages.
#pragma once

#include <nlohmann/json.hpp>

namespace tapestry::grader {

using Json = nlohmann::ordered_json;

/// Returns all exercises, each with its texts, hints, wrong answers and judge, and `engine`, the solutions of the
/// engine's pieces that it includes. `sources` maps the path of each exercise, relative to the project, to its text.
/// Throws Error as parse_exercise() does.
Json exercises_as_json(const Json& sources);

/// Returns {files: {name: text}} for an answer, or {compiler: messages} if it must not be compiled. The input has an
/// exercise of exercises_as_json(), the text of the `answer`, and `pieces`, texts of the engine by name.
Json texts_as_json(const Json& input);

/// Returns the verdict on an answer. The input has its `exercise` and one outcome: `compiler`, the output of a failed
/// compilation; `trap`, the message of a WebAssembly trap, with the learner's `line` or 0; `timed_out`; or `finding`,
/// the judge's JSON text, with `faults`, the findings of the known wrong answers as [sentence, JSON text] at the same
/// seed.
///
/// The output has `kind` (right, wrong, not_written, compile_error, crash or timeout), `right`, `fault`, `reason`,
/// `line`, `sentence`, `score` and `unit`.
Json verdict_as_json(const Json& input);

}  // namespace tapestry::grader
