// Philox4x32-10 and dropout, in blocks that the compiler vectorises.
#include "core/simd/random.hpp"

#include <algorithm>
#include <array>

#include "core/simd/lanes.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

constexpr Size kBlocks = 32;  // computed together, so that the compiler can use vectors
constexpr Size kWords = 4 * kBlocks;
constexpr Size kGrain = 16 * 1024;  // elements per chunk, a multiple of kWords

template <Size kCount>
using BlockWords = std::array<std::uint32_t, static_cast<std::size_t>(4 * kCount)>;
using Words = BlockWords<kBlocks>;

/// Returns the upper 32 bits of a product, in a form for which compilers have a vector instruction.
std::uint32_t high_half(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}

/// Generates the words of kCount blocks from block `first` on, four consecutive ones per block.
template <Size kCount>
void blocks(BlockWords<kCount>& out, std::uint64_t key, std::uint64_t site, std::uint64_t first) {
  constexpr std::uint32_t kMultiply0 = 0xD2511F53, kMultiply1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr auto kN = static_cast<std::size_t>(kCount);
  std::uint32_t c0[kN], c1[kN], c2[kN], c3[kN];
  for (std::size_t b = 0; b < kN; ++b) {
    const std::uint64_t counter = first + b;
    c0[b] = static_cast<std::uint32_t>(counter);
    c1[b] = static_cast<std::uint32_t>(counter >> 32);
    c2[b] = static_cast<std::uint32_t>(site);
    c3[b] = static_cast<std::uint32_t>(site >> 32);
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += kWeyl0, k1 += kWeyl1) {
#pragma GCC unroll 1  // unrolled, GCC 12 would process the blocks one by one
    for (std::size_t b = 0; b < kN; ++b) {
      const std::uint32_t high0 = high_half(kMultiply0, c0[b]), low0 = kMultiply0 * c0[b];
      const std::uint32_t high1 = high_half(kMultiply1, c2[b]), low1 = kMultiply1 * c2[b];
      c0[b] = high1 ^ c1[b] ^ k0;
      c1[b] = low1;
      c2[b] = high0 ^ c3[b] ^ k1;
      c3[b] = low0;
    }
  }
  for (std::size_t b = 0; b < kN; ++b) {
    out[4 * b] = c0[b];
    out[4 * b + 1] = c1[b];
    out[4 * b + 2] = c2[b];
    out[4 * b + 3] = c3[b];
  }
}

}  // namespace

void random_words(std::uint32_t* out, Size n, std::uint64_t key, std::uint64_t site, Size first) {
  const auto copy_from = [&](auto make_words, Size most, Size done) {
    const Size place = first + done, skip = place % 4;
    const auto words = make_words(static_cast<std::uint64_t>(place / 4));
    const Size take = std::min(n - done, most - skip);
    std::copy_n(words.begin() + skip, take, out + done);
    return take;
  };
  for (Size done = 0; done < n;) {
    if (n - done <= 4)  // few numbers: one or two blocks instead of kBlocks
      done += copy_from(
          [&](std::uint64_t block) {
            BlockWords<1> words;
            blocks<1>(words, key, site, block);
            return words;
          },
          4, done);
    else
      done += copy_from(
          [&](std::uint64_t block) {
            Words words;
            blocks<kBlocks>(words, key, site, block);
            return words;
          },
          kWords, done);
  }
}

std::uint32_t dropout_threshold(double rate) {
  return static_cast<std::uint32_t>(std::min(rate * 0x1p32, 0x1p32 - 1));
}

template <class T>
void dropout(T* y, const T* x, Size n, T scale, std::uint32_t threshold, std::uint64_t key,
             std::uint64_t site) {
  parallel_ranges(n, kGrain, [&](Size begin, Size end) {
    Words words;
    T keep[kWords];
    for (Size i = begin; i < end; i += kWords) {
      blocks<kBlocks>(words, key, site, static_cast<std::uint64_t>(i / 4));
      const Size count = std::min(kWords, end - i);
      for (std::size_t j = 0; j < words.size(); ++j) keep[j] = words[j] >= threshold ? T(1) : T(0);
      for (Size j = 0; j < count; j += kLanes<T>) {
        const Size part = std::min(kLanes<T>, count - j);
        const Lanes<T> kept = load(static_cast<const T*>(keep + j));
        store_n(y + i + j, select(kept > Lanes<T>(T(0)), load_n(x + i + j, part) * scale, T(0)), part);
      }
    }
  });
}

template void dropout(float*, const float*, Size, float, std::uint32_t, std::uint64_t, std::uint64_t);
template void dropout(double*, const double*, Size, double, std::uint32_t, std::uint64_t, std::uint64_t);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
