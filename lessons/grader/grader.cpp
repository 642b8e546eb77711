#include "lessons/grader/grader.hpp"

#include <fmt/format.h>

#include <chrono>

namespace tapestry::grader {

namespace fs = std::filesystem;

Answer wrong_answer(const Compiler& compiler, const Exercise& exercise, const WrongAnswer& wrong) {
  return compiler.variant(exercise, fmt::format("wrong_{}", wrong.number), exercise.with(wrong));
}

Diagnostic Grader::crash_with_checks(const Exercise& exercise, Answer answer, std::uint64_t seed,
                                     const Diagnostic& without) const {
  Exercise checked = exercise;
  checked.fast = false;
  answer.key += "_checked";
  const Program program = compiler_.make(checked, answer);
  if (program.file.empty()) return without;
  const Run run = compiler_.judge(checked, program, seed).run;
  const Diagnostic diagnostic = crash(run.output, run.signal, fs::absolute(answer.file));
  return diagnostic.line > 0 ? diagnostic : without;
}

Verdict Grader::judged(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const {
  Verdict verdict;
  const Program program = compiler_.make(exercise, answer);
  if (program.interrupted) return verdict;
  if (program.timed_out) {
    verdict.kind = Verdict::Kind::compile_error;
    verdict.diagnostic = {
        0,
        "The compiler does not finish within 120 seconds; look for endless recursion in a template or a "
        "constant expression."};
    return verdict;
  }
  if (program.file.empty()) {
    verdict.kind = Verdict::Kind::compile_error;
    verdict.details = program.output;
    verdict.diagnostic = compile_error(program.output, fs::absolute(answer.file),
                                       fs::absolute(compiler_.root() / exercise.source));
    return verdict;
  }
  const auto [run, finding] = compiler_.judge(exercise, program, seed);
  if (run.interrupted) return verdict;
  verdict.details = run.output;
  if (run.timed_out) {
    verdict.kind = Verdict::Kind::timeout;
    return verdict;
  }
  try {
    verdict.finding = finding_from_json(finding);
  } catch (const std::exception&) {  // the program ended before it had written its finding
    verdict.kind = Verdict::Kind::crash;
    verdict.diagnostic = crash(run.output, run.signal, fs::absolute(answer.file));
    if (exercise.fast && answer.learners)
      verdict.diagnostic = crash_with_checks(exercise, answer, seed, verdict.diagnostic);
    return verdict;
  }
  verdict.printed = run.output;
  if (!verdict.finding.fault)
    verdict.kind = Verdict::Kind::right;
  else
    verdict.kind = verdict.finding.fault->kind == Fault::Kind::not_written ? Verdict::Kind::not_written
                                                                           : Verdict::Kind::wrong;
  return verdict;
}

std::optional<std::string> Grader::recognise(const Exercise& exercise, const Fault& fault,
                                             std::uint64_t seed) const {
  const auto like = [&](const Answer& answer) {
    const Verdict other = judged(exercise, answer, seed);
    return other.kind == Verdict::Kind::wrong && other.finding.fault->like(fault);
  };
  for (const WrongAnswer& wrong : exercise.wrong)
    if (like(wrong_answer(compiler_, exercise, wrong))) return wrong.sentence;
  if (!exercise.symptom.empty() && like(compiler_.variant(exercise, "given", exercise.given())))
    return exercise.symptom;
  return std::nullopt;
}

Verdict Grader::examine(const Exercise& exercise, const Answer& answer, std::uint64_t seed) const {
  const auto begin = std::chrono::steady_clock::now();
  Verdict verdict = judged(exercise, answer, seed);
  if (verdict.kind == Verdict::Kind::wrong)
    verdict.reason = recognise(exercise, *verdict.finding.fault, seed);
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return verdict;
}

bool Grader::prepare(const Exercise& exercise) const {
  for (const WrongAnswer& wrong : exercise.wrong)
    if (compiler_.make(exercise, wrong_answer(compiler_, exercise, wrong)).seconds > 0) return true;
  if (exercise.symptom.empty()) return false;
  return compiler_.make(exercise, compiler_.variant(exercise, "given", exercise.given())).seconds > 0;
}

}  // namespace tapestry::grader
