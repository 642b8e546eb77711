#include "optim/parallel/mpi/mpi.hpp"

#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>

#ifdef TAPESTRY_MPI
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>
#endif

namespace tapestry {

namespace {

void check(const MpiRanks& how) {
  if (how.piece < sizeof(float) || how.piece > INT_MAX)
    fail("[run_under_mpi] piece must be from {1} to {2} bytes, got {0}", how.piece, sizeof(float), INT_MAX);
}

}  // namespace

int rank_under_mpi() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return -1;
}

#ifndef TAPESTRY_MPI

bool built_with_mpi() { return false; }

int run_under_mpi(const MpiRanks& how, const std::function<int(Communicator&)>& body) {
  check(how);
  OneRank alone;
  return body(alone);
}

#else

bool built_with_mpi() { return true; }

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kData = 1, kOver = 2;  // message tags
constexpr int kEnded = 2;            // exit code of a rank that ends the run

/// Thrown when another rank has already printed why the run is over.
struct AlreadyReported {};

// Variables that the signal handler may read.
volatile std::sig_atomic_t quiet = 0;    // 1: print nothing
volatile std::sig_atomic_t stopped = 0;  // 1: mpirun has stopped this rank
int* spoken = nullptr;                   // shared by all ranks of this machine; 1: the reason was printed

bool first_to_report() { return std::atomic_ref(*spoken).exchange(1) == 0; }

/// Waits for a message. It yields at first, since most messages arrive soon; then it sleeps, so that a long wait does
/// not occupy a core.
class Timeout {
 public:
  explicit Timeout(double seconds) : end_(Clock::now() + std::chrono::duration<double>(seconds)) {}
  /// Waits briefly. Returns false once the time has run out.
  bool wait() {
    if (++looks_ < 2000) {
      std::this_thread::yield();
      return true;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(looks_ < 4000 ? 50 : 1000));
    return Clock::now() < end_;
  }

 private:
  std::chrono::time_point<Clock, std::chrono::duration<double>> end_;
  int looks_ = 0;
};

/// Calls send(begin, count) for pieces of at most `most` of the `things`. Sender and receiver cut at the same places.
template <class F>
void in_pieces(std::size_t things, std::size_t most, const F& send) {
  for (std::size_t begin = 0; begin < things; begin += most)
    send(begin, static_cast<int>(std::min(most, things - begin)));
}

class MpiRank : public Communicator {
 public:
  MpiRank(int rank, int size, const MpiRanks& how)
      : Communicator(rank, size), timeout_(how.timeout), piece_(how.piece) {}

  bool native_all_reduce(std::span<float> x) override {
    std::vector<float> mine(x.begin(), x.end());
    std::vector<MPI_Request> requests;
    in_pieces(x.size(), piece_ / sizeof(float), [&](std::size_t begin, int count) {
      MPI_Iallreduce(mine.data() + begin, x.data() + begin, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                     &requests.emplace_back());
    });
    wait(requests, "the all-reduce has not finished");
    return true;
  }

  bool may_report() override { return first_to_report(); }

  /// Tells all other ranks that the run is over, and gives them 0.3 s to receive the message.
  void announce_end() {
    char nothing = 0;
    for (int other = 0; other < size(); ++other)
      if (other != rank()) {
        MPI_Request request{};
        MPI_Isend(&nothing, 1, MPI_CHAR, other, kOver, MPI_COMM_WORLD, &request);
      }
    for (int i = 0; i < 30; ++i) {
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kOver, MPI_COMM_WORLD, &there,
                 MPI_STATUS_IGNORE);  // MPI moves messages only during calls
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  void do_exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) override {
    std::vector<MPI_Request> requests;
    in_pieces(in.size(), piece_, [&](std::size_t begin, int count) {
      MPI_Irecv(in.data() + begin, count, MPI_BYTE, from, kData, MPI_COMM_WORLD, &requests.emplace_back());
    });
    in_pieces(out.size(), piece_, [&](std::size_t begin, int count) {
      MPI_Isend(out.data() + begin, count, MPI_BYTE, to, kData, MPI_COMM_WORLD, &requests.emplace_back());
    });
    wait(requests, in.empty() ? fmt::format("rank {} has not received its message", to)
                              : fmt::format("it has heard nothing from rank {}", from));
  }

