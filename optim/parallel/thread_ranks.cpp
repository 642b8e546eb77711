#include "optim/parallel/thread_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tapestry {

namespace {

using Clock = std::chrono::steady_clock;

Clock::duration of_seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

struct Message {
  std::vector<std::byte> bytes;
  Clock::time_point arrives;
};

/// State shared by the ranks, with a message queue for each pair of sender and receiver.
struct Wire {
  explicit Wire(const ThreadRanks& how_in) : how(how_in), ended(size()), queues(size() * size()) {}
  std::size_t size() const { return static_cast<std::size_t>(how.ranks); }
  std::deque<Message>& queue(int from, int to) {
    return queues[static_cast<std::size_t>(from) * size() + static_cast<std::size_t>(to)];
  }

  ThreadRanks how;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<char> ended;
  std::vector<std::deque<Message>> queues;
  std::exception_ptr first_error;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(Wire& wire, int rank) : Communicator(rank, wire.how.ranks), wire_(wire) {}

 private:
  void do_exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in) override {
    const Clock::time_point begun = Clock::now(), end = begun + of_seconds(wire_.how.timeout);
    std::unique_lock lock(wire_.mutex);
    if (!out.empty()) {
      // A rank's wire carries one message at a time.
      free_ = std::max(free_, begun) + of_seconds(wire_.how.per_byte * static_cast<double>(out.size()));
      wire_.queue(rank(), to).push_back({{out.begin(), out.end()}, free_ + of_seconds(wire_.how.latency)});
      wire_.changed.notify_all();
    }
    if (in.empty()) return;
    std::deque<Message>& queue = wire_.queue(from, rank());
    const auto ready = [&] { return !queue.empty() || wire_.ended[static_cast<std::size_t>(from)]; };
    if (!wire_.changed.wait_until(lock, end, ready))
      throw RankFailure(fmt::format(
          "rank {0} has heard nothing from rank {1} for {2:g} s: rank {1} hangs, or waits for a rank that hangs",
          rank(), from, wire_.how.timeout));
    if (queue.empty())
      throw RankFailure(fmt::format("rank {} is waiting for rank {}, which has ended", rank(), from));
    const Message message = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    if (message.bytes.size() != in.size())
      fail("rank {} expected {} bytes from rank {}, got {}; all ranks must make the same calls", rank(),
           in.size(), from, message.bytes.size());
    if (message.arrives > end) {
      std::this_thread::sleep_until(end);
      throw RankFailure(fmt::format("rank {} has heard nothing from rank {} for {:g} s: the wire is too slow",
                                    rank(), from, wire_.how.timeout));
    }
    std::this_thread::sleep_until(message.arrives);
    std::copy(message.bytes.begin(), message.bytes.end(), in.begin());
  }

  Wire& wire_;
  Clock::time_point free_{};  // time at which this rank's wire has sent all its messages
};

}  // namespace

void run_on_threads(const ThreadRanks& how, const std::function<void(Communicator&)>& body) {
  if (how.ranks < 1 || how.ranks > 64) fail("[run_on_threads] ranks must be from 1 to 64, got {}", how.ranks);
  Wire wire(how);
  const auto run = [&](int rank) {
    std::exception_ptr error;
    try {
      ThreadRank communicator(wire, rank);
      body(communicator);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(wire.mutex);
    if (error && !wire.first_error) wire.first_error = error;
    wire.ended[static_cast<std::size_t>(rank)] = 1;
    wire.changed.notify_all();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < how.ranks; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (wire.first_error) std::rethrow_exception(wire.first_error);
}

}  // namespace tapestry
