#include "lessons/grader/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "lessons/kit/random.hpp"

namespace tapestry::grader {

namespace {

struct Count {
  int solutions = 0, holes = 0, wrong = 0, refused_changes = 0, passed_changes = 0, unbuildable = 0;
};

/// Verification of one exercise. Each entry of `faults` and `remarks` begins with its id.
class Trial {
 public:
  Trial(const Compiler& compiler, const Exercise& exercise, const VerifyOptions& options)
      : compiler_(compiler), grader_(compiler), exercise_(exercise), options_(options) {
    if (exercise_.wrong.size() < 2) fault("there must be at least two wrong answers");
    // Remove the other wrong answers, since the grader compiles every one that it compares with.
    exercise_.wrong = kept_wrong(exercise_, options_);
  }

  void run() {
    if (exercise_.hints.size() < 2) fault("there must be at least two hints");
    if (!options_.wrong_only) {
      given();
      solution();
    }
    for (const WrongAnswer& one : exercise_.wrong) wrong(one);
    if (options_.changes > 0) changes();
  }

  std::string faults, remarks;
  Count count;

 private:
  void fault(const std::string& what) { faults += fmt::format("{}: {}\n", exercise_.id.text(), what); }

  Verdict examine(const Answer& answer, int seed) const {
    return grader_.examine(exercise_, answer, static_cast<std::uint64_t>(seed) * 7919);
  }

  std::string what_it_says(const Verdict& verdict) const {
    const bool builds = verdict.kind != Verdict::Kind::compile_error && verdict.kind != Verdict::Kind::crash;
    return text(verdict, exercise_, "answer.cpp", "", {}) +
           (builds ? "" : verdict.details.substr(0, 600) + "\n");
  }

  void given() {
    const Verdict verdict = examine(compiler_.variant(exercise_, "given", exercise_.given()), 1);
    const bool right = exercise_.symptom.empty()
                           ? verdict.kind == Verdict::Kind::not_written
                           : verdict.kind == Verdict::Kind::wrong && verdict.reason == exercise_.symptom;
    if (!right)
      fault("the starting file must be judged \"not written yet\", or get its \"start\" sentence; it gets\n" +
            what_it_says(verdict));
    count.holes += right ? 1 : 0;
  }

  void solution() {
    const Answer answer = compiler_.variant(exercise_, "solution", exercise_.solution());
    for (int seed = 1; seed <= options_.seeds; ++seed) {
      const Verdict verdict = examine(answer, seed);
      count.solutions += verdict.passed() ? 1 : 0;
      if (!verdict.passed())
        return fault(fmt::format("the solution fails at seed {}:\n{}", seed, what_it_says(verdict)));
      tried_ = verdict.finding.tried;
    }
    remarks += fmt::format("{}: tries {}\n", exercise_.id.text(),
                           tried_.empty() ? "its own examples" : fmt::format("{}", fmt::join(tried_, ", ")));
  }

  void wrong(const WrongAnswer& wrong) {
    const std::string& sentence = wrong.sentence;
    const Answer answer = wrong_answer(compiler_, exercise_, wrong);
    for (int seed = 1; seed <= options_.seeds; ++seed) {
      const Verdict verdict = examine(answer, seed);
      if (verdict.kind != Verdict::Kind::wrong || verdict.reason != sentence)
        return fault(fmt::format("at seed {} the wrong answer \"{}\" must get its own sentence; it gets\n{}",
                                 seed, sentence, what_it_says(verdict)));
    }
    ++count.wrong;
  }

