// ggml's block formats against the package gguf (tests/golden/make_ggml_blocks.py): reading all, writing three;
// bit for bit.
#include "core/quantised/blocks.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/quantised/half.hpp"
#include "tests/catch.hpp"
#include "tests/core/quantised/block_types.hpp"
#include "tests/golden/golden.hpp"
#include "tests/message_of.hpp"

namespace tapestry {
namespace {

std::vector<float> floats_of(const Tensor& x) { return {x.data<float>(), x.data<float>() + x.count()}; }
std::vector<std::byte> bytes_of(const Tensor& x) {
  std::vector<std::byte> bytes;
  for (const float value : floats_of(x)) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
std::vector<std::uint32_t> bits_of(const std::vector<float>& x) {
  std::vector<std::uint32_t> bits;
  for (const float value : x) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

TEST_CASE("every block format reads as in the package gguf, bit for bit") {
  const test::Golden golden("ggml_blocks");
  for (const BlockType type : kBlockTypes) {
    const std::string name(to_string(type));
    INFO(name);
    const std::vector<std::byte> bytes = bytes_of(golden[name + "/bytes"]);
    const std::vector<float> expected = floats_of(golden[name + "/values"]);
    REQUIRE(static_cast<Size>(bytes.size()) / block_bytes(type) * block_elements(type) ==
            static_cast<Size>(expected.size()));
    std::vector<float> values(expected.size(), -1.0f);
    dequantise_blocks(type, bytes, values);
    CHECK(bits_of(values) == bits_of(expected));
  }
}

TEST_CASE("three block formats are written as by the package gguf, byte for byte") {
  const test::Golden golden("ggml_blocks");
  for (const BlockType type : {BlockType::q8_0, BlockType::q4_0, BlockType::q4_1}) {
    const std::string name(to_string(type));
    INFO(name);
    const std::vector<float> values = floats_of(golden[name + "/floats"]);
    const std::vector<std::byte> expected = bytes_of(golden[name + "/quantised"]);
    std::vector<std::byte> bytes(expected.size());
    quantise_blocks(type, values, bytes);
    CHECK(bytes == expected);
  }
}

TEST_CASE("all 65,536 halves convert to f32 and back") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent < 31) {
      REQUIRE(static_cast<double>(value) == (bits < 32768 ? magnitude : -magnitude));
    } else {
      REQUIRE((fraction == 0 ? std::isinf(value) : std::isnan(value)));
    }
    REQUIRE(std::signbit(value) == (bits >= 32768));
    if (!std::isnan(value)) REQUIRE(float_to_half(value) == half);
  }
}

TEST_CASE("floats round to the nearest half, ties to even") {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float low = half_to_float(half), high = half_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    REQUIRE(float_to_half(middle) == bits + bits % 2);
    REQUIRE(float_to_half(std::nextafter(middle, 0.0f)) == bits);
    REQUIRE(float_to_half(-std::nextafter(middle, HUGE_VALF)) == ((bits + 1) | 0x8000));
  }
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(-HUGE_VALF) == 0xfc00);
  CHECK(float_to_half(1e-30f) == 0);
  CHECK(std::isnan(half_to_float(float_to_half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST_CASE("blocks of wrong sizes, types and values are refused") {
  std::vector<std::byte> bytes(34);
  std::vector<float> values(32);
  const auto message = [&](auto&& call) { return test::message_of(call); };
  CHECK(message([&] { dequantise_blocks(BlockType::q4_1, bytes, values); }) ==
        "[dequantise] 32 elements of Q4_1 must have 20 bytes, got 34; pass whole blocks");
  CHECK(message([&] { dequantise_blocks(BlockType::q8_0, bytes, std::span(values).first(31)); }) ==
        "[dequantise] Q8_0 needs a multiple of 32 elements, got 31; pad the rows");
  CHECK(message([&] { quantise_blocks(BlockType::q6_k, values, bytes); }) ==
        "[quantise] the type must be Q8_0, Q4_0 or Q4_1, got Q6_K; choose one of these");
  values[7] = HUGE_VALF;
  CHECK(message([&] { quantise_blocks(BlockType::q8_0, values, bytes); }) ==
        "[quantise] every element must be finite, got NaN or infinity; check the weights");
  dequantise_blocks(BlockType::q6_k, {}, {});
  quantise_blocks(BlockType::q4_0, {}, {});
}

}  // namespace
}  // namespace tapestry
