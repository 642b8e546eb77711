// safetensors: what is written is read back, and every kind of damage is one clear line.
#include "core/io/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <tuple>

#include "core/io/file.hpp"
#include "core/ops/views.hpp"
#include "core/quantised/half.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"
#include "tests/catch.hpp"
#include "tests/core/io/clear_line.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::is_one_clear_line;
using test::message_of;
using test::TemporaryFolder;

namespace {

using Bytes = std::vector<std::byte>;

/// The length, the header, and `data` bytes 0, 1, 2, …
Bytes file_of(const std::string& header, std::size_t data) {
  Bytes bytes(8 + header.size() + data);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data; ++i) bytes[8 + header.size() + i] = static_cast<std::byte>(i);
  return bytes;
}

std::string safetensors_refusal(const Bytes& bytes) {
  return message_of([&] { parse_safetensors(bytes, "some/file"); });
}

/// One tensor's entry.
std::string entry(const std::string& type, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + type + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

const std::string kValid = R"({"__metadata__":{"made":"by hand"},"a":)" + entry("F32", "2,1", "0,8") +
                           R"(,"b":)" + entry("F64", "", "8,16") + R"(,"c":)" + entry("I64", "1", "16,24") +
                           "}";

}  // namespace

TEST_CASE("safetensors: tensors, views and strings come back as they were") {
  const TemporaryFolder folder;
  const Tensor matrix = random_normal({3, 4}, 1, DType::f64);
  const double special[] = {-0.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::denorm_min(), 0.1};
  const State state{{"matrix", matrix},
                    {"turned", transpose(matrix)},
                    {"narrow", random_normal({5}, 2)},
                    {"alone", scalar(2.5)},
                    {"nothing", zeros({0, 7})},
                    {"special", tensor(special, {2, 2}, DType::f64)},
                    {"größe \"x\"\\\n", ones({1, 1, 1, 1, 1, 1})}};
  const std::map<std::string, std::string> metadata{{"clé", "é\t\"\\ \x01"}, {"empty", ""}};
  write_safetensors(folder / "file", state, metadata);
  const SafeTensors back = read_safetensors(folder / "file");
  CHECK(back.metadata == metadata);
  CHECK(back.indices.empty());
  REQUIRE(back.tensors.size() == state.size());
  for (const auto& [name, x] : state) {
    const Tensor& y = back.at(name);
    CHECK(y.dtype() == x.dtype());
    CHECK(y.shape() == x.shape());
    CHECK(y.to_vector() == x.to_vector());
  }
  CHECK(std::signbit(back.at("special").at({0, 0})));
  CHECK_THAT(message_of([&] { back.at("matrices"); }),
             ContainsSubstring("matrices") && ContainsSubstring("matrix"));

  write_safetensors(folder / "again", back.tensors, back.metadata);
  CHECK(read_file(folder / "again") == read_file(folder / "file"));
  write_safetensors(folder / "empty", {});
  CHECK(read_safetensors(folder / "empty").tensors.empty());
}

TEST_CASE("safetensors: weights written in bf16 are the nearest, in half the bytes") {
  const TemporaryFolder folder;
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  // bf16 has 7 bits behind the point: next to 1 its steps are 1/128. Ties go to the even neighbour.
  const double step = 1.0 / 128;
  const std::vector<double> values{
      0,         -0.0, 1,      1 + step / 4,  1 + step / 2, 1 + 3 * step / 2, 1 + 0.51 * step,
      -infinity, nan,  3.4e38, -1.7014118e38, 1e-45},
      wanted{0, -0.0, 1, 1, 1, 1 + 2 * step, 1 + step, -infinity, nan, infinity, -1.7014118346046923e38, 0};
  const auto count = static_cast<Size>(values.size());
  for (const DType type : {DType::f32, DType::f64}) {
    const State state{{"values", tensor(values, {count}, type)}, {"many", random_normal({1000}, 1, type)}};
    write_safetensors(folder / "half", state, {{"a", "b"}}, WriteDType::bf16);
    write_safetensors(folder / "whole", {{"values", state.at("values").to(DType::f32)},
                                         {"many", state.at("many").to(DType::f32)}});
    const SafeTensors back = read_safetensors(folder / "half");
    CHECK(back.metadata.at("a") == "b");
    CHECK(back.at("values").dtype() == DType::f32);
    for (Size i = 0; i < count; ++i) {
      INFO(i);
      const double found = back.at("values").at({i}), want = wanted[static_cast<std::size_t>(i)];
      CHECK((found == want || (std::isnan(found) && std::isnan(want))));
      CHECK(std::signbit(found) == std::signbit(want));
    }
    const std::vector<double> before = state.at("many").to_vector(), after = back.at("many").to_vector();
    double worst = 0;
    for (std::size_t i = 0; i < before.size(); ++i)
      worst = std::max(worst, std::abs(after[i] / before[i] - 1));
    CHECK(worst <= 1.0 / 256);
    CHECK(worst > 1.0 / 512);
    CHECK(static_cast<double>(std::filesystem::file_size(folder / "half")) <
          0.55 * static_cast<double>(std::filesystem::file_size(folder / "whole")));
  }
}

