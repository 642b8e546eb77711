// The bytes of a written safetensors file, read by a plain reader of the format's own words.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/io/file.hpp"
#include "core/io/safetensors.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"
#include "tests/catch.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using test::TemporaryFolder;
using Bytes = std::vector<std::byte>;

// The format, as its authors state it: 8 bytes of length, a JSON object that starts with { and is padded with
// spaces, then the values, little-endian, row-major and without holes. Readers map files, so values are to be
// aligned for their type.
TEST_CASE("safetensors: written bytes are what the format says, to a reader of its own") {
  const TemporaryFolder folder;
  const auto word = [](const Bytes& bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= std::uint64_t(bytes.at(at + i)) << (8 * i);
    return value;
  };
  const Tensor matrix = random_normal({3, 5}, 1, DType::f64);
  for (const WriteDType as : {WriteDType::unchanged, WriteDType::bf16})
    for (int longer = 0; longer < 9; ++longer) {  // each length of the header, mod 8
      CAPTURE(longer, static_cast<int>(as));
      const State state{{"a", random_normal({3}, 2)},
                        {"b" + std::string(static_cast<std::size_t>(longer), 'x'), transpose(matrix)},
                        {"c", random_normal({2}, 3)},  // five of f32 in all: f64 behind them would lie askew
                        {"d", zeros({0, 2}, DType::f64)},
                        {"e", random_normal({2, 2}, 4, DType::f64)}};
      write_safetensors(folder / "file", state, {{"key", "value"}}, as);
      const Bytes bytes = read_file(folder / "file");
      const std::size_t length = word(bytes, 0, 8), start = 8 + length;
      CHECK(start % 8 == 0);
      REQUIRE(start <= bytes.size());
      const std::string header(reinterpret_cast<const char*>(bytes.data()) + 8, length);
      CHECK(header.front() == '{');
      const std::size_t close = header.find_last_not_of(' ');
      CHECK(header.at(close) == '}');
      CHECK(length - close <= 8);
      const nlohmann::json json = nlohmann::json::parse(header);
      CHECK(json.size() == state.size() + 1);
      CHECK(json.at("__metadata__") == nlohmann::json{{"key", "value"}});
      std::vector<std::pair<std::size_t, std::size_t>> parts;
      for (const auto& [name, x] : state) {
        CAPTURE(name);
        const nlohmann::json& one = json.at(name);
        const std::string type = one.at("dtype");
        CHECK(type == (as == WriteDType::bf16 ? "BF16" : x.dtype() == DType::f64 ? "F64" : "F32"));
        const std::size_t size = type == "F64" ? 8 : type == "F32" ? 4 : 2;
        CHECK(one.at("shape").get<std::vector<Size>>() ==
              std::vector<Size>(x.shape().begin(), x.shape().end()));
        const auto begin = one.at("data_offsets").at(0).get<std::size_t>(),
                   end = one.at("data_offsets").at(1).get<std::size_t>();
        parts.push_back({begin, end});
        CHECK((start + begin) % size == 0);
        const std::vector<double> values = x.to_vector();
        REQUIRE(end - begin == values.size() * size);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::uint64_t bits = word(bytes, start + begin + i * size, size);
          if (size == 8) CHECK(std::bit_cast<double>(bits) == values[i]);
          if (size == 4)
            CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(bits)) == static_cast<float>(values[i]));
          if (size == 2)
            CHECK(std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16)) ==
                  Approx(values[i]).epsilon(0.004));
        }
      }
      std::sort(parts.begin(), parts.end());
      std::size_t next = 0;
      for (const auto& [begin, end] : parts) {
        CHECK(begin == next);
        next = end;
      }
      CHECK(start + next == bytes.size());
    }
}
