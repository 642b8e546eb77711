// GGUF: each damage of a file is refused with one line.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/io/gguf.hpp"
#include "tests/catch.hpp"
#include "tests/core/io/clear_line.hpp"
#include "tests/core/io/gguf_hand.hpp"
#include "tests/message_of.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::Bytes;
using test::Hand;
using test::is_one_clear_line;
using test::message_of;
using test::valid_by_hand;

namespace {

std::string gguf_refusal(const Bytes& bytes) {
  return message_of([&] { parse_gguf(bytes, "some/file"); });
}

}  // namespace

TEST_CASE("gguf: a file cut at any byte is refused, up to the last tensor's end") {
  const Bytes whole = valid_by_hand().bytes;
  REQUIRE(gguf_refusal(whole) == "(nothing thrown)");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string message =
        gguf_refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    INFO(length << ": " << message);
    CHECK(is_one_clear_line(message));
  }
  Bytes longer = whole;  // other programs pad the last tensor
  longer.resize(whole.size() + 30);
  CHECK(gguf_refusal(longer) == "(nothing thrown)");
}

TEST_CASE("gguf: each number of the header, replaced by extreme ones, is refused or harmless") {
  const Hand hand = valid_by_hand();
  int refused = 0;
  for (const auto& [place, width] : hand.fields)
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{255}, std::uint64_t{1} << 31U,
          std::uint64_t{1} << 32U, std::uint64_t{1} << 61U, std::uint64_t{1} << 63U, ~std::uint64_t{0} - 31,
          ~std::uint64_t{0}}) {
      Bytes bytes = hand.bytes;
      std::memcpy(bytes.data() + place, &value, width);
      const std::string message = gguf_refusal(bytes);
      INFO(place << " = " << value << ": " << message);
      refused += message != "(nothing thrown)";
      CHECK((message == "(nothing thrown)" || is_one_clear_line(message)));
    }
  CHECK(refused > 200);
}

