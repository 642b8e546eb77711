// Random numbers that are the same on every machine and standard library, based on splitmix64.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapestry::kit {

/// Splitmix64 generator (Steele, Lea and Flood 2014). std::shuffle and std::*_distribution differ between standard
/// libraries, so neither is used here. The state is one number; restore it to continue the stream.
class Random {
 public:
  /// `stream` separates the uses of one seed: an epoch, a task, a split.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mix(seed + kStep) ^ mix(stream * kStep + 1)) {}

  /// Returns 64 random bits.
  std::uint64_t next() {
    state_ += kStep;
    return mix(state_);
  }

  /// Returns a uniform integer in [0, count). `count` must be positive.
  std::int64_t below(std::int64_t count) {
    const auto range = static_cast<std::uint64_t>(count);
    const std::uint64_t uneven = (0 - range) % range;  // 2⁶⁴ mod range: draws below it would bias the result
    std::uint64_t bits = next();
    while (bits < uneven) bits = next();
    return static_cast<std::int64_t>(bits % range);
  }

  /// Returns a uniform integer in [least, most].
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }

  /// Returns a uniform number in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double least, double most) { return least + (most - least) * uniform(); }

  /// Returns true with the given probability.
  bool chance(double probability) { return uniform() < probability; }

  /// Returns a draw from N(0, 1) (Box and Muller 1958). The second value, from the sine, is discarded, so that state()
  /// remains the whole state.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

  /// Shuffles the values (Fisher and Yates).
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
