// 4.3 fair_race: times that another program cannot spoil
// measure, 15 minutes
//
// Which of several programs is the fastest? runs[i]() runs program i once and returns the seconds that it
// took. Other programs come and go on the same machine: for a while, every run then takes longer. They can
// make a run slower, never faster. Let each program run `rounds` times, in such an order that a disturbance
// no longer than half of the race cannot hit all runs of one program, and return one time for each program:
// what it needs if nobody disturbs it.
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

// hint: A program took 3, 9, 3.1 and 20 milliseconds. Which of them tells most about the program, and which
//   about its neighbours?
// hint: If each program has all its runs one after the other, a disturbance of that length hits one program
//   and spares the others. Which loop must be the outer one?
// hint: Start from std::numeric_limits<double>::infinity() for each, and in each round best[i] =
//   std::min(best[i], ____) for every i.
//
// wrong: You took the mean. A single disturbed run moves it; what disturbs only adds, so the smallest time is
//   the one to trust.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + std::vector<double> best(runs.size(), 0.0);
// + for (int round = 0; round < rounds; ++round)
// + for (std::size_t i = 0; i < runs.size(); ++i) best[i] += runs[i]() / rounds;
// wrong: You took the median. It bears a few disturbed runs, but not many; what disturbs only adds, so the smallest time
//   is the one to trust.
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
// wrong: You kept the slowest run of each: that is the one that was disturbed most.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + std::vector<double> best(runs.size(), 0.0);
// + for (int round = 0; round < rounds; ++round)
// + for (std::size_t i = 0; i < runs.size(); ++i) best[i] = std::max(best[i], runs[i]());
// wrong: You kept the first run of each. It finds the caches full of other things, and may be disturbed.
// - best[i] = std::min(best[i], runs[i]());      // what disturbs only adds
// + if (const double time = runs[i](); round == 0) best[i] = time;
// wrong: All times are 0: your smallest time so far begins with 0, and nothing is faster than that.
// - std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
// + std::vector<double> best(runs.size(), 0.0);
// wrong: Each program has all its runs one after the other, so one disturbance spoils all runs of one
//   program. Let them take turns.
// - for (int round = 0; round < rounds; ++round)     // outside: so all take turns
// - for (std::size_t i = 0; i < runs.size(); ++i)  // each once a round
// + for (std::size_t i = 0; i < runs.size(); ++i)
// + for (int round = 0; round < rounds; ++round)

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// A machine with a clock of its own: what each program takes, and how much longer at each run.
struct Machine {
  std::vector<double> needs;
  std::vector<int> ran;                             // how often each program ran
  int all = 0;                                      // runs of all programs
  std::function<double(std::size_t, int)> disturb;  // (program's so-many-th run, the race's): added seconds

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
  judge.claim("times programs on a quiet machine, each as often as asked", [&] {
    judge.each_size({{"programs", 1, 4}, {"rounds", 1, 5}}, [&](const Sizes& n) {
      Machine machine(some_times(judge, n[0]));
      const std::vector<double> came = race(machine.runs(), static_cast<int>(n[1]));
      judge.same(came, machine.needs, "the times");
      judge.same(std::vector<double>(machine.ran.begin(), machine.ran.end()),
                 std::vector<double>(static_cast<std::size_t>(n[0]), static_cast<double>(n[1])),
                 "the runs of each program");
    });
  });
  judge.claim("is not moved by runs that were disturbed", [&] {
    judge.example("five runs of each program, which take 2, 0, 7, 3 and 5 s longer than an undisturbed one");
    Machine machine(some_times(judge, 2));
    machine.disturb = [](std::size_t run, int) { return std::array{2.0, 0.0, 7.0, 3.0, 5.0}.at(run); };
    judge.same(race(machine.runs(), 5), machine.needs, "the times");
  });
  judge.claim("bears a disturbance that lasts", [&] {
    judge.each_size({{"programs", 2, 5}, {"rounds", 4, 9}}, [&](const Sizes& n) {
      Machine machine(some_times(judge, n[0]));
      // As long as all the rounds of one program: it begins with the race, or ends with it.
      const int length = static_cast<int>(n[1]), whole = static_cast<int>(n[0] * n[1]);
      const bool late = judge.random().chance(0.5);
      machine.disturb = [=](std::size_t, int at) {
        return (late ? at >= whole - length : at < length) ? 3.0 : 0.0;
      };
      judge.same(race(machine.runs(), length), machine.needs, "the times");
    });
  });
}
