// From an answer to a verdict.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lessons/grader/compiler.hpp"
#include "lessons/grader/verdict.hpp"

namespace tapestry::grader {

class Grader {
 public:
  explicit Grader(const Compiler& compiler) : compiler_(compiler) {}

  /// Compiles, judges with this seed and, where the answer is wrong, compares it with the exercise's
  /// wrong answers:
  /// whoever fails as one of them does gets its sentence.
  Verdict examine(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;

  /// Compiles what examine() may need later, one wrong answer a call; false when nothing is left to do.
  bool prepare(const Exercise& exercise) const;

 private:
  Verdict judged(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;
  /// Of an answer that was compiled to be fast and crashed: once more with checks of memory, which say where.
  Diagnostic crash_with_checks(const Exercise& exercise, Answer answer, std::uint64_t seed,
                               const Diagnostic& without) const;
  std::optional<std::string> recognise(const Exercise& exercise, const Fault& fault,
                                       std::uint64_t seed) const;

  const Compiler& compiler_;
};

/// The answer that a wrong answer is.
Answer wrong_answer(const Compiler& compiler, const Exercise& exercise, const WrongAnswer& wrong);

}  // namespace tapestry::grader
