// ggml's block formats. A block stores n elements as small integers q with a scale d and, in some formats, an
// offset m. All numbers are little-endian; d and m are F16. Each drawing gives the bytes in order.
//
// In the formats with 4-bit numbers ("nibbles"), a byte holds two elements that are half a group apart: its low
// nibble is element j, its high nibble element j + 16 (of a group of 32), or j + 32 (of a group of 64).
//
// Every product below is exact in f32, whose numbers have 24 significant bits: d or m has 11, and the integers that
// multiply it have at most 12 together. So the result does not depend on the use of fused multiply-adds.
#include "core/quantised/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/quantised/half.hpp"
#include "core/tensor/error.hpp"

static_assert(std::endian::native == std::endian::little, "GGUF's numbers are little-endian");

namespace tapestry {
namespace {

std::uint16_t bits16(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] | at[1] << 8); }
float half_at(const std::uint8_t* at) { return half_to_float(bits16(at)); }
void put_half(std::uint8_t* at, float value) {
  const std::uint16_t bits = float_to_half(value);
  at[0] = static_cast<std::uint8_t>(bits & 255u), at[1] = static_cast<std::uint8_t>(bits >> 8);
}
float signed_byte(std::uint8_t bits) { return static_cast<float>(static_cast<std::int8_t>(bits)); }
int low_nibble(std::uint8_t byte) { return byte & 15; }
int high_nibble(std::uint8_t byte) { return byte >> 4; }
float number(int q) { return static_cast<float>(q); }

// Q8_0   | d: 2 | q: 32 signed bytes |                                    x = d·q
void read_q8_0(const std::uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int j = 0; j < 32; ++j) x[j] = d * signed_byte(block[2 + j]);
}

// Q4_0   | d: 2 | 16 bytes of nibbles |                                   x = d·(q − 8)
void read_q4_0(const std::uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int j = 0; j < 16; ++j) {
    x[j] = d * number(low_nibble(block[2 + j]) - 8);
    x[j + 16] = d * number(high_nibble(block[2 + j]) - 8);
  }
}

// Q4_1   | d: 2 | m: 2 | 16 bytes of nibbles |                            x = d·q + m
void read_q4_1(const std::uint8_t* block, float* x) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int j = 0; j < 16; ++j) {
    x[j] = d * number(low_nibble(block[4 + j])) + m;
    x[j + 16] = d * number(high_nibble(block[4 + j])) + m;
  }
}

/// Element j of 32 five-bit numbers: bit j of the 32-bit number at `high` is its bit 4, `nibbles` has the other four.
int five_bits(const std::uint8_t* high, const std::uint8_t* nibbles, int j) {
  const int low = j < 16 ? low_nibble(nibbles[j]) : high_nibble(nibbles[j - 16]);
  return low | (high[j / 8] >> j % 8 & 1) << 4;
}

// Q5_0   | d: 2 | bit 4 of each q: 4 | 16 bytes of nibbles |              x = d·(q − 16)
void read_q5_0(const std::uint8_t* block, float* x) {
  const float d = half_at(block);
  for (int j = 0; j < 32; ++j) x[j] = d * number(five_bits(block + 2, block + 6, j) - 16);
}

// Q5_1   | d: 2 | m: 2 | bit 4 of each q: 4 | 16 bytes of nibbles |       x = d·q + m
void read_q5_1(const std::uint8_t* block, float* x) {
  const float d = half_at(block), m = half_at(block + 2);
  for (int j = 0; j < 32; ++j) x[j] = d * number(five_bits(block + 4, block + 8, j)) + m;
}

// Q4_K   | d: 2 | m: 2 | 12 bytes of scales s and offsets o | 128 bytes of nibbles |     x = d·s·q − m·o
//
// 8 groups of 32 elements, each with a six-bit s and o. Groups 2i and 2i + 1 are the low and high nibbles of bytes
// 32i … 32i + 31. The twelve bytes, bit 7 on the left; a digit names the group:
//
//     bytes 0–3    s4 s4 s0 s0 s0 s0 s0 s0     … to group 3; the two upper bits are bits 5 and 4 of group + 4
//     bytes 4–7    o4 o4 o0 o0 o0 o0 o0 o0     likewise
//     bytes 8–11   o4 o4 o4 o4 s4 s4 s4 s4     bits 3 to 0 of groups 4 to 7
void read_q4_k(const std::uint8_t* block, float* x) {
  const float d = half_at(block), m = half_at(block + 2);
  const std::uint8_t *packed = block + 4, *nibbles = block + 16;
  for (int group = 0; group < 8; ++group) {
    int scale = packed[group % 4] & 63, offset = packed[4 + group % 4] & 63;
    if (group >= 4) {
      scale = low_nibble(packed[4 + group]) | packed[group - 4] >> 6 << 4;
      offset = high_nibble(packed[4 + group]) | packed[group] >> 6 << 4;
    }
    const float step = d * number(scale), start = m * number(offset);
    for (int j = 0; j < 32; ++j) {
      const std::uint8_t pair = nibbles[group / 2 * 32 + j];
      x[group * 32 + j] = step * number(group % 2 == 0 ? low_nibble(pair) : high_nibble(pair)) - start;
    }
  }
}

