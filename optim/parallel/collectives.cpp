#include "optim/parallel/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

/// A hash of names, shapes and bits (FNV-1a, eight bytes at a time).
std::uint64_t hash_of_bits(const State& state) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3U ^ hash >> 29; };
  for (const auto& [name, x] : state) {
    for (const char c : name) add(static_cast<unsigned char>(c));
    for (const Size n : x.shape()) add(static_cast<std::uint64_t>(n));
    for (const double value : x.to_vector()) {
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof word);
      add(word);
    }
  }
  return hash;
}

template <class T>
void ring(Communicator& ranks, std::span<T> x) {
  const auto size = static_cast<std::size_t>(ranks.size()), me = static_cast<std::size_t>(ranks.rank());
  if (size == 1) return;
  const int right = static_cast<int>((me + 1) % size), left = static_cast<int>((me + size - 1) % size);
  const auto chunk = [&](std::size_t c) {  // c modulo the number of ranks
    const std::size_t i = c % size, begin = i * x.size() / size, end = (i + 1) * x.size() / size;
    return x.subspan(begin, end - begin);
  };
  // Reduce-scatter: each chunk passes once around the ring and every rank adds its part. At the end rank r has the
  // complete sum of chunk r + 1.
  std::vector<T> received(x.size() / size + 1);
  for (std::size_t step = 0; step + 1 < size; ++step) {
    const std::span<T> out = chunk(me + size - step), sum = chunk(me + 2 * size - step - 1);
    const std::span<T> in = std::span(received).first(sum.size());
    ranks.exchange<T>(right, out, left, in);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += in[i];
  }
  // All-gather: each complete chunk passes around the ring once more.
  for (std::size_t step = 0; step + 1 < size; ++step)
    ranks.exchange<T>(right, chunk(me + 1 + size - step), left, chunk(me + size - step));
}

void check_root(const char* op, int root, int size) {
  if (root < 0 || root >= size)
    fail("[{0}] root must be at least 0 and below {2}, the number of ranks, got {1}", op, root, size);
}

}  // namespace

void ring_all_reduce(Communicator& ranks, std::span<float> x) { ring(ranks, x); }
void ring_all_reduce(Communicator& ranks, std::span<double> x) { ring(ranks, x); }

void broadcast(Communicator& ranks, std::span<std::byte> bytes, int root) {
  // Ranks are counted from the root. Those below `informed` have the data and send it to the rank `informed` further
  // on.
  const int size = ranks.size(), me = (ranks.rank() - root + size) % size;
  check_root("broadcast", root, size);
  for (int informed = 1; informed < size; informed *= 2) {
    if (me < informed && me + informed < size) {
      const int to = (me + informed + root) % size;
      ranks.exchange(to, std::span<const std::byte>(bytes), to, {});
    } else if (me >= informed && me < 2 * informed) {
      const int from = (me - informed + root) % size;
      ranks.exchange(from, {}, from, bytes);
    }
  }
}

void broadcast(Communicator& ranks, const State& state, int root) {
  for (const auto& [name, x] : state) {
    std::vector<double> values = x.to_vector();
    broadcast(ranks, std::as_writable_bytes(std::span(values)), root);
    Tensor target = x;
    if (ranks.rank() != root) assign(target, tensor(values, x.shape(), x.dtype()));
  }
}

std::uint64_t broadcast(Communicator& ranks, std::uint64_t value, int root) {
  broadcast(ranks, std::as_writable_bytes(std::span(&value, 1)), root);
  return value;
}

std::vector<std::string> gather(Communicator& ranks, std::string_view text, int root) {
  check_root("gather", root, ranks.size());
  std::uint64_t length = text.size();  // sent first, since the receiver must know the size of the text
  if (ranks.rank() != root) {
    ranks.exchange(root, std::as_bytes(std::span(&length, 1)), root, {});
    ranks.exchange(root, std::as_bytes(std::span(text.data(), text.size())), root, {});
    return {};
  }
  std::vector<std::string> texts(static_cast<std::size_t>(ranks.size()));
  for (int from = 0; from < ranks.size(); ++from) {
    std::string& its = texts[static_cast<std::size_t>(from)];
    if (from == root) {
      its = text;
      continue;
    }
    ranks.exchange(from, {}, from, std::as_writable_bytes(std::span(&length, 1)));
    its.resize(length);
    ranks.exchange(from, {}, from, std::as_writable_bytes(std::span(its)));
  }
  return texts;
}

void barrier(Communicator& ranks) {
  // After round k each rank has heard, directly or not, of the 2^k ranks to its left (Hensgen et al. 1988).
  const int size = ranks.size(), me = ranks.rank();
  for (int far = 1; far < size; far *= 2) {
    std::byte out{1}, in{};
    ranks.exchange((me + far) % size, {&out, 1}, (me + size - far) % size, {&in, 1});
  }
}

bool same_on_all_ranks(Communicator& ranks, const State& state) {
  const std::uint64_t mine = hash_of_bits(state), first = broadcast(ranks, mine);
  double differ = mine == first ? 0 : 1;
  ring_all_reduce(ranks, std::span(&differ, 1));
  return differ == 0;
}

}  // namespace tapestry
