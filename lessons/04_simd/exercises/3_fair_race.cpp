// 4.3 fair_race: Timing programs on a busy machine
// measure, 15 minutes
//
// Which of several programs is the fastest? runs[i]() runs program i once and returns the time that it took, in
// seconds. Other programs on the same machine start and stop. While they run, every run takes longer. They can make a
// run slower, but never faster.
//
// Run each program `rounds` times. Choose an order in which a disturbance that lasts at most half of the race cannot
// slow down all runs of a program. Return one time for each program: the time that it takes without any disturbance.
#include "lessons/grader/answer.hpp"

std::vector<double> race(const std::vector<std::function<double()>>& runs, int rounds) {
  //[ about four lines
  //: (void)runs, (void)rounds;
  //: return not_written_yet();
  std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < rounds; ++round)     // outside: so all take turns
    for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
      best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
  return best;
  //]
}

// hint: A program took 3, 9, 3.1 and 20 milliseconds. Which of these times says most about the program, and which
//   say most about other programs?
// hint: Suppose that each program has all its runs one after the other. A disturbance can then slow down all runs
//   of one program, and none of the others. Which loop must be the outer loop?
// hint: Start with std::numeric_limits<double>::infinity() for each program. In each round, best[i] =
//   std::min(best[i], ____) for every i.
//
// wrong: You used the mean, which changes with a single disturbed run. A disturbance only adds time, so use the
//   smallest time.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + std::vector<double> best(runs.size(), 0.0);
// + for (int round = 0; round < rounds; ++round)
// + for (std::size_t i = 0; i < runs.size(); ++i) best[i] += runs[i]() / rounds;
// wrong: You used the median. It tolerates a few disturbed runs, but not many. A disturbance only adds time, so use the
//   smallest time.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + std::vector<std::vector<double>> all(runs.size());
// + for (int round = 0; round < rounds; ++round)
// + for (std::size_t i = 0; i < runs.size(); ++i) all[i].push_back(runs[i]());
// + std::vector<double> best;
// + for (std::vector<double>& times : all) {
// + std::sort(times.begin(), times.end());
// + best.push_back(times[times.size() / 2]);
// + }
// wrong: You kept the slowest run of each program, which is the run that was disturbed most.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + std::vector<double> best(runs.size(), 0.0);
// + for (int round = 0; round < rounds; ++round)
// + for (std::size_t i = 0; i < runs.size(); ++i) best[i] = std::max(best[i], runs[i]());
// wrong: You kept the first run of each program. The caches contain other data at first, and the run may be disturbed.
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + if (const double time = runs[i](); round == 0) best[i] = time;
// wrong: All your times are 0. The smallest time so far starts with 0, and no run is faster than that.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// + std::vector<double> best(runs.size(), 0.0);
// wrong: Each program has all its runs one after the other, so a single disturbance can slow down all of them. Let the
//   programs take turns.
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// + for (std::size_t i = 0; i < runs.size(); ++i)
// + for (int round = 0; round < rounds; ++round)

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// A simulated machine: the time that each program needs, and the time that is added to each run.
struct Machine {
  std::vector<double> needs;
  std::vector<int> ran;                             // the number of runs of each program
  int all = 0;                                      // the number of runs of all programs
  std::function<double(std::size_t, int)> disturb;  // (runs of the program, runs of all): added seconds

  explicit Machine(const std::vector<double>& seconds) : needs(seconds), ran(seconds.size(), 0) {}

  std::vector<std::function<double()>> runs() {
    std::vector<std::function<double()>> list;
    for (std::size_t i = 0; i < needs.size(); ++i)
      list.push_back([this, i] {
        const double more = disturb ? disturb(static_cast<std::size_t>(ran[i]), all) : 0;
        ++ran[i];
        ++all;
        return needs[i] + more;
      });
    return list;
  }
};

std::vector<double> some_times(Judge& judge, Size programs) {
  return judge.uniform({programs}, 1, 4).to_vector();
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("times programs on a quiet machine, each in every round", [&] {
    judge.each_size({{"programs", 1, 4}, {"rounds", 1, 5}}, [&](const Sizes& n) {
      Machine machine(some_times(judge, n[0]));
      const std::vector<double> came = race(machine.runs(), static_cast<int>(n[1]));
      judge.same(came, machine.needs, "the times");
      judge.same(std::vector<double>(machine.ran.begin(), machine.ran.end()),
                 std::vector<double>(static_cast<std::size_t>(n[0]), static_cast<double>(n[1])),
                 "the runs of each program");
    });
  });
  judge.claim("ignores runs that were disturbed", [&] {
    judge.example("five runs of each program, which take 2, 0, 7, 3 and 5 s longer than an undisturbed run");
    Machine machine(some_times(judge, 2));
    machine.disturb = [](std::size_t run, int) { return std::array{2.0, 0.0, 7.0, 3.0, 5.0}.at(run); };
    judge.same(race(machine.runs(), 5), machine.needs, "the times");
  });
  judge.claim("ignores a long disturbance", [&] {
    judge.each_size({{"programs", 2, 5}, {"rounds", 4, 9}}, [&](const Sizes& n) {
      Machine machine(some_times(judge, n[0]));
      // As long as all rounds of one program. It starts at the start of the race, or ends at its end.
      const int length = static_cast<int>(n[1]), whole = static_cast<int>(n[0] * n[1]);
      const bool late = judge.random().chance(0.5);
      machine.disturb = [=](std::size_t, int at) {
        return (late ? at >= whole - length : at < length) ? 3.0 : 0.0;
      };
      judge.same(race(machine.runs(), length), machine.needs, "the times");
    });
  });
}
