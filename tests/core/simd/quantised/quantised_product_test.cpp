// The quantised product against plain loops over single elements, and this build's byte sums against the
// portable ones.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/simd/quantised/product.hpp"
#include "core/simd/quantised/quantised.hpp"
#include "tests/catch.hpp"
#include "tests/core/simd/guarded.hpp"
#include "tests/threads.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

struct Layout {
  WeightFormat format;
  Size bytes, quants;
};
constexpr Layout kLayouts[] = {
    {WeightFormat::q8_0, 34, 2}, {WeightFormat::q4_0, 18, 2}, {WeightFormat::q4_1, 20, 4}};

/// The value of an F16 that is normal.
float plain_half(const std::uint8_t* at) {
  const int bits = at[0] | at[1] << 8;
  const double magnitude = std::ldexp(1024 + (bits & 1023), (bits >> 10 & 31) - 25);
  return static_cast<float>((bits & 0x8000) != 0 ? -magnitude : magnitude);
}

/// Random blocks: any integers, all of them extreme in some blocks, and scales around 1/16 of both signs.
std::vector<std::uint8_t> random_blocks(const Layout& layout, Size count, std::mt19937& random) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count * layout.bytes));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  for (Size i = 0; i < count; ++i) {
    std::uint8_t* block = bytes.data() + i * layout.bytes;
    for (Size offset = 0; offset < layout.quants; offset += 2)
      block[offset + 1] = static_cast<std::uint8_t>(0x28 | (block[offset + 1] & 0x87));
    if (i % 5 == 3)
      std::memset(block + layout.quants, 0x80, static_cast<std::size_t>(layout.bytes - layout.quants));
    if (i % 5 == 4)
      std::memset(block + layout.quants, 0xff, static_cast<std::size_t>(layout.bytes - layout.quants));
  }
  return bytes;
}

/// The integer q of element j of a block.
int plain_quant(const Layout& layout, const std::uint8_t* block, Size j) {
  const std::uint8_t* q = block + layout.quants;
  if (layout.format == WeightFormat::q8_0) return static_cast<std::int8_t>(q[j]);
  return j < 16 ? q[j] & 15 : q[j - 16] >> 4;
}

/// One element of y, as quantised.hpp defines it.
float plain_product(const Layout& layout, const std::uint8_t* row, const float* x, Size k) {
  float y = 0;
  for (Size first = 0; first < k; first += 32) {
    const std::uint8_t* block = row + first / 32 * layout.bytes;
    float largest = 0;
    for (Size j = 0; j < 32; ++j) largest = std::max(largest, std::abs(x[first + j]));
    const float e = largest / 127;
    int sum = 0, dot = 0;
    for (Size j = 0; j < 32; ++j) {
      const volatile float steps = e == 0 ? 0 : x[first + j] * (1 / e);
      const int p = static_cast<int>(std::nearbyint(steps));
      sum += p;
      dot += p * plain_quant(layout, block, j);
    }
    const float d = plain_half(block);
    y = std::fma(static_cast<float>(dot), d * e, y);
    if (layout.format == WeightFormat::q4_0) y = std::fma(-8 * d, e * static_cast<float>(sum), y);
    if (layout.format == WeightFormat::q4_1)
      y = std::fma(plain_half(block + 2), e * static_cast<float>(sum), y);
  }
  return y;
}

/// Only xsimd's registers always fuse multiply-adds. With others, the last bits of y may differ from plain_product().
#if defined(__FMA__) && !defined(TAPESTRY_PORTABLE_SIMD)
constexpr float kTolerance = 0;
#else
constexpr float kTolerance = 1e-4f;
#endif

std::vector<float> random_rows(Size count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) value = normal(random);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i / 32 % 7 == 2) x[i] = i % 2 == 0 ? 3.0f : -3.0f;  // all extreme
    if (i / 32 % 7 == 3) x[i] = 3;
    if (i / 32 % 7 == 4) x[i] = 0;
    if (i / 32 % 7 == 5) x[i] = static_cast<float>(static_cast<int>(i % 32) * 2 - 31) * 0.5f;
  }
  return x;
}

struct Case {
  Size m, n, k;
};

}  // namespace

