// From an answer to a verdict.
#pragma once

#include <cstdint>
#include <filesystem>

#include "lessons/grader/verdict.hpp"
#include "lessons/grader/workshop.hpp"

namespace tapestry::grader {

class Examiner {
 public:
  explicit Examiner(const Workshop& workshop) : workshop_(workshop) {}

  /// Compiles, judges with this seed and, where the answer is wrong, compares it with the exercise's
  /// wrong answers:
  /// whoever fails as one of them does gets its sentence.
  Verdict examine(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;

  /// Compiles what examine() may need later, one wrong answer a call; false when nothing is left to do.
  bool prepare(const Exercise& exercise) const;

 private:
  Verdict judged(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const;
  /// Of an answer that was compiled to be fast and crashed: once more with checks of memory, which say where.
  Complaint crash_with_checks(const Exercise& exercise, Answer answer, std::uint64_t seed,
                              const Complaint& without) const;
  std::optional<std::string> recognise(const Exercise& exercise, const Fault& fault,
                                       std::uint64_t seed) const;

  const Workshop& workshop_;
};

/// The answer that a wrong answer is.
Answer wrong_answer(const Workshop& workshop, const Exercise& exercise, const WrongAnswer& wrong);

}  // namespace tapestry::grader
