// Compiles and judges an answer, and returns a verdict.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lessons/grader/compiler.hpp"
#include "lessons/grader/verdict.hpp"

namespace tapestry::grader {

/// Judge of answers.
class Grader {
 public:
  explicit Grader(const Compiler& compiler) : compiler_(compiler) {}

  /// Compiles the answer and judges it with this seed. A wrong answer is compared with the exercise's known wrong
  /// answers, and gets the sentence of the first one that fails in the same way.
  Verdict examine(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;

  /// Compiles one of the wrong answers that examine() may need later. Returns false if all are compiled.
  bool prepare(const Exercise& exercise) const;

 private:
  Verdict judged(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;
  /// Runs a fast answer that crashed again with memory checks, which may tell the line. Returns `without` if they do
  /// not.
  Diagnostic crash_with_checks(const Exercise& exercise, Answer answer, std::uint64_t seed,
                               const Diagnostic& without) const;
  std::optional<std::string> recognise(const Exercise& exercise, const Fault& fault,
                                       std::uint64_t seed) const;

  const Compiler& compiler_;
};

/// Returns a known wrong answer as a whole answer.
Answer wrong_answer(const Compiler& compiler, const Exercise& exercise, const WrongAnswer& wrong);

}  // namespace tapestry::grader
