// Counter-based random numbers: values depend on a key and an index, never on the order of calls. They are the same in
// f32 and f64, on any number of threads, and when a checkpoint recomputes a function.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapestry {

/// A random stream (key, site): value i is a function of key, site and i only. Philox4x32-10 (Salmon et al. 2011).
class Stream {
 public:
  Stream(std::uint64_t key, std::uint64_t site) : key_(key), site_(site) {}
  /// Returns 64 random bits.
  std::uint64_t bits(std::uint64_t i) const;
  /// Returns a uniform number on [0, 1) with 53 random bits.
  double uniform(std::uint64_t i) const;
  /// Returns a standard normal number (Box and Muller 1958).
  double normal(std::uint64_t i) const;
  /// Returns a uniform integer in 0 … n−1.
  std::uint64_t below(std::uint64_t n, std::uint64_t i) const;

  /// key() and site() return the constructor's arguments.
  std::uint64_t key() const { return key_; }
  std::uint64_t site() const { return site_; }

 private:
  std::uint64_t key_, site_;
};

/// Sites of random_uniform() and random_normal().
inline constexpr std::uint64_t kUniformStream = 1, kNormalStream = 2;

/// Returns a 64-bit FNV-1a hash. A parameter's initial values depend on the seed and the hash of its full name.
std::uint64_t hash_of(std::string_view name);

/// A thread's position in its random draws. Each random op (dropout, scheduled sampling in a decoder) calls
/// next_stream(): the n-th call in a step returns the stream of site n − 1.
struct RandomState {
  std::uint64_t seed = 0;  // of the run
  std::uint64_t step = 0;  // training step
  std::uint64_t site = 0;  // next site to use

  friend bool operator==(const RandomState&, const RandomState&) = default;
};

/// Returns this thread's state. Set seed and step (with site 0) before each training step, so that a resumed run draws
/// the same numbers as an uninterrupted one.
RandomState& random_state();
/// Sets this thread's seed and step, and the site to 0.
void set_random(std::uint64_t seed, std::uint64_t step = 0);

/// Returns the stream of this thread's seed, step and next site, and advances the site: each call gets a new stream.
Stream next_stream();

}  // namespace tapestry