// Q6_K   | 128 bytes of nibbles | 64 bytes: bits 5 and 4 | 16 signed scales s | d: 2 |     x = d·s·(q − 32)
//
// Two halves of 128 elements, each with 64 bytes of nibbles and 32 bytes of upper bits. Quarter k of a half (32
// elements) has its nibbles in bytes 0–31 (k even) or 32–63 (k odd), low nibbles for k < 2, and its upper bits at
// bits 2k and 2k + 1. Each 16 elements have a scale.
void read_q6_k(const std::uint8_t* block, float* x) {
  const float d = half_at(block + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, quarter = i / 32 % 4, j = i % 32;
    const std::uint8_t pair = block[half * 64 + quarter % 2 * 32 + j];
    const int low = quarter < 2 ? low_nibble(pair) : high_nibble(pair);
    const int high = block[128 + half * 32 + j] >> 2 * quarter & 3;
    const float step = d * signed_byte(block[192 + i / 16]);
    x[i] = step * number((low | high << 4) - 32);
  }
}

void read_block(BlockType type, const std::uint8_t* block, float* x) {
  switch (type) {
    case BlockType::f32:
      std::memcpy(x, block, sizeof *x);
      break;
    case BlockType::f16:
      *x = half_at(block);
      break;
    case BlockType::bf16:
      *x = bfloat_to_float(bits16(block));
      break;
    case BlockType::q8_0:
      return read_q8_0(block, x);
    case BlockType::q4_0:
      return read_q4_0(block, x);
    case BlockType::q4_1:
      return read_q4_1(block, x);
    case BlockType::q5_0:
      return read_q5_0(block, x);
    case BlockType::q5_1:
      return read_q5_1(block, x);
    case BlockType::q4_k:
      return read_q4_k(block, x);
    case BlockType::q6_k:
      return read_q6_k(block, x);
  }
}

/// Returns 1/d, or 0 for d = 0: a block of equal elements then has q = 0.
float reciprocal(float d) { return d == 0 ? 0 : 1 / d; }
/// Returns x + `half` without its fraction, from 0 to 15. The sum is rounded to f32, and never fused with the product
/// that made x: f64 separates the two.
int nearest_nibble(float x, double half) {
  const auto sum = static_cast<float>(static_cast<double>(x) + half);
  return static_cast<int>(std::clamp(sum, 0.0f, 15.0f));
}
/// Stores 32 nibbles that level(x) computes for each element.
template <class Level>
void put_nibbles(std::uint8_t* bytes, const float* x, const Level& level) {
  for (int j = 0; j < 16; ++j) bytes[j] = static_cast<std::uint8_t>(level(x[j]) | level(x[j + 16]) << 4);
}

/// d = max |x| / 127.
void write_q8_0(const float* x, std::uint8_t* block) {
  float largest = 0;
  for (int j = 0; j < 32; ++j) largest = std::max(largest, std::abs(x[j]));
  const float d = largest / 127, inverse = reciprocal(d);
  put_half(block, d);
  for (int j = 0; j < 32; ++j)
    block[2 + j] = static_cast<std::uint8_t>(static_cast<int>(std::round(x[j] * inverse)));
}

/// The element with the largest magnitude, of either sign, gets q = 0, which means −8·d.
void write_q4_0(const float* x, std::uint8_t* block) {
  const float extreme =
      *std::max_element(x, x + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float d = extreme / -8, inverse = reciprocal(d);
  put_half(block, d);
  put_nibbles(block + 2, x, [inverse](float value) { return nearest_nibble(value * inverse, 8.5); });
}

/// q = 0 is the smallest element, q = 15 the largest.
void write_q4_1(const float* x, std::uint8_t* block) {
  const auto [least, most] = std::minmax_element(x, x + 32);
  const float m = *least, d = (*most - m) / 15, inverse = reciprocal(d);
  put_half(block, d);
  put_half(block + 2, m);
  put_nibbles(block + 4, x, [m, inverse](float value) { return nearest_nibble((value - m) * inverse, 0.5); });
}

/// Throws Error unless `bytes` are whole blocks of `count` elements.
void check_sizes(const char* name, BlockType type, std::size_t bytes, std::size_t count) {
  const auto each = static_cast<std::size_t>(block_elements(type));
  const std::size_t wanted = count / each * static_cast<std::size_t>(block_bytes(type));
  if (count % each != 0)
    fail("[{}] {} needs a multiple of {} elements, got {}; pad the rows", name, to_string(type), each, count);
  if (bytes != wanted)
    fail("[{}] {} elements of {} must have {} bytes, got {}; pass whole blocks", name, count, to_string(type),
         wanted, bytes);
}

}  // namespace

void dequantise_blocks(BlockType type, std::span<const std::byte> bytes, std::span<float> floats) {
  check_sizes("dequantise", type, bytes.size(), floats.size());
  const Size step = block_bytes(type), elements = block_elements(type);
  const auto* block = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto count = static_cast<Size>(floats.size()) / elements;
  for (Size i = 0; i < count; ++i) read_block(type, block + i * step, floats.data() + i * elements);
}

void quantise_blocks(BlockType type, std::span<const float> floats, std::span<std::byte> bytes) {
  if (type != BlockType::q8_0 && type != BlockType::q4_0 && type != BlockType::q4_1)
    fail("[quantise] the type must be Q8_0, Q4_0 or Q4_1, got {}; choose one of these", to_string(type));
  check_sizes("quantise", type, bytes.size(), floats.size());
  if (!std::all_of(floats.begin(), floats.end(), [](float x) { return std::isfinite(x); }))
    fail("[quantise] every element must be finite, got NaN or infinity; check the weights");
  const Size step = block_bytes(type), elements = block_elements(type);
  auto* block = reinterpret_cast<std::uint8_t*>(bytes.data());
  const auto write = type == BlockType::q8_0 ? write_q8_0 : type == BlockType::q4_0 ? write_q4_0 : write_q4_1;
  const auto count = static_cast<Size>(floats.size()) / elements;
  for (Size i = 0; i < count; ++i) write(floats.data() + i * elements, block + i * step);
}

}  // namespace tapestry
