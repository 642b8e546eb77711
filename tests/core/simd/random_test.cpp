// Philox against its published answers, and what the dropout kernel promises.
#include "core/simd/random.hpp"

#include <cmath>
#include <vector>

#include "core/simd/runtime/threads.hpp"
#include "tests/catch.hpp"
#include "tests/core/ops/philox.hpp"
#include "tests/core/simd/guarded.hpp"

using namespace tapestry;

namespace {

using test::philox;
using Block = test::PhiloxBlock;

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
  for (const Size first : std::vector<Size>{0, 1, 3, 4, 61, 62, 64, 1000003, (Size{1} << 35) - 3}) {
    for (const Size n : {0, 1, 2, 3, 4, 5, 63, 64, 65, 131}) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(n) + 1, 7);
      simd::random_words(words.data(), n, key, site, first);
      for (Size i = 0; i < n; ++i) {
        REQUIRE(words[static_cast<std::size_t>(i)] ==
                test::philox_word(key, site, static_cast<std::uint64_t>(first + i)));
      }
      CHECK(words.back() == 7);
    }
  }
}

TEST_CASE("dropout keeps the same elements in f32 and f64, on any number of threads, at the rate asked for",
          "[threads]") {
  const Size n = 2'200'003;  // more than the ranges of the pool are cut for
  const std::vector<float> x(static_cast<std::size_t>(n), 1);
  const std::vector<double> x64(static_cast<std::size_t>(n), 1);
  std::vector<float> y(x.size()), again(x.size());
  std::vector<double> y64(x.size());
  const std::uint32_t threshold = simd::dropout_threshold(0.3);
  const int before = simd::thread_count();
  simd::set_thread_count(1);
  simd::dropout(y.data(), x.data(), n, 2.0F, threshold, 5, 6);
  simd::dropout(y64.data(), x64.data(), n, 2.0, threshold, 5, 6);
  Size kept = 0, wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool stays = test::philox_word(5, 6, i) >= threshold;
    wrong += y[i] != (stays ? 2.0F : 0.0F) || y64[i] != (stays ? 2.0 : 0.0);
    kept += y[i] != 0;
  }
  CHECK(wrong == 0);
  CHECK(std::abs(static_cast<double>(kept) / static_cast<double>(n) - 0.7) < 0.01);
  for (const int threads : {2, 4}) {
    simd::set_thread_count(threads);
    simd::dropout(again.data(), x.data(), n, 2.0F, threshold, 5, 6);
    const bool same = again == y;
    CHECK(same);
  }
  simd::set_thread_count(before);
}

TEMPLATE_TEST_CASE("dropout reads and writes its own elements alone, however many they are", "", float,
                   double) {
  using T = TestType;
  for (Size n = 1; n <= 300; ++n) {
    const std::vector<T> ones(static_cast<std::size_t>(n) + 20, T(1));
    std::vector<T> y(static_cast<std::size_t>(n) + 20, T(7));
    const simd::Guarded<T> x(ones.data(), n, simd::Edge::last);
    simd::dropout(y.data(), x.data(), n, T(2), simd::dropout_threshold(0.3), 5, 6);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool stays = test::philox_word(5, 6, i) >= simd::dropout_threshold(0.3);
      if (y[i] != (static_cast<Size>(i) >= n ? T(7) : stays ? T(2) : T(0)))
        FAIL("n " << n << ", element " << i);
    }
  }
}