TEST_CASE("gguf: each kind of damage is named with its place") {
  const auto with_alignment = [](std::uint64_t type, std::uint64_t value) {
    Hand hand;
    hand.start(0, 1).key("general.alignment", type);
    return hand.number(value, type == 10 ? 8 : 4).bytes;
  };
  const auto with_tensor = [](const std::vector<std::uint64_t>& sizes, std::uint64_t type,
                              std::uint64_t offset = 0) {
    return Hand().start(1, 0).tensor("x", sizes, type, offset).data(64).bytes;
  };
  const auto with_key = [](const std::string& key) {
    return Hand().start(0, 1).key(key, 0).raw("\1\2").bytes;
  };
  const auto nested = [](int depth) {
    Hand hand;
    hand.start(0, 1).key("deep", 9);
    for (int i = 1; i < depth; ++i) hand.u32(9).u64(1);
    return hand.u32(0).u64(0).bytes;
  };
  const std::uint64_t huge = std::uint64_t{1} << 63U, half = std::uint64_t{1} << 32U;
  const std::string nul("\0", 1);
  const std::vector<std::tuple<Bytes, std::string>> damages{
      {Bytes(),
       "the start of a GGUF file needs 4 bytes at byte 0, but only 0 are left; is the file truncated?"},
      {Hand().raw("GGU\n\xFF\xFF").bytes, "must start with \"GGUF\", got \"GGU\\x0a\""},
      {Hand().start(0, 0, 1).bytes, "the GGUF version must be 2 or 3, got 1; convert the file"},
      {Hand().start(0, 0, 4).bytes, "must be 2 or 3, got 4"},
      {Hand().start(0, 0, 0).bytes, "must be 2 or 3, got 0"},
      {Hand().start(0, 0, 0x03000000).bytes, "must be little-endian, got a big-endian file"},
      {Hand().start(0, huge).bytes, "announces 9223372036854775808 metadata keys and 0 tensors, but only 0"},
      {Hand().start(huge, 0).data(64).bytes, "announces 0 metadata keys and 9223372036854775808 tensors"},
      {with_key(""),
       "the name of metadata key at byte 32 must be UTF-8 without NUL and have 1 to 65535 bytes, got 0"},
      {with_key("a\xC3"), "got 2 bytes (\"a\\xc3\")"},
      {with_key("a" + nul + "b"), "got 3 bytes (\"a\\x00b\")"},
      {with_key(std::string(65'536, 'k')), "got 65536 bytes (\"kkkk"},
      {Hand().start(0, 1).u64(1000).raw("a long enough rest").bytes,
       "the name of metadata key needs 1000 bytes at byte 32, but only 18 are left"},
      {Hand().start(0, 2).key("a", 0).raw("\1").key("a", 0).raw("\1").bytes, "the metadata has \"a\" twice"},
      {Hand().start(0, 1).key("b\n", 13).data(9).bytes, "\"b\\x0a\" must have a type from 0 to 12, got 13"},
      {Hand().start(0, 1).key("b", 9).u32(13).u64(0).bytes, "\"b\" must have a type from 0 to 12, got 13"},
      {Hand().start(0, 1).key("b", 7).raw("\2").bytes,
       "metadata key \"b\" must have 0 or 1 as a bool, got 2"},
      {Hand().start(0, 1).key("b", 9).u32(7).u64(2).raw("\1\3").bytes, "must have 0 or 1 as a bool, got 3"},
      {Hand().start(0, 1).key("b", 9).u32(8).u64(huge).bytes,
       "\"b\" has an array of 9223372036854775808 elements of type string, but only 0 bytes are left"},
      {Hand().start(0, 1).key("b", 9).u32(10).u64(huge / 4).data(32).bytes, "elements of type u64"},
      {Hand().start(0, 1).key("b", 8).u64(~std::uint64_t{0}).bytes,
       "metadata key \"b\" needs 18446744073709551615 bytes at byte 45, but only 0 are left"},
      {nested(9), "metadata key \"deep\" must nest at most 8 arrays, got more"},
      {with_alignment(4, 0), "general.alignment must be a power of two, got 0"},
      {with_alignment(4, 24), "general.alignment must be a power of two, got 24"},
      {with_alignment(10, 32), "general.alignment must be a u32, got type u64"},
      {with_alignment(5, 32), "general.alignment must be a u32, got type i32"},
      {with_tensor({1, 1, 1, 1, 1, 1, 1}, 0), "tensor \"x\" must have at most 6 axes, got 7"},
      {with_tensor({huge}, 0), "tensor \"x\" has an axis of size 9223372036854775808, which overflows"},
      {with_tensor({half, half}, 0), "has shape (4294967296,4294967296), whose product overflows"},
      {with_tensor({huge - 1, 0}, 0), "whose product overflows"},
      {with_tensor({33}, 2), "of type Q4_0 must have rows of a multiple of 32 elements, got shape (33)"},
      {with_tensor({32, 256}, 12),
       "of type Q4_K must have rows of a multiple of 256 elements, got shape (256,32)"},
      {with_tensor({}, 8), "of type Q8_0 must have rows of a multiple of 32 elements, got shape ()"},
      {with_tensor({17}, 0), "\"x\" has 68 bytes at offset 0, but only 64 bytes follow the header"},
      {with_tensor({8}, 0, 64), "\"x\" has 32 bytes at offset 64, but only 64 bytes follow"},
      {with_tensor({8}, 0, ~std::uint64_t{0} - 31),
       "\"x\" has 32 bytes at offset 18446744073709551584, but only"},
      {with_tensor({1}, 99, 96), "\"x\" has 0 bytes at offset 96, but only 64 bytes follow"},
      {with_tensor({1}, 0, 8), "\"x\" must have an offset that is a multiple of 32, got 8"},
      {Hand().start(2, 0).tensor("x", {9}, 0, 0).tensor("y", {1}, 0, 32).data(64).bytes,
       "tensors \"x\" and \"y\" overlap at byte 32 of the data"},
      {Hand().start(2, 0).tensor("x", {256}, 10, 0).tensor("y", {1}, 0, 64).data(96).bytes,
       "tensors \"x\" and \"y\" overlap at byte 64"},
      {Hand().start(2, 0).tensor("x", {1}, 0, 0).tensor("x", {1}, 0, 32).data(64).bytes,
       "two tensors are named \"x\""},
      {Hand().start(2, 0).tensor("x", {1}, 99, 0).tensor("x", {1}, 0, 32).data(64).bytes,
       "two tensors are named \"x\""},
  };
  for (const auto& [bytes, part] : damages) {
    const std::string message = gguf_refusal(bytes);
    INFO("wanted: " << part << "\ngot:    " << message);
    CHECK(is_one_clear_line(message));
    CHECK_THAT(message, ContainsSubstring(part));
  }
  CHECK(gguf_refusal(nested(8)) == "(nothing thrown)");
  CHECK(gguf_refusal(with_tensor({0, 7}, 0)) == "(nothing thrown)");
  CHECK(gguf_refusal(with_tensor({16}, 0)) == "(nothing thrown)");
  CHECK(gguf_refusal(with_tensor({1}, 0, 32)) == "(nothing thrown)");
  CHECK(gguf_refusal(with_alignment(4, 1)) == "(nothing thrown)");
}

TEST_CASE("gguf: bytes changed at random are read or refused with one line") {
  const Bytes whole = valid_by_hand().bytes;
  std::mt19937 draw(45);
  const auto below = [&](std::size_t end) { return draw() % end; };
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = whole;
    for (std::size_t change = 0; change <= below(4); ++change) {
      const std::size_t place = below(bytes.size() - 98);
      bytes[place] = static_cast<std::byte>(below(2) == 0 ? below(256) : below(16));
    }
    const std::string message = gguf_refusal(bytes);
    const bool fine = message == "(nothing thrown)";
    (fine ? read : refused) += 1;
    INFO(message);
    if (!fine) REQUIRE(is_one_clear_line(message));
  }
  CHECK(read > 50);
  CHECK(refused > 500);
}