  /// Tries solutions in which one word of a hole is replaced by another of its kind.
  void changes() {
    static const std::array<std::pair<const char*, const char*>, 18> kSwaps{{{" + ", " - "},
                                                                             {" - ", " + "},
                                                                             {" * ", " + "},
                                                                             {" / ", " * "},
                                                                             {" < ", " <= "},
                                                                             {" <= ", " < "},
                                                                             {" > ", " >= "},
                                                                             {" >= ", " > "},
                                                                             {" == ", " != "},
                                                                             {" && ", " || "},
                                                                             {" += ", " = "},
                                                                             {"true", "false"},
                                                                             {"tanh(", "sigmoid("},
                                                                             {"-1", "-2"},
                                                                             {"-2", "-1"},
                                                                             {"1", "2"},
                                                                             {"0", "1"},
                                                                             {"2", "3"}}};
    const std::string whole = exercise_.solution(), holes = exercise_.holes();
    std::set<std::string> changed;
    std::size_t begin = 0;
    for (std::size_t end; (end = holes.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string line = holes.substr(begin, end - begin + 1);
      const std::size_t at = whole.find(line), comment = line.find("//");
      if (at == std::string::npos) continue;
      for (const auto& [from, to] : kSwaps)
        for (std::size_t place = 0; (place = line.find(from, place)) != std::string::npos && place < comment;
             ++place)
          changed.insert(std::string(whole).replace(at + place, std::string(from).size(), to));
    }
    std::vector<std::string> order(changed.begin(), changed.end());
    kit::Random random(static_cast<std::uint64_t>(exercise_.id.lesson * 100 + exercise_.id.number));
    random.shuffle(order);
    if (order.size() > static_cast<std::size_t>(options_.changes))
      order.resize(static_cast<std::size_t>(options_.changes));
    for (const std::string& one : order) {
      const Verdict verdict = examine(compiler_.variant(exercise_, "changed", one), 1);
      count.unbuildable += verdict.kind == Verdict::Kind::compile_error ? 1 : 0;
      count.refused_changes += verdict.passed() || verdict.kind == Verdict::Kind::compile_error ? 0 : 1;
      count.passed_changes += verdict.passed() ? 1 : 0;
      if (!verdict.passed()) continue;
      std::size_t line = 0, from = 0;
      while (one[line] == whole[line]) ++line;
      from = one.rfind('\n', line) + 1;
      remarks += fmt::format("{}: passes with {}\n", exercise_.id.text(),
                             one.substr(from, one.find('\n', from) - from));
    }
  }

  const Compiler& compiler_;
  const Grader grader_;
  Exercise exercise_;
  const VerifyOptions& options_;
  std::set<std::string> tried_;  // kinds of sizes that the judge's each_size() tried
};

}  // namespace

std::vector<WrongAnswer> kept_wrong(const Exercise& exercise, const VerifyOptions& options) {
  std::vector<WrongAnswer> all = exercise.wrong;
  const auto kept = static_cast<std::size_t>(options.wrong);
  if (options.wrong < 0 || kept >= all.size()) return all;
  kit::Random(std::hash<std::string>{}(exercise.solution() + exercise.judge)).shuffle(all);
  const std::size_t first = static_cast<std::size_t>(options.turn) * kept % all.size();
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  all.resize(kept);
  std::sort(all.begin(), all.end(),
            [](const WrongAnswer& a, const WrongAnswer& b) { return a.number < b.number; });
  return all;
}

bool verify(const Session& session, const std::vector<std::string>& which, const VerifyOptions& options) {
  for (const std::string& word : which) session.find(word);  // throws for an unknown exercise
  std::vector<const Exercise*> chosen;
  for (const Exercise& exercise : session.exercises())
    if (which.empty() || std::any_of(which.begin(), which.end(), [&](const std::string& word) {
          return exercise.id.text() == word || exercise.is_of_lesson(word);
        }))
      chosen.push_back(&exercise);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  Count all;
  bool sound = true;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < chosen.size();) {
      Trial trial(session.compiler(), *chosen[i], options);
      try {
        trial.run();
      } catch (const std::exception& error) {
        trial.faults += fmt::format("{}: {}\n", chosen[i]->id.text(), error.what());
      }
      const std::lock_guard lock(mutex);
      fmt::print("{}{}", trial.faults, trial.remarks);
      std::fflush(stdout);
      sound = sound && trial.faults.empty();
      const Count& count = trial.count;
      all.holes += count.holes, all.solutions += count.solutions, all.wrong += count.wrong;
      all.refused_changes += count.refused_changes, all.passed_changes += count.passed_changes;
      all.unbuildable += count.unbuildable;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::size_t wrong = 0;
  for (const Exercise* exercise : chosen)
    wrong += options.wrong < 0 ? exercise->wrong.size()
                               : std::min(exercise->wrong.size(), static_cast<std::size_t>(options.wrong));
  fmt::print("{} exercises: ", chosen.size());
  if (!options.wrong_only)
    fmt::print("{} holes fail as they should, {} solutions × seeds of {} pass, ", all.holes, all.solutions,
               static_cast<int>(chosen.size()) * options.seeds);
  fmt::print("{} of {} wrong answers get their own sentence at {} seeds", all.wrong, wrong, options.seeds);
  if (options.changes > 0)
    fmt::print("; of changed solutions {} are refused, {} pass, {} do not compile", all.refused_changes,
               all.passed_changes, all.unbuildable);
  fmt::print("\n");
  return sound;
}

}  // namespace tapestry::grader
