// Randomness that depends on a key and a place, never on the order of calls: the same values in f32 and f64,
// on any number of threads, and when a checkpoint runs a function again.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapestry {

/// The numbers of one site: value i is a function of (key, i) alone. Philox4x32-10 (Salmon et al. 2011).
class Stream {
 public:
  Stream(std::uint64_t key, std::uint64_t site) : key_(key), site_(site) {}
  /// 64 random bits.
  std::uint64_t bits(std::uint64_t i) const;
  /// Uniform on [0, 1), with 53 bits.
  double uniform(std::uint64_t i) const;
  /// Standard normal (Box and Muller 1958).
  double normal(std::uint64_t i) const;
  /// Uniform on 0 … n-1.
  std::uint64_t below(std::uint64_t n, std::uint64_t i) const;

  /// Its key() and site(), as given.
  std::uint64_t key() const { return key_; }
  std::uint64_t site() const { return site_; }

 private:
  std::uint64_t key_, site_;
};

/// The sites from which random_uniform() and random_normal() draw.
inline constexpr std::uint64_t kUniformStream = 1, kNormalStream = 2;

/// A 64-bit hash of a name: parameters draw their first values from the seed and their own full name.
std::uint64_t hash_of(std::string_view name);

/// Where this thread is in its random draws. Whoever draws (dropout, a decoder's coins) takes the next site
/// of the current step: next_stream().
struct RandomState {
  std::uint64_t seed = 0;  // of the run
  std::uint64_t step = 0;  // of the training
  std::uint64_t site = 0;  // the next to be taken

  friend bool operator==(const RandomState&, const RandomState&) = default;
};

/// This thread's state. Set seed and step (with site 0) before each training step, so that a resumed run
/// draws what an unbroken one draws.
RandomState& random_state();
/// Sets this thread's seed and step, and the site to 0.
void set_random(std::uint64_t seed, std::uint64_t step = 0);

/// Numbers that nobody else draws: those of this thread's seed, step and next site, which it takes.
Stream next_stream();

}  // namespace tapestry
