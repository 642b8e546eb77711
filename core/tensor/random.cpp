#include "core/tensor/random.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "core/simd/random.hpp"

namespace tapestry {

namespace {

thread_local RandomState state;

/// Mixes seed and step into one key. Pairs of small numbers never collide, because the finaliser of SplitMix64 (Steele,
/// Lea & Flood 2014) is a bijection.
std::uint64_t mix(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (step + 1);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

}  // namespace

std::uint64_t Stream::bits(std::uint64_t i) const {
  std::array<std::uint32_t, 2> words{};
  simd::random_words(words.data(), 2, key_, site_, static_cast<std::int64_t>(2 * i));
  return std::uint64_t{words[0]} << 32 | words[1];
}

double Stream::uniform(std::uint64_t i) const { return static_cast<double>(bits(i) >> 11) * 0x1p-53; }

double Stream::normal(std::uint64_t i) const {
  // 1 − u is positive, as the logarithm requires.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(2 * i)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * i + 1));
}

std::uint64_t Stream::below(std::uint64_t n, std::uint64_t i) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{bits(i)} * n >> 64);
}

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

RandomState& random_state() { return state; }

void set_random(std::uint64_t seed, std::uint64_t step) { state = {seed, step, 0}; }

Stream next_stream() { return {mix(state.seed, state.step), state.site++}; }

}  // namespace tapestry
