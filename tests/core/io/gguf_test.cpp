// GGUF: files made by hand and by another program are read, and what is written comes back.
#include "core/io/gguf.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/io/file.hpp"
#include "core/tensor/error.hpp"
#include "tests/catch.hpp"
#include "tests/core/io/gguf_hand.hpp"
#include "tests/golden/golden.hpp"
#include "tests/message_of.hpp"
#include "tests/temporary.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;
using test::Bytes;
using test::Hand;
using test::message_of;
using test::TemporaryFolder;
using test::valid_by_hand;

namespace {

nlohmann::json json_of(const GgufArray& array);
template <class T>
nlohmann::json json_of(const T& value) {
  return value;
}
nlohmann::json json_of(const GgufArray& array) {
  nlohmann::json result = nlohmann::json::array();
  std::visit(
      [&](const auto& values) {
        for (const typename std::decay_t<decltype(values)>::value_type& value : values)
          result.push_back(json_of(value));
      },
      array.values);
  return result;
}

/// CRC-32 as zlib has it.
std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~0U;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ (crc & 1U ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

/// The number k of bytes k, k + 1, …, which data() wrote.
int first(const GgufTensor& tensor) { return std::to_integer<int>(tensor.bytes.front()); }

}  // namespace

TEST_CASE("gguf: a file made by hand is read, in both versions") {
  for (const std::uint64_t version : {2U, 3U}) {
    const Bytes bytes = valid_by_hand(version).bytes;
    const Gguf file = parse_gguf(bytes);
    CHECK(file.metadata.size() == 4);
    CHECK(file.get<std::string>("a.name") == "größe");
    CHECK(file.get<std::int64_t>("b") == 7);
    CHECK(file.get<std::vector<std::string>>("c") == std::vector<std::string>{"x", ""});
    const GgufArray nested{
        std::vector<GgufArray>{{std::vector<std::uint8_t>{5, 6}}, {std::vector<std::int16_t>{-2}}}};
    CHECK((std::get<GgufArray>(file.metadata.at("d")) == nested));
    REQUIRE(file.tensors.size() == 3);
    CHECK(file.unsupported.empty());
    CHECK(file.at("w").shape == Dims{3, 2});
    CHECK(file.at("w").type == BlockType::f32);
    CHECK(file.at("w").bytes.size() == 24);
    CHECK(first(file.at("w")) == 1);
    CHECK(file.at("q").shape == Dims{1, 2, 32});
    CHECK(file.at("q").type == BlockType::q4_1);
    CHECK(file.at("q").bytes.size() == 40);
    CHECK(first(file.at("q")) == 33);
    CHECK(file.at("s").shape == Dims{});
    CHECK(file.at("s").bytes.size() == 2);
    CHECK(first(file.at("s")) == 97);
  }
}

TEST_CASE("gguf: every type of metadata and tensor that the gguf package writes is read, and written alike") {
  const TemporaryFolder folder;
  const std::filesystem::path path = test::golden_folder() / "gguf.gguf";
  const Gguf file = read_gguf(path);
  const nlohmann::json facts = nlohmann::json::parse(std::ifstream(test::golden_folder() / "gguf.json"));
  CHECK(file.metadata.size() == facts.at("metadata").size());
  for (const auto& [key, fact] : facts.at("metadata").items()) {
    CAPTURE(key);
    REQUIRE(file.has(key));
    const GgufValue& value = file.metadata.find(key)->second;
    CHECK(value.index() == fact.at("type").get<std::size_t>());
    CHECK(std::visit([](const auto& x) { return json_of(x); }, value) == fact.at("value"));
  }
  CHECK(file.tensors.size() == facts.at("tensors").size());
  CHECK(file.tensors.size() == 10);
  for (const auto& [name, fact] : facts.at("tensors").items()) {
    CAPTURE(name);
    const GgufTensor& tensor = file.at(name);
    CHECK(to_string(tensor.type) == fact.at("type").get<std::string>());
    CHECK(std::vector<Size>(tensor.shape.begin(), tensor.shape.end()) ==
          fact.at("shape").get<std::vector<Size>>());
    CHECK(tensor.bytes.size() == fact.at("bytes").get<std::size_t>());
    CHECK(crc32(tensor.bytes) == fact.at("crc32").get<std::uint32_t>());
  }
  // The script put keys and names in order, as write_gguf() does.
  write_gguf(folder / "again", file.tensors, file.metadata);
  CHECK(read_file(folder / "again") == read_file(path));
}

TEST_CASE("gguf: integers and floating-point numbers of any width come as the type that is asked for") {
  const Gguf file = read_gguf(test::golden_folder() / "gguf.gguf");
  CHECK(file.get<std::int64_t>("one.u8") == 255);
  CHECK(file.get<std::int64_t>("one.i16") == 32767);
  CHECK(file.get<std::int64_t>("one.i64") == std::numeric_limits<std::int64_t>::max());
  CHECK(file.get<double>("one.f32") == -0x1p-149);
  CHECK(file.get<bool>("one.bool"));
  CHECK(file.get<std::vector<std::int64_t>>("many.i8") == std::vector<std::int64_t>{-128, 127, -128});
  CHECK(file.get<std::vector<double>>("many.f64").at(0) == 1.0 / 3);
  CHECK(file.get<std::vector<bool>>("many.bool") == std::vector<bool>{false, true, false});
  CHECK(file.get<std::int64_t>("none", 5) == 5);
  CHECK(file.get<std::int64_t>("one.u8", 5) == 255);
  CHECK(file.get<std::string>("none", "x") == "x");
}

TEST_CASE("gguf: a wrong key or type is told with what was wanted and found") {
  const Hand hand = valid_by_hand();
  const Gguf file = parse_gguf(hand.bytes, "some/file");
  CHECK(message_of([&] { file.get<bool>("a.name"); }) ==
        "'some/file': metadata key \"a.name\" must be a bool, got string");
  CHECK(message_of([&] { file.get<double>("b"); }) ==
        "'some/file': metadata key \"b\" must be a floating-point number, got u32");
  CHECK(message_of([&] { file.get<std::string>("c"); }) ==
        "'some/file': metadata key \"c\" must be a string, got array of 2 string");
  CHECK(message_of([&] { file.get<std::vector<std::int64_t>>("c"); }) ==
        "'some/file': metadata key \"c\" must be an array of integers, got array of 2 string");
  CHECK(message_of([&] { file.get<std::vector<std::string>>("b"); }) ==
        "'some/file': metadata key \"b\" must be an array of strings, got u32");
  CHECK(message_of([&] { file.get<bool>("b", true); }) ==
        "'some/file': metadata key \"b\" must be a bool, got u32");
  CHECK(message_of([&] { file.get<bool>("e\n"); }) ==
        "'some/file' has no metadata key \"e\\x0a\"; it has 4, the first: a.name, b, c, d");
  CHECK(message_of([&] { file.at("v"); }) ==
        "'some/file' has no tensor named \"v\"; it has 3, the first: q, s, w");
  const Gguf golden = read_gguf(test::golden_folder() / "gguf.gguf");
  const auto beyond = ContainsSubstring("must be at most 9223372036854775807, got 18446744073709551615");
  CHECK_THAT(message_of([&] { golden.get<std::int64_t>("one.u64"); }), beyond);
  CHECK_THAT(message_of([&] { golden.get<std::vector<std::int64_t>>("many.u64"); }), beyond);
}

TEST_CASE("gguf: tensors of other types are listed, and refused when they are read") {
  Hand hand;
  hand.start(4, 0).tensor("f", {1}, 0, 0).tensor("k", {256, 2}, 10, 32).tensor("old", {8, 3}, 31, 224);
  const Bytes bytes = hand.tensor("new", {}, 4'000'000'000U, 224).data(224).bytes;
  const Gguf file = parse_gguf(bytes, "some/file");
  CHECK(file.tensors.size() == 1);
  REQUIRE(file.unsupported.size() == 3);
  const GgufUnsupported& k = file.unsupported.at("k");
  CHECK((k.shape == Dims{2, 256} && k.type == 10 && k.type_name == "Q2_K"));
  CHECK((file.unsupported.at("old").type == 31 && file.unsupported.at("old").type_name == "unknown"));
  CHECK_THAT(
      message_of([&] { file.at("k"); }),
      ContainsSubstring("tensor \"k\" has type Q2_K (number 10), which is not supported; use a file with"));
  CHECK_THAT(message_of([&] { file.at("new"); }), ContainsSubstring("has type unknown (number 4000000000)"));
}

TEST_CASE("gguf: a tensor keeps the mapping, even when its file is replaced by one made of it") {
  const TemporaryFolder folder;
  const Hand hand = valid_by_hand();
  write_file(folder / "file", hand.bytes);
  GgufTensor kept;
  {
    Gguf file = read_gguf(folder / "file");
    kept = file.at("q");
    file.metadata["e"] = std::string("added");
    write_gguf(folder / "file", file.tensors, file.metadata);
  }
  CHECK(std::equal(kept.bytes.begin(), kept.bytes.end(), hand.bytes.end() - 66));
  const Gguf back = read_gguf(folder / "file");
  CHECK(back.get<std::string>("e") == "added");
  CHECK(back.get<std::string>("a.name") == "größe");
  CHECK(std::equal(kept.bytes.begin(), kept.bytes.end(), back.at("q").bytes.begin()));
  CHECK(back.at("q").shape == Dims{1, 2, 32});
  std::filesystem::remove(folder / "file");
  CHECK(first(kept) == 33);

  write_gguf(folder / "empty", {}, {});
  const Gguf empty = read_gguf(folder / "empty");
  CHECK((empty.tensors.empty() && empty.metadata.empty()));
}

TEST_CASE("gguf: files that cannot be mapped are named with the reason") {
  const TemporaryFolder folder;
  const auto reading = [](const std::filesystem::path& path) { return message_of([&] { read_gguf(path); }); };
  CHECK_THAT(reading(folder / "none"), ContainsSubstring("/none'") && ContainsSubstring("No such file"));
  CHECK_THAT(reading(folder.path()), ContainsSubstring("directory"));
  write_file(folder / "empty", Bytes());
  CHECK_THAT(reading(folder / "empty"), ContainsSubstring("/empty'") && ContainsSubstring("only 0 are left"));
}

TEST_CASE("gguf: what cannot be written is refused, and the old file stays") {
  const TemporaryFolder folder;
  const Hand data = Hand().data(1000, 1);
  const auto tensor = [&](const Dims& shape, BlockType type, std::size_t bytes) {
    return GgufTensor{shape, type, std::span(data.bytes).first(bytes), nullptr};
  };
  write_gguf(folder / "file", {{"x", tensor({2}, BlockType::f32, 8)}}, {});
  const Bytes before = read_file(folder / "file");
  const auto refused = [&](const std::string& name, const GgufTensor& x, const GgufMetadata& metadata = {}) {
    return message_of([&] { write_gguf(folder / "file", {{name, x}}, metadata); });
  };
  const GgufTensor fine = tensor({1, 32}, BlockType::q8_0, 34);
  CHECK_THAT(refused("x", tensor({1, 32}, BlockType::q8_0, 33)),
             ContainsSubstring("tensor \"x\" of type Q8_0 and shape (1,32) must have 34 bytes, got 33"));
  CHECK_THAT(refused("x", tensor({32, 1}, BlockType::q8_0, 34)),
             ContainsSubstring("a multiple of 32 elements"));
  CHECK_THAT(refused("x", tensor({-1}, BlockType::f32, 0)),
             ContainsSubstring("sizes of at least 0, got (-1)"));
  CHECK_THAT(refused("x", tensor({1, 1, 1, 1, 1}, BlockType::f32, 4)),
             ContainsSubstring("at most 4 axes, got 5"));
  CHECK_THAT(refused("a\xFF", fine), ContainsSubstring("tensor \"a\\xff\" must be UTF-8"));
  CHECK_THAT(refused(std::string(64, 'n'), fine), ContainsSubstring("have 1 to 63 bytes, got 64"));
  CHECK_THAT(refused("x", fine, {{"", true}}), ContainsSubstring("metadata key \"\" must be UTF-8"));
  CHECK_THAT(refused("x", fine, {{"general.alignment", 24U}}), ContainsSubstring("a power of two, got 24"));
  GgufArray deep{std::vector<bool>{}};
  for (int i = 0; i < 8; ++i) deep = GgufArray{std::vector<GgufArray>{deep}};
  CHECK_THAT(refused("x", fine, {{"d", deep}}),
             ContainsSubstring("cannot write '") &&
                 ContainsSubstring("/file': metadata key \"d\" must nest at most 8 arrays, got more"));
  CHECK(read_file(folder / "file") == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK(refused(std::string(63, 'n'), fine, {{"e", GgufArray{std::vector<float>{}}}}) == "(nothing thrown)");
  const Gguf back = read_gguf(folder / "file");
  CHECK(back.at(std::string(63, 'n')).bytes.size() == 34);
  CHECK(back.get<std::vector<double>>("e").empty());
}

TEST_CASE("gguf: sizes and names of the block types") {
  const std::vector<std::tuple<BlockType, Size, Size, std::string>> types{
      {BlockType::f32, 1, 4, "F32"},       {BlockType::f16, 1, 2, "F16"},
      {BlockType::bf16, 1, 2, "BF16"},     {BlockType::q8_0, 32, 34, "Q8_0"},
      {BlockType::q4_0, 32, 18, "Q4_0"},   {BlockType::q4_1, 32, 20, "Q4_1"},
      {BlockType::q5_0, 32, 22, "Q5_0"},   {BlockType::q5_1, 32, 24, "Q5_1"},
      {BlockType::q4_k, 256, 144, "Q4_K"}, {BlockType::q6_k, 256, 210, "Q6_K"}};
  for (const auto& [type, elements, bytes, name] : types) {
    CHECK(block_elements(type) == elements);
    CHECK(block_bytes(type) == bytes);
    CHECK(to_string(type) == name);
  }
}
