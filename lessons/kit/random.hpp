// Random numbers that are the same on every machine and library: splitmix64 and what is built on it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapestry::kit {

/// Splitmix64 (Steele, Lea and Flood 2014). std::shuffle and std::*_distribution differ between libraries, so
/// none is used here. The whole state is one number: save it, and the stream goes on where it stopped.
class Random {
 public:
  /// `stream` separates the uses of one seed: an epoch, a task, a split.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + kStep) ^ mix(stream * kStep + 1)) {}

  /// 64 random bits.
  std::uint64_t next() {
    state_ += kStep;
    return mix(state_);
  }

  /// A whole number in [0, count), each equally likely. `count` must be positive.
  std::int64_t below(std::int64_t count) {
    const auto range = static_cast<std::uint64_t>(count);
    const std::uint64_t uneven = (0 - range) % range;  // 2^64 mod range: the draws that would favour some
    std::uint64_t bits = next();
    while (bits < uneven) bits = next();
    return static_cast<std::int64_t>(bits % range);
  }

  /// A whole number in [least, most].
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }

  /// A number in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double least, double most) { return least + (most - least) * uniform(); }

  /// True with the given probability.
  bool chance(double probability) { return uniform() < probability; }

  /// A draw from N(0, 1) (Box and Muller). The sine's half is thrown away, so that no draw is kept aside.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

  /// Fisher and Yates.
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t last = values.size(); last > 1; --last) {
      const auto other = static_cast<std::size_t>(below(static_cast<std::int64_t>(last)));
      std::swap(values[last - 1], values[other]);
    }
  }

  std::uint64_t state() const { return state_; }
  void set_state(std::uint64_t state) { state_ = state; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15U;

  static constexpr std::uint64_t mix(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
    return bits ^ (bits >> 31);
  }

  std::uint64_t state_;
};

}  // namespace tapestry::kit