  void wait(std::vector<MPI_Request>& requests, const std::string& trouble) const {
    // Each rank waits 0.1 s longer than the one before it, so that a single rank reports the failure.
    Timeout timeout(timeout_ + 0.1 * rank());
    int done = 0, over = 0;
    while (true) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done) return;
      MPI_Iprobe(MPI_ANY_SOURCE, kOver, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
      if (over || stopped) throw AlreadyReported{};
      if (!timeout.wait())
        throw RankFailure(
            fmt::format("rank {}: for {:g} s {}: a rank or the network hangs", rank(), timeout_, trouble));
    }
  }

  double timeout_;
  std::size_t piece_;
};

void end_at_once(int) { _exit(kEnded); }

/// Handles the SIGTERM that mpirun sends to all ranks when one has died. The first rank to get it prints the reason. A
/// rank that waits for another one throws AlreadyReported, so that it cleans up; any other rank ends 0.5 s later.
void ended_by_mpirun(int) {
  constexpr std::string_view sentence =
      "tapestry: mpirun has ended this run: a rank has died, or you stopped it; run the same command to resume from "
      "the last checkpoint, if there is one\n";
  constexpr int kMicrosecondsToLeave = 500'000;
  if (!quiet && first_to_report() && write(2, sentence.data(), sentence.size()) < 0) _exit(kEnded);
  if (stopped) return;
  stopped = 1;
  std::signal(SIGALRM, end_at_once);
  ualarm(kMicrosecondsToLeave, 0);
}

/// Owns the shared memory of `spoken` and installs the SIGTERM handler.
class SharedByMachine {
 public:
  SharedByMachine() {
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine_);
    int rank = 0, unit = 0;
    MPI_Comm_rank(machine_, &rank);
    MPI_Aint bytes = rank == 0 ? sizeof(int) : 0;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, machine_, &spoken, &window_);
    MPI_Win_shared_query(window_, 0, &bytes, &unit, &spoken);
    if (rank == 0) *spoken = 0;
    MPI_Barrier(machine_);
    std::signal(SIGTERM, ended_by_mpirun);
  }
  ~SharedByMachine() {
    std::signal(SIGTERM, SIG_DFL);
    MPI_Win_free(&window_);
    MPI_Comm_free(&machine_);
  }
  SharedByMachine(const SharedByMachine&) = delete;
  SharedByMachine& operator=(const SharedByMachine&) = delete;

 private:
  MPI_Comm machine_{};
  MPI_Win window_{};
};

/// Ends this process without MPI_Finalize(), which would wait for the other ranks.
[[noreturn]] void end_all(int code) {
  quiet = 1;
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int run_under_mpi(const MpiRanks& how, const std::function<int(Communicator&)>& body) {
  check(how);
  if (rank_under_mpi() < 0) {
    OneRank alone;
    return body(alone);
  }
  int level = 0, rank = 0, size = 1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED,
                  &level);  // one thread at a time calls MPI, not always the same one
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  {
    const SharedByMachine shared;
    MpiRank ranks(rank, size, how);
    int code = kEnded;
    try {
      code = body(ranks);
    } catch (const AlreadyReported&) {
      end_all(kEnded);
    } catch (const std::exception& error) {
      if (ranks.may_report()) std::fprintf(stderr, "tapestry: %s\n", error.what());
    }
    if (code != 0) {
      quiet = 1;
      ranks.announce_end();
      end_all(code);
    }
  }
  MPI_Finalize();
  return 0;
}

#endif

}  // namespace tapestry