TEST_CASE("quantised product: each element equals the plain loop's, and nothing else is touched") {
  std::mt19937 random(1);
  for (const Layout& layout : kLayouts) {
    for (const auto [m, n, k] : {Case{1, 1, 32},
                                 {1, 7, 64},
                                 {1, 33, 256},
                                 {2, 8, 96},
                                 {3, 16, 32},
                                 {4, 17, 64},
                                 {5, 31, 160},
                                 {9, 5, 2048 + 96},
                                 {1, 40, 4096 + 32},
                                 {13, 50, 64}}) {
      INFO("format " << static_cast<int>(layout.format) << ", m " << m << ", n " << n << ", k " << k);
      const std::vector<std::uint8_t> blocks = random_blocks(layout, n * k / 32, random);
      const std::vector<float> x = random_rows(m * k, random);
      const std::vector<float> before(static_cast<std::size_t>(m * n),
                                      std::numeric_limits<float>::quiet_NaN());
      for (const Edge edge : {Edge::first, Edge::last}) {
        const Guarded<std::uint8_t> weights(blocks.data(), static_cast<Size>(blocks.size()), edge);
        const Guarded<float> from(x.data(), m * k, edge), y(before.data(), m * n, edge);
        quantised_matmul({m, n, k, from.data(), k, layout.format, weights.data(), y.data(), n});
        Size wrong = 0;
        for (Size i = 0; i < m; ++i) {
          for (Size j = 0; j < n; ++j) {
            const float expected =
                plain_product(layout, blocks.data() + j * k / 32 * layout.bytes, x.data() + i * k, k);
            wrong += !(std::abs(y.data()[i * n + j] - expected) <= kTolerance * (1 + std::abs(expected)));
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE(
    "quantised product: this build's byte sums give the bits of the portable ones, with 1 and 4 threads") {
  std::mt19937 random(2);
  for (const Layout& layout : kLayouts) {
    for (const Case& size : {Case{1, 1000, 576}, {1, 203, 2304}, {37, 301, 320}}) {
      const Size m = size.m, n = size.n, k = size.k;
      const std::vector<std::uint8_t> blocks = random_blocks(layout, n * k / 32, random);
      const std::vector<float> x = random_rows(m * k, random);
      const auto run = [&](int threads, auto kernel) {
        const test::Threads with(threads);
        std::vector<float> y(static_cast<std::size_t>(m * n));
        kernel(QuantisedProduct{m, n, k, x.data(), k, layout.format, blocks.data(), y.data(), n});
        return y;
      };
      const auto native = [](const QuantisedProduct& product) { quantised_matmul(product); };
      const std::vector<float> expected =
          run(1, [](const QuantisedProduct& product) { quantised_product<PortableByteSums>(product); });
      CHECK(run(1, native) == expected);
      CHECK(run(4, native) == expected);
    }
  }
}

TEST_CASE("quantised product: strides, empty sizes, infinity, NaN and tiny numbers") {
  std::mt19937 random(3);
  const Layout& layout = kLayouts[2];
  constexpr Size kM = 3, kN = 10, kK = 64;
  const std::vector<std::uint8_t> blocks = random_blocks(layout, kN * kK / 32, random);
  std::vector<float> x = random_rows(kM * (kK + 5), random), y(kM * (kN + 3), 7);
  const QuantisedProduct product{kM,       kN,    kK, x.data(), kK + 5, layout.format, blocks.data(),
                                 y.data(), kN + 3};
  x[kK + 5 + 40] = HUGE_VALF;
  for (Size j = 0; j < kK; ++j) x[static_cast<std::size_t>(2 * (kK + 5) + j)] = 1e-37f;
  quantised_matmul(product);
  for (Size j = 0; j < kN; ++j) {
    CHECK(y[static_cast<std::size_t>(j)] ==
          Approx(plain_product(layout, blocks.data() + j * kK / 32 * layout.bytes, x.data(), kK)));
    CHECK(std::isnan(y[static_cast<std::size_t>(kN + 3 + j)]));
    CHECK(std::abs(y[static_cast<std::size_t>(2 * (kN + 3) + j)]) < 1e-35f);
  }
  for (Size i = 0; i < kM; ++i) {
    for (Size j = kN; j < kN + 3; ++j) CHECK(y[static_cast<std::size_t>(i * (kN + 3) + j)] == 7);
  }
  QuantisedProduct empty = product;
  empty.k = 0;
  quantised_matmul(empty);
  for (Size j = 0; j < kN; ++j) CHECK(y[static_cast<std::size_t>(j)] == 0);
  empty.m = 0;
  quantised_matmul(empty);
  empty.m = 3, empty.n = 0;
  quantised_matmul(empty);
}

TEST_CASE("quantised product: scales of every F16, subnormal and infinite ones included") {
  constexpr Size kN = 65536;
  std::vector<std::uint8_t> blocks(static_cast<std::size_t>(kN * 34), 0);
  for (Size i = 0; i < kN; ++i) {
    blocks[static_cast<std::size_t>(i * 34)] = static_cast<std::uint8_t>(i & 255);
    blocks[static_cast<std::size_t>(i * 34 + 1)] = static_cast<std::uint8_t>(i >> 8);
    blocks[static_cast<std::size_t>(i * 34 + 2)] = 1;
  }
  std::vector<float> x(32, 0), y(static_cast<std::size_t>(kN));
  x[0] = 127;
  quantised_matmul({1, kN, 32, x.data(), 32, WeightFormat::q8_0, blocks.data(), y.data(), kN});
  Size wrong = 0;
  for (Size i = 0; i < kN; ++i) {
    const float got = y[static_cast<std::size_t>(i)] / 127;
    const Size exponent = i >> 10 & 31, fraction = i & 1023;
    const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                             : exponent == 31 ? HUGE_VAL
                                              : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    const bool is_nan = exponent == 31 && fraction > 0;
    wrong += is_nan ? !std::isnan(got) : static_cast<double>(got) != (i < 32768 ? magnitude : -magnitude);
  }
  CHECK(wrong == 0);
}
