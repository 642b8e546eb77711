// 38.1 decode_q4_1: Decode a block of Q4_1
// implement, 15 minutes
//
// A block of Q4_1 has 20 bytes and stores 32 weights x_j = d q_j + m. Bytes 0 and 1 are the scale d, and bytes 2 and
// 3 are the offset m, as 16-bit floats. half_at(block, at) returns the 16-bit float that starts at byte `at`.
//
// Bytes 4 to 19 contain the numbers q_j, each from 0 to 15. For j = 0 … 15, the lower four bits of byte 4 + j are
// q_j, and its upper four bits are q_{j + 16}.
//
// `bytes` contains any number of blocks, one after the other, possibly none. Return all their weights, in order.
#include <cstdint>
#include <span>

#include "core/quantised/half.hpp"
#include "lessons/grader/answer.hpp"

double half_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  return half_to_float(static_cast<std::uint16_t>(bytes[at] | bytes[at + 1] << 8));
}

std::vector<double> decode_q4_1(std::span<const std::uint8_t> bytes) {
  //[ about ten lines
  //: return not_written_yet();
  std::vector<double> x;
  for (std::size_t at = 0; at < bytes.size(); at += 20) {
    const auto block = bytes.subspan(at, 20);
    const double d = half_at(block, 0), m = half_at(block, 2);
    for (std::size_t j = 0; j < 32; ++j) {
      const int pair = block[4 + j % 16];            // holds q_j and q_{j ± 16}
      const int q = j < 16 ? pair & 15 : pair >> 4;  // lower bits first
      x.push_back(d * q + m);
    }
  }
  return x;
  //]
}

// hint: How many bytes does a block have, and at which byte does block number b start?
// hint: The lower four bits of a byte are byte & 15, the upper ones byte >> 4. Element 16 is in the same byte as
//   element ____.
// hint: For j from 0 to 31: the byte is block[4 + j % 16], and q is its lower bits if j < 16. Push d * q + m.
//
// wrong: You take neighbours from one byte, elements 2j and 2j + 1. In this format a byte holds
//   elements j and j + 16.
// - const int pair = block[4 + j % 16];
// - const int q = j < 16 ? pair & 15 : pair >> 4;
// + const int pair = block[4 + j / 2];
// + const int q = j % 2 == 0 ? pair & 15 : pair >> 4;
// wrong: You exchanged the lower and the upper four bits. The first 16 elements are in the lower bits.
// - const int q = j < 16 ? pair & 15 : pair >> 4;
// + const int q = j < 16 ? pair >> 4 : pair & 15;
// wrong: You subtract 8 from q, as Q4_0 does. In Q4_1, q begins at 0 and m is the smallest weight.
// - x.push_back(d * q + m);
// + x.push_back(d * (q - 8) + m);
// wrong: You subtract m. The weight is d q + m.
// - x.push_back(d * q + m);
// + x.push_back(d * q - m);
// wrong: You forgot m. Each weight is d q + m.
// - x.push_back(d * q + m);
// + x.push_back(d * q);
// wrong: You exchanged d and m. d is first in the block.
// - const double d = half_at(block, 0), m = half_at(block, 2);
// + const double d = half_at(block, 2), m = half_at(block, 0);
// wrong: You decode only the first block. The bytes may hold any number of blocks.
// - for (std::size_t at = 0; at < bytes.size(); at += 20) {
// + for (std::size_t at = 0; at < std::min<std::size_t>(bytes.size(), 20); at += 20) {
// wrong: You use the scale of the first block for all blocks. Each block has its own d and m.
// - const double d = half_at(block, 0), m = half_at(block, 2);
// + const double d = half_at(bytes, 0), m = half_at(bytes, 2);

//= judge
#include "core/quantised/blocks.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace {

std::vector<double> by_core(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> x(bytes.size() / 20 * 32);
  dequantise_blocks(BlockType::q4_1, std::as_bytes(std::span(bytes)), x);
  return {x.begin(), x.end()};
}

void put(std::vector<std::uint8_t>& bytes, double value) {
  const std::uint16_t bits = float_to_half(static_cast<float>(value));
  bytes.push_back(static_cast<std::uint8_t>(bits & 255u));
  bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("decodes one block", [&] {
    judge.example("d = 0.25, m = −2, byte 4 is 0xA3, all others 0: element 0 is −1.25, element 16 is 0.5");
    std::vector<std::uint8_t> bytes;
    put(bytes, 0.25), put(bytes, -2);
    bytes.push_back(0xA3);
    bytes.resize(20, 0);
    std::vector<double> expected(32, -2.0);
    expected[0] = -1.25, expected[16] = 0.5;
    judge.same(decode_q4_1(bytes), expected, "the weights");
    judge.example("d = 0.5, m = −1, and bytes 4 to 19 count from 0x10");
    bytes.clear();
    put(bytes, 0.5), put(bytes, -1);
    for (int j = 0; j < 16; ++j) bytes.push_back(static_cast<std::uint8_t>(0x10 + 7 * j));
    judge.same(decode_q4_1(bytes), by_core(bytes), "the weights");
  });
  judge.claim("decodes any number of blocks", [&] {
    judge.each_size({{"blocks", 0, 3}},
                    [&](const Sizes& n) {
                      std::vector<std::uint8_t> bytes;
                      for (Size block = 0; block < n[0]; ++block) {
                        put(bytes, judge.random().uniform(0.01, 1));
                        put(bytes, judge.random().uniform(-4, 4));
                        for (int j = 0; j < 16; ++j)
                          bytes.push_back(static_cast<std::uint8_t>(judge.random().below(256)));
                      }
                      judge.same(decode_q4_1(bytes), by_core(bytes), "the weights");
                    },
                    {.f32 = false});
  });
}
