// Lesson 26's gallery as a table: for each mechanism the lines that it takes, forward and backward beside
// plain ops (time, and peak memory above the inputs), and how far values and gradients of the two lie apart
// in f64. Four heads, width 16. What is written by ops has no other way: it stands alone.
//
//     bench_gallery [WORDS]    512, if not said otherwise
#include "lessons/26_programmable/gallery.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "tests/bench/data.hpp"
#include "tests/bench/peak.hpp"

namespace tapestry::bench {

namespace {

using kit::Mechanism;
using Learned = std::vector<Tensor>;
using Way = Tensor (*)(const Mechanism&, const Tensor&, const Tensor&, const Tensor&, const Learned&);

/// A mechanism with what it computes on.
struct Problem {
  const Mechanism& mechanism;
  Learned all = {};  // query, key, value, and what is learned

  Problem(const Mechanism& mechanism_in, Size words, DType dtype) : mechanism(mechanism_in) {
    const Dims shape{1, mechanism.heads, words, mechanism.width};
    for (const std::uint64_t seed : {1u, 2u, 3u}) all.push_back(variable(random_normal(shape, seed, dtype)));
    for (const Tensor& first : kit::first_values(mechanism, 4, dtype)) all.push_back(variable(first));
  }

  Tensor value(Way way) const {
    return way(mechanism, all[0], all[1], all[2], Learned(all.begin() + 3, all.end()));
  }
  std::vector<Tensor> gradients(Way way) const {
    return kit::gradients([&] { return value(way); }, all, 5);
  }
};

struct Figures {
  double milliseconds = 0, mebibytes = 0;
};

Figures measure(const Mechanism& mechanism, Size words, Way way) {
  const Problem small(mechanism, 32, DType::f32), problem(mechanism, words, DType::f32);
  small.gradients(way);  // what is set up at first use
  Figures found;
  found.mebibytes = peak_of([&] { problem.gradients(way); });
  found.milliseconds = 1000 * kit::fastest(10, [&] { problem.gradients(way); });
  return found;
}

double apart(const Mechanism& mechanism, Size words) {
  const Problem problem(mechanism, words, DType::f64);
  return std::max(kit::largest(problem.value(kit::run) - problem.value(kit::run_by_ops)),
                  kit::farthest(problem.gradients(kit::run), problem.gradients(kit::run_by_ops)));
}

/// f() of a process of its own, so that no memory is left over from others. This one never computes: threads
/// do not survive a fork.
template <class F>
auto in_child(const F& f) {
  decltype(f()) result{};
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    int code = 1;
    try {
      result = f();
      code = write(ends[1], &result, sizeof result) == static_cast<ssize_t>(sizeof result) ? 0 : 1;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_gallery: %s\n", error.what());
    }
    _exit(code);
  }
  close(ends[1]);
  const bool whole = read(ends[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!whole || status != 0) throw std::runtime_error("a measurement failed");
  return result;
}

void show(const lesson26::GalleryEntry& entry, Size words) {
  const Mechanism& mechanism = entry.mechanism;
  const Figures own = in_child([&] { return measure(mechanism, words, kit::run); });
  std::printf("%-20s %-10s %5d %10.2f %10.1f", mechanism.name.c_str(), entry.level, entry.lines,
              own.milliseconds, own.mebibytes);
  if (mechanism.can_tile()) {
    const Figures plain = in_child([&] { return measure(mechanism, words, kit::run_by_ops); });
    const double difference = in_child([&] { return apart(mechanism, words); });
    std::printf(" %10.2f %10.1f %7.1f %10.1e", plain.milliseconds, plain.mebibytes,
                plain.milliseconds / own.milliseconds, difference);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

}  // namespace tapestry::bench

int main(int argc, char** argv) {
  using namespace tapestry::bench;
  const tapestry::Size words = argc == 2 ? std::atol(argv[1]) : 512;
  if (argc > 2 || words < 1) {
    std::fprintf(stderr, "usage: bench_gallery [WORDS]\n");
    return 2;
  }
  std::printf("%-20s %-10s %5s %10s %10s %10s %10s %7s %10s\n", "mechanism", "level", "lines", "ms", "MiB",
              "plain ms", "plain MiB", "ratio", "apart");
  std::fflush(stdout);  // or a child would say it once more
  try {
    for (const lesson26::GalleryEntry& entry : lesson26::gallery()) show(entry, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gallery: %s\n", error.what());
    return 2;
  }
  return 0;
}
