// Philox4x32-10 as its paper writes it (Salmon et al. 2011), one block at a time: what draws are compared
// with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tapestry::test {

using PhiloxBlock = std::array<std::uint32_t, 4>;

inline PhiloxBlock philox(PhiloxBlock c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

/// Word i of the stream (key, site): word i mod 4 of block i / 4.
inline std::uint32_t philox_word(std::uint64_t key, std::uint64_t site, std::uint64_t i) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  return philox({low(i / 4), high(i / 4), low(site), high(site)},
                {low(key), high(key)})[static_cast<std::size_t>(i % 4)];
}

}  // namespace tapestry::test
