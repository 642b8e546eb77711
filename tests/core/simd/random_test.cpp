// Philox against its published answers, and what the dropout kernel promises.
#include "core/simd/random.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "core/simd/threads.hpp"
#include "tests/catch.hpp"

using namespace tapestry;

namespace {

using Block = std::array<std::uint32_t, 4>;

/// Philox4x32-10 as the paper writes it, one block at a time.
Block philox(Block c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

}  // namespace

TEST_CASE("the reference gives the published answers of Philox4x32-10") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t all = 0xffffffff;
  CHECK(philox({all, all, all, all}, {all, all}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("word i of a stream is word i mod 4 of block i / 4, from whatever place one reads") {
  const std::uint64_t key = 0x299f31d0a4093822, site = 0x0370734413198a2e;
  for (const Size first : {0, 1, 3, 4, 61, 62, 64, 1000003}) {
    for (const Size n : {0, 1, 2, 3, 4, 5, 63, 64, 65, 131}) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(n) + 1, 7);
      simd::random_words(words.data(), n, key, site, first);
      for (Size i = 0; i < n; ++i) {
        const auto block = static_cast<std::uint32_t>((first + i) / 4);
        const Block expected =
            philox({block, 0, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(site >> 32)},
                   {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
        REQUIRE(words[static_cast<std::size_t>(i)] == expected[static_cast<std::size_t>((first + i) % 4)]);
      }
      CHECK(words.back() == 7);
    }
  }
}

TEST_CASE("dropout keeps the same elements in f32 and f64, on any number of threads, at the rate asked for",
          "[threads]") {
  const Size n = 100003;
  const std::vector<float> x(static_cast<std::size_t>(n), 1);
  const std::vector<double> x64(static_cast<std::size_t>(n), 1);
  std::vector<float> y(x.size()), again(x.size());
  std::vector<double> y64(x.size());
  const std::uint32_t threshold = simd::dropout_threshold(0.3);
  const int before = simd::thread_count();
  simd::set_thread_count(1);
  simd::dropout(y.data(), x.data(), n, 2.0F, threshold, 5, 6);
  simd::dropout(y64.data(), x64.data(), n, 2.0, threshold, 5, 6);
  Size kept = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    REQUIRE((y[i] == 0.0F || y[i] == 2.0F));
    REQUIRE(static_cast<double>(y[i]) == y64[i]);
    kept += y[i] != 0;
  }
  CHECK(std::abs(static_cast<double>(kept) / static_cast<double>(n) - 0.7) < 0.01);
  for (const int threads : {2, 4}) {
    simd::set_thread_count(threads);
    simd::dropout(again.data(), x.data(), n, 2.0F, threshold, 5, 6);
    CHECK(again == y);
  }
  simd::set_thread_count(before);
}