TEST_CASE("safetensors: every f16 and bf16 becomes the same f32") {
  Bytes bytes = file_of(R"({"h":)" + entry("F16", "65536", "0,131072") + R"(,"b":)" +
                            entry("BF16", "65536", "131072,262144") + "}",
                        262144);
  for (std::size_t half = 0; half < 2; ++half)
    for (unsigned i = 0; i < 65536; ++i) {
      const auto value = static_cast<std::uint16_t>(i);
      std::memcpy(bytes.data() + bytes.size() - 262144 + half * 131072 + 2 * i, &value, 2);
    }
  const SafeTensors file = parse_safetensors(bytes);
  const auto expected = [](unsigned bits, int exponent_bits, int fraction_bits) {
    const double sign = bits >> 15U ? -1.0 : 1.0;
    const int exponent =
        static_cast<int>(bits >> static_cast<unsigned>(fraction_bits)) & ((1 << exponent_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double fraction =
        std::ldexp(bits & ((1U << static_cast<unsigned>(fraction_bits)) - 1), -fraction_bits);
    if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
    return sign *
           (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
  };
  const float* half = file.at("h").data<float>();
  const float* brain = file.at("b").data<float>();
  int wrong = 0;
  for (unsigned i = 0; i < 65536; ++i) {
    const auto same = [](double a, double b) {
      return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    };
    wrong += !same(expected(i, 5, 10), static_cast<double>(half[i]));
    wrong += !same(expected(i, 8, 7), static_cast<double>(brain[i]));
    // As in quantised blocks, also for signalling NaN.
    const auto value = static_cast<std::uint16_t>(i);
    wrong += std::bit_cast<std::uint32_t>(half[i]) != std::bit_cast<std::uint32_t>(half_to_float(value));
    wrong += std::bit_cast<std::uint32_t>(brain[i]) != std::bit_cast<std::uint32_t>(bfloat_to_float(value));
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: whole numbers are Indices") {
  Bytes bytes =
      file_of(R"({"l":)" + entry("I64", "2", "0,16") + R"(,"s":)" + entry("I16", "2,1", "16,20") +
                  R"(,"u":)" + entry("U8", "", "20,21") + R"(,"w":)" + entry("U32", "1", "21,25") + "}",
              25);
  const std::int64_t wide[] = {-3, std::numeric_limits<std::int64_t>::max()};
  const std::int16_t narrow[] = {-7, 300};
  const std::uint32_t unsigned_word = 4'000'000'000U;
  std::byte* data = bytes.data() + bytes.size() - 25;
  std::memcpy(data, wide, 16);
  std::memcpy(data + 16, narrow, 4);
  data[20] = std::byte{200};
  std::memcpy(data + 21, &unsigned_word, 4);
  const SafeTensors file = parse_safetensors(bytes);
  CHECK(file.tensors.empty());
  CHECK(file.indices_at("l").to_vector() == std::vector<std::int64_t>{wide[0], wide[1]});
  CHECK(file.indices_at("s").shape() == Dims{2, 1});
  CHECK(file.indices_at("s").to_vector() == std::vector<std::int64_t>{-7, 300});
  CHECK(file.indices_at("u").to_vector() == std::vector<std::int64_t>{200});
  CHECK(file.indices_at("w").to_vector() == std::vector<std::int64_t>{4'000'000'000});
  CHECK_THAT(message_of([&] { file.at("l"); }), ContainsSubstring("no floating-point tensor named \"l\""));
}

TEST_CASE("safetensors: of the names that a file has the first five are told") {
  SafeTensors file;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) file.tensors.emplace(name, zeros({1}));
  CHECK_THAT(message_of([&] { file.at("h"); }),
             Catch::Matchers::EndsWith("it has 7 of that kind, the first: a, b, c, d, e"));
}

TEST_CASE("safetensors: each type of whole numbers, at both of its ends") {
  const auto read = [](const std::string& type, const auto& values) {
    const auto data = std::as_bytes(std::span(values));
    Bytes bytes = file_of(
        R"({"x":)" + entry(type, std::to_string(values.size()), "0," + std::to_string(data.size())) + "}",
        data.size());
    std::copy(data.begin(), data.end(), bytes.end() - static_cast<std::ptrdiff_t>(data.size()));
    return parse_safetensors(bytes).indices_at("x").to_vector();
  };
  const auto ends = [&](const std::string& type, auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    CAPTURE(type);
    CHECK(read(type, std::vector<T>{Limits::min(), T(0), T(1), Limits::max()}) ==
          std::vector<std::int64_t>{static_cast<std::int64_t>(Limits::min()), 0, 1,
                                    static_cast<std::int64_t>(Limits::max())});
  };
  ends("I8", std::int8_t{});
  ends("I16", std::int16_t{});
  ends("I32", std::int32_t{});
  ends("I64", std::int64_t{});
  ends("U8", std::uint8_t{});
  ends("U16", std::uint16_t{});
  ends("U32", std::uint32_t{});
}

TEST_CASE("safetensors: a file cut at any byte, or with bytes behind it, is refused") {
  const Bytes whole = file_of(kValid, 24);
  REQUIRE(safetensors_refusal(whole) == "(nothing thrown)");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string message =
        safetensors_refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    INFO(length << ": " << message);
    CHECK(is_one_clear_line(message));
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  CHECK_THAT(safetensors_refusal(longer), ContainsSubstring("1 bytes after the last tensor"));
}

TEST_CASE("safetensors: the header cut at any byte, its length put right, is refused") {
  for (std::size_t length = 0; length < kValid.size(); ++length) {
    const std::string message = safetensors_refusal(file_of(kValid.substr(0, length), 24));
    INFO(length << ": " << message);
    CHECK(is_one_clear_line(message));
  }
}

TEST_CASE("safetensors: each kind of damage is named with its place") {
  const auto one = [](const std::string& name, const std::string& what) {
    return "{\"" + name + "\":" + what + "}";
  };
  const auto raw = [](std::uint64_t length, std::size_t rest) {
    Bytes bytes(8 + rest, std::byte{'{'});
    std::memcpy(bytes.data(), &length, 8);
    return bytes;
  };
  const std::string nul("\0", 1), big = "18446744073709551615", huge = "9223372036854775807";
  const std::vector<std::tuple<Bytes, std::string>> damages{
      {Bytes(), "got 0 bytes"},
      {raw(0, 0), "does not start with"},
      {raw(~0ULL, 4), "a header length of 18446744073709551615 bytes, but 4 follow"},
      {raw(1ULL << 63, 0), "give a header length of"},
      {raw(5, 4), "a header length of 5 bytes, but 4 follow"},
      {file_of("[1]", 0), "does not start with"},
      {file_of(" {}", 0), "does not start with"},
      {file_of("{} x", 0), "not valid JSON near byte"},
      {file_of("{}{}", 0), "not valid JSON near byte"},
      {file_of("{}" + nul, 0), "NUL at byte 10"},
      {file_of("{}", 3), "3 bytes after the last tensor"},
      {file_of("{" + std::string(100, '['), 0), "not valid JSON"},
      {file_of(one("x", std::string(1000, '[')), 0),
       "\"x\" must be an object with dtype, shape and data_offsets, got a list"},
      {file_of(one("x", R"({"dtype":{"dtype":{}}})"), 0), "must have a string as its dtype, got an object"},
      {file_of(one("x", R"({"shape":[[1]]})"), 0), "as its shape, got a list"},
      {file_of(one("x", "null"), 0), "\"x\" must be an object with dtype, shape and data_offsets, got null"},
      {file_of(one("x", "7"), 0), "\"x\" must be an object with dtype, shape and data_offsets, got 7"},
      {file_of(one("x", "{}"), 0), "\"x\" has no dtype"},
      {file_of(one("x", R"({"dtype":"F32","shape":[]})"), 0), "\"x\" has no data_offsets"},
      {file_of(one("x", R"({"dtype":"F32","data_offsets":[0,4]})"), 4), "\"x\" has no shape"},
      {file_of(one("x", R"({"dtype":"F32","dtype":"F32"})"), 0), "\"dtype\" twice"},
      {file_of(one("x", R"({"shape":[],"shape":[]})"), 0), "\"shape\" twice"},
      {file_of(one("x", R"({"data_offsets":[],"data_offsets":[]})"), 0), "\"data_offsets\" twice"},
      {file_of(one("x", R"({"colour":1})"), 0), "unknown field \"colour\""},
      {file_of(one("x", entry("F8_E4M3", "1", "0,1")), 1), "\"x\" has unsupported type \"F8_E4M3\""},
      {file_of(one("x", entry("BOOL", "1", "0,1")), 1), "\"BOOL\""},
      {file_of(one("x", entry("U64", "1", "0,8")), 8), "\"U64\""},
      {file_of(one("x", R"({"dtype":4})"), 0), "must have a string as its dtype, got 4"},
      {file_of(one("x", entry("F32", "1,1,1,1,1,1,1", "0,4")), 4), "at most 6 axes"},
      {file_of(one("x", entry("F32", "-1", "0,4")), 4), "as its shape, got -1"},
      {file_of(one("x", entry("F32", "-0", "0,0")), 0), "as its shape"},
      {file_of(one("x", entry("F32", "1.0", "0,4")), 4), "as its shape, got 1.0"},
      {file_of(one("x", entry("F32", "1e400", "0,4")), 4), "not valid JSON"},
      {file_of(one("x", entry("F32", "\"1\"", "0,4")), 4), "as its shape"},
      {file_of(one("x", entry("F32", "true", "0,4")), 4), "as its shape, got true"},
      {file_of(one("x", entry("F32", big, "0,4")), 4), "product overflows"},
      {file_of(one("x", entry("F32", big + "0", "0,4")), 4), "as its shape"},
      {file_of(one("x", entry("F32", huge, "0,4")), 4), "product overflows"},
      {file_of(one("x", entry("F32", "4611686018427387905,4", "0,16")), 16), "product overflows"},
      {file_of(one("x", entry("F32", "0," + huge + "," + huge, "0,0")), 0), "product overflows"},
      {file_of(one("x", entry("F64", huge + ",0", "0,0")), 0), "product overflows"},
      {file_of(one("x", entry("F32", "1000000000000", "0,4000000000000")), 4),
       "only 4 bytes follow the header"},
      {file_of(one("x", entry("F32", "1", "0,4000000000000")), 4), "only 4 bytes follow the header"},
      {file_of(one("x", entry("F32", "1", "4,0")), 4), "must not exceed the second"},
      {file_of(one("x", entry("F32", "2", "0,4")), 4), "4 bytes between its data_offsets"},
      {file_of(one("x", entry("F32", "", "0,0")), 0), "takes 4"},
      {file_of(one("x", entry("F32", "1", "0")), 4), "must have two data_offsets, got 1"},
      {file_of(one("x", entry("F32", "1", "")), 4), "must have two data_offsets, got 0"},
      {file_of(one("x", entry("F32", "1", "0,4,4")), 4), "must have two data_offsets, got more"},
      {file_of(one("x", entry("F32", "1", "-4,0")), 4), "as its data_offsets, got -4"},
      {file_of(one("x", entry("F32", "1", "0," + big + "0")), 4), "as its data_offsets"},
      {file_of(one("x", entry("F32", "1", "4,8")), 8), "no tensor covers bytes 0 to 4"},
      {file_of("{\"x\":" + entry("F32", "1", "0,4") + ",\"y\":" + entry("F32", "1", "8,12") + "}", 12),
       "no tensor covers bytes 4 to 8 of the data, before tensor \"y\""},
      {file_of("{\"x\":" + entry("F32", "2", "0,8") + ",\"y\":" + entry("F32", "1", "4,8") + "}", 8),
       "\"x\" and \"y\" overlap at byte 4"},
      {file_of("{\"x\":" + entry("F32", "1", "0,4") + ",\"y\":" + entry("F32", "1", "0,4") + "}", 4),
       "overlap at byte 0"},
      {file_of("{\"x\":" + entry("F32", "1", "0,4") + ",\"x\":" + entry("F32", "1", "4,8") + "}", 8),
       "two tensors are named \"x\""},
      {file_of("{\"x\":" + entry("F32", "1", "0,4") + ",\"\\u0078\":" + entry("F32", "1", "4,8") + "}", 8),
       "two tensors are named \"x\""},
      {file_of(one("a" + nul + "b", entry("F32", "1", "0,4")), 4), "NUL at byte 11"},
      {file_of(one("a\\u0000b", entry("F32", "1", "0,4")), 4), "\"a\\x00b\" contains a NUL"},
      {file_of(one("a\xC3", entry("F32", "1", "0,4")), 4), "not valid JSON near byte"},
      {file_of(one("\xED\xA0\x80", entry("F32", "1", "0,4")), 4), "not valid JSON near byte"},
      {file_of(one("\\ud800", entry("F32", "1", "0,4")), 4), "not valid JSON near byte"},
      {file_of(one("a\nb", entry("F32", "1", "0,4")), 4), "not valid JSON near byte"},
      {file_of(R"({"__metadata__":{"a":1}})", 0), "__metadata__ must be strings, got 1 for \"a\""},
      {file_of(R"({"__metadata__":{"a":{"b":"c"}}})", 0),
       "__metadata__ must be strings, got an object for \"a\""},
      {file_of(R"({"__metadata__":"a"})", 0), "__metadata__ must be an object, got \"a\""},
      {file_of(R"({"__metadata__":[]})", 0), "__metadata__ must be an object, got a list"},
      {file_of(R"({"__metadata__":{"a":"b","a":"c"}})", 0), "__metadata__ has \"a\" twice"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "__metadata__ twice"},
  };
  for (const auto& [bytes, fragment] : damages) {
    const std::string message = safetensors_refusal(bytes);
    INFO(message);
    CHECK(is_one_clear_line(message));
    CHECK_THAT(message, ContainsSubstring(fragment));
  }
}

TEST_CASE("safetensors: what is odd but legal is read") {
  CHECK(safetensors_refusal(file_of("{}", 0)) == "(nothing thrown)");
  CHECK(safetensors_refusal(file_of("{}      ", 0)) == "(nothing thrown)");
  CHECK(safetensors_refusal(file_of(R"({"__metadata__":{}})", 0)) == "(nothing thrown)");
  // Order of the header, empty tensors at either end, six axes, an empty name.
  const std::string header = R"({ "late" : )" + entry("F32", "1,1,1,1,1,2", "4,12") + R"(,"e":)" +
                             entry("F64", "0", "12,12") + R"(,"":)" + entry("F32", "", "0,4") + R"(,"e0":)" +
                             entry("I8", "5,0", "0,0") + "}";
  const SafeTensors file = parse_safetensors(file_of(header, 12));
  CHECK(file.at("late").rank() == 6);
  CHECK(file.at("e").count() == 0);
  CHECK(file.at("").rank() == 0);
  CHECK(file.indices_at("e0").shape() == Dims{5, 0});
}

TEST_CASE("safetensors: a header that lies, or nests deeply, takes no memory") {
  const Size before = simd::pool_stats().reserved;
  safetensors_refusal(file_of(R"({"x":)" + entry("F32", "100000000000", "0,400000000000") + "}", 8));
  safetensors_refusal(file_of(R"({"x":)" + std::string(2'000'000, '[') + "}", 0));
  safetensors_refusal(file_of(R"({"x":)" + std::string(2'000'000, '{') + "}", 0));
  CHECK(simd::pool_stats().reserved == before);
}

TEST_CASE("safetensors: thousands of random changes are read or refused, never worse") {
  const Bytes seeds[] = {file_of(kValid, 24), file_of(R"({"x":)" + entry("F16", "3", "0,6") + "}", 6),
                         file_of("{}", 0)};
  const Stream random(7, hash_of("mutations"));
  std::uint64_t draw = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.below(n, draw++)); };
  const std::string bits = "{}[]\",:0123456789eE+-.\\ndtF32\xC3\xFF";
  int read = 0, refused = 0;
  for (int round = 0; round < 6000; ++round) {
    Bytes bytes = seeds[below(3)];
    for (std::size_t changes = 1 + below(4); changes-- > 0 && !bytes.empty();) {
      const std::size_t place = below(bytes.size());
      const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place);
      switch (below(5)) {
        case 0:
          *at ^= static_cast<std::byte>(1U << below(8));
          break;
        case 1:
          *at = static_cast<std::byte>(bits[below(bits.size())]);
          break;
        case 2:
          bytes.insert(at, static_cast<std::byte>(bits[below(bits.size())]));
          break;
        case 3:
          bytes.erase(at, at + static_cast<std::ptrdiff_t>(std::min(bytes.size() - place, 1 + below(6))));
          break;
        default:
          *at = std::byte{0};
          break;
      }
    }
    // Half of the time the length fits, so that the JSON behind it is looked at.
    if (below(2) == 0 && bytes.size() >= 8) {
      const std::uint64_t length = below(bytes.size() - 7);
      std::memcpy(bytes.data(), &length, 8);
    }
    const std::string message = safetensors_refusal(bytes);
    const bool fine = message == "(nothing thrown)";
    (fine ? read : refused) += 1;
    INFO(message);
    if (!fine) REQUIRE(is_one_clear_line(message));
  }
  CHECK(read > 50);
  CHECK(refused > 1000);
}

TEST_CASE("safetensors: what cannot be written is refused, and the old file stays") {
  const TemporaryFolder folder;
  write_safetensors(folder / "file", {{"x", ones({2})}});
  const Bytes before = read_file(folder / "file");
  const auto refused = [&](const State& state, const std::map<std::string, std::string>& metadata = {}) {
    return message_of([&] { write_safetensors(folder / "file", state, metadata); });
  };
  CHECK_THAT(refused({{"x", Tensor()}}), ContainsSubstring("\"x\" has no values"));
  CHECK_THAT(refused({{"a\xFF", ones({1})}}), ContainsSubstring("a\\xff"));
  CHECK_THAT(refused({{std::string("a\0b", 3), ones({1})}}), ContainsSubstring("a\\x00b"));
  CHECK_THAT(refused({{"__metadata__", ones({1})}}), ContainsSubstring("reserves"));
  CHECK_THAT(refused({}, {{"a", "\x80"}}), ContainsSubstring("\\x80"));
  CHECK(read_file(folder / "file") == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("safetensors: a NaN of any payload stays one in bf16") {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (const std::uint32_t bits :
       {0x7f800001U, 0xff800001U, 0x7f80ffffU, 0x7fc00000U, 0x7fffffffU, 0x7f817fffU})
    values.push_back(std::bit_cast<float>(bits));
  const auto count = static_cast<Size>(values.size());
  Tensor x = zeros({count});
  std::memcpy(x.mutable_data<float>(), values.data(), values.size() * sizeof(float));
  write_safetensors(folder / "nan", {{"x", x}}, {}, WriteDType::bf16);
  for (const double found : read_safetensors(folder / "nan").at("x").to_vector()) CHECK(std::isnan(found));
}
