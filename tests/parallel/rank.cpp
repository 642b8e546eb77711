// One rank of several under mpirun, for mpi_test.py: trains a small net, or is lost on the way.
//
//     rank FILE STEPS [die|stop|fail RANK|all STEP] [quick PATIENCE]
//     rank FILE STEPS pieces BYTES
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/core.hpp"
#include "nn/linear.hpp"
#include "optim/adam.hpp"
#include "optim/parallel/collectives.hpp"
#include "optim/parallel/data_parallel.hpp"
#include "optim/parallel/mpi/mpi.hpp"
#include "optim/training_state.hpp"

using namespace tapestry;

namespace {

std::atomic<int> longest = 0;  // bytes of a message

}  // namespace

/// What the program calls in place of MPI's own, by MPI's profiling interface.
extern "C" int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm ranks,
                         MPI_Request* request) {
  longest = std::max(longest.load(), count);
  return PMPI_Isend(bytes, count, type, to, tag, ranks, request);
}

namespace {

struct Net : Module {
  Tensor operator()(const Tensor& x) const { return second(tanh(first(x))); }
  Linear first{{*this, "first"}, 8, 512}, second{{*this, "second"}, 512, 4};
};

constexpr Size kRows = 24;

/// The ring against sums that each rank makes for itself; then against MPI's own all-reduce.
void compare(Communicator& ranks) {
  for (const std::size_t length : {1U, 5U, 1000U, 100'001U}) {
    const auto number = [&](int rank, std::size_t i) {
      return static_cast<float>(std::sin(static_cast<double>(i + 1) * (rank + 1)));
    };
    std::vector<float> x, y;
    for (std::size_t i = 0; i < length; ++i) x.push_back(number(ranks.rank(), i));
    y = x;
    ring_all_reduce(ranks, std::span(x));
    const bool native = ranks.native_all_reduce(y);
    for (std::size_t i = 0; i < length; ++i) {
      double sum = 0;
      for (int r = 0; r < ranks.size(); ++r) sum += number(r, i);
      if (std::abs(sum - x[i]) > 1e-5) fail("the ring's sum is {} and not {}", x[i], sum);
      if (native && std::abs(sum - y[i]) > 1e-5) fail("MPI's sum is {} and not {}", y[i], sum);
    }
  }
}

int train(Communicator& ranks, int count, char** words) {
  const std::filesystem::path file = words[1];
  const std::uint64_t steps = std::strtoull(words[2], nullptr, 10);
  const std::string fault = count > 5 ? words[3] : "";
  Net net;
  net.initialise(1, DType::f64);
  Adam adam(net.parameters(), {.learning_rate = 1e-2});
  std::uint64_t step = 0;
  if (ranks.rank() == 0 && std::filesystem::exists(file)) {
    const TrainingState saved = TrainingState::load(file);
    saved.restore({{"model", net.state()}, {"optimiser", adam.state()}});
    step = saved.integer("step");
  }
  step = broadcast(ranks, step);
  const std::uint64_t begun = step;
  DataParallel all(ranks, net.parameters(), {.sum = {.bucket = 1000}});
  all.start_from(net.state());
  all.start_from(adam.state());
  double loss = 0;
  while (++step <= steps) {
    const bool all_fail = std::strcmp(count > 5 ? words[4] : "", "all") == 0;
    if (!fault.empty() && (all_fail || ranks.rank() == std::atoi(words[4])) &&
        step == std::strtoull(words[5], nullptr, 10)) {
      if (all_fail) barrier(ranks);  // so that none hears of another before it fails itself
      if (fault == "die") raise(SIGKILL);
      if (fault == "stop") raise(SIGSTOP);
      if (fault == "fail") fail("rank {}: its data cannot be read", ranks.rank());
    }
    loss = all.gradients(1, step, [&](const Part& part) {
      const Size begin = part.begin(kRows), end = part.end(kRows);
      const Tensor x = slice(random_normal({kRows, 8}, step, DType::f64), 0, begin, end);
      const Tensor difference = net(x) - slice(x, 1, 0, 4) * slice(x, 1, 4, 8);
      return PartLoss{mean(difference * difference), static_cast<double>(end - begin)};
    });
    adam.step();
    if (step % 10 == 0 && ranks.rank() == 0) {
      TrainingState saved;
      saved.sections = {{"model", net.state()}, {"optimiser", adam.state()}};
      saved.set_integer("step", step);
      saved.save(file);
    }
  }
  if (!same_on_all_ranks(ranks, net.state())) fail("ranks have different weights");
  if (ranks.rank() == 0) {
    std::uint64_t hash = 0;
    double sum = 0;
    for (const Tensor& weight : net.parameters())
      for (const double value : weight.to_vector()) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        hash = hash * 1099511628211U ^ bits;
        sum += std::abs(value);
      }
    fmt::print("{} ranks, from step {}: loss {:.9e}, weights {:.9e}, bits {:016x}\n", ranks.size(), begun,
               loss, sum, hash);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::fprintf(
        stderr,
        "usage: rank FILE STEPS [die|stop|fail RANK|all STEP] [quick PATIENCE]; rank FILE STEPS pieces BYTES\n");
    return 2;
  }
  MpiRanks how{.timeout = count > 7 ? std::atof(words[7]) : 20};
  const bool pieces = count == 5 && std::strcmp(words[3], "pieces") == 0;
  if (pieces) how.piece = std::strtoull(words[4], nullptr, 10);
  return run_under_mpi(how, [&](Communicator& ranks) {
    compare(ranks);
    if (pieces && static_cast<std::size_t>(longest) != how.piece)
      fail("the longest message has {} bytes", longest.load());
    return train(ranks, count, words);
  });
}
