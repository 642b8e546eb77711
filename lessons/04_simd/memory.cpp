#include "lessons/04_simd/memory.hpp"

#include <algorithm>

namespace tapestry::lesson04 {

namespace {

constexpr int kSums = 8;

/// Reads every float once, and only adds it up. Reads in four places at once, because the hardware that prefetches
/// follows several streams better than one.
[[gnu::noinline]] float read_all(const float* from, Size count) {
  constexpr int kStreams = 4, kWidth = kSums / kStreams;
  Vector sum[kSums];
  each<kSums>([&](int v) { sum[v] = Vector(0.0F); });
  for (Size i = 0; i < count / kStreams; i += kWidth * kLanes)
    each<kSums>([&](int v) {
      sum[v] = sum[v] + load(from + (v / kWidth) * (count / kStreams) + i + (v % kWidth) * kLanes);
    });
  Vector total(0.0F);
  each<kSums>([&](int v) { total = total + sum[v]; });
  return first_lane(total);
}

/// Computes y ← y + f·x. count must be a multiple of four registers.
[[gnu::noinline]] void add_to(float* y, const float* x, float f, Size count) {
  const Vector factor(f);
  for (Size i = 0; i < count; i += 4 * kLanes)
    each<4>([&](int v) {
      float* const to = y + i + v * kLanes;
      store(to, multiply_add(factor, load(x + i + v * kLanes), load(to)));
    });
}

Level level(const char* name, float* y, const float* x, Size count, Size times, Size every) {
  const double floats = 1e-9 * static_cast<double>(count * times);
  const auto read = [=] {
    for (Size i = 0; i < times; ++i) seen = read_all(x, count);
  };
  const auto update = [=] {
    for (Size i = 0; i < times; ++i) add_to(y, x, half, count / 2);
  };
  return {name, {4 * floats, read, every}, {12 * floats / 2, update, every}};  // two floats in, one out
}

}  // namespace

double Level::bandwidth() const { return std::max(read.best, update.best); }

Memory::Memory(bool smoke) {
  const Size count = smoke ? Size{1} << 20 : Size{1} << 25;  // 128 MiB each, more than the caches
  x_.assign(static_cast<std::size_t>(count), 1.0F);
  y_.assign(static_cast<std::size_t>(count), 1.0F);
  // y starts half a page after x: a load can be delayed by a store whose address has the same last 12 bits.
  float *const x = x_.data(), *const y = y_.data() + 512;
  levels_ = {level("first cache", y, x, 4096, 100, 1),   // 16 KiB
             level("second cache", y, x, 65536, 10, 1),  // 256 KiB: as large as b
             level("memory", y, x, count, 1, 50)};       // in every fiftieth round only
}

}  // namespace tapestry::lesson04
