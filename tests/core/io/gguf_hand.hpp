// GGUF files made by hand, byte by byte, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tapestry::test {

using Bytes = std::vector<std::byte>;

/// Bytes of a file, put together one field after the other, without the code under test. It remembers where each
/// field of 4 or 8 bytes is, so that a test can change them all.
struct Hand {
  Bytes bytes;
  std::vector<std::pair<std::size_t, std::size_t>> fields;  // place and width

  Hand& raw(const std::string& text) {
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    return *this;
  }
  Hand& number(std::uint64_t value, std::size_t width) {
    if (width >= 4) fields.emplace_back(bytes.size(), width);
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Hand& u32(std::uint64_t value) { return number(value, 4); }
  Hand& u64(std::uint64_t value) { return number(value, 8); }
  Hand& string(const std::string& text) { return u64(text.size()).raw(text); }
  Hand& start(std::uint64_t tensors, std::uint64_t keys, std::uint64_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(keys);
  }
  Hand& key(const std::string& name, std::uint64_t type) { return string(name).u32(type); }
  /// A tensor; the sizes are in the file's order, the last axis first.
  Hand& tensor(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint64_t type,
               std::uint64_t offset) {
    string(name).u32(sizes.size());
    for (const std::uint64_t size : sizes) u64(size);
    return u32(type).u64(offset);
  }
  /// Zeros up to a multiple of `alignment`, then `count` bytes 1, 2, 3, ….
  Hand& data(std::size_t count, std::size_t alignment = 32) {
    while (bytes.size() % alignment != 0) bytes.push_back({});
    for (std::size_t i = 1; i <= count; ++i) bytes.push_back(static_cast<std::byte>(i));
    return *this;
  }
};

/// A whole file: two keys, an array of strings and one of arrays, and three tensors.
inline Hand valid_by_hand(std::uint64_t version = 3) {
  Hand file;
  file.start(3, 4, version).key("a.name", 8).string("größe").key("b", 4).u32(7);
  file.key("c", 9).u32(8).u64(2).string("x").string("");
  file.key("d", 9).u32(9).u64(2).u32(0).u64(2).raw("\x05\x06").u32(3).u64(1).number(0xFFFE, 2);
  file.tensor("w", {2, 3}, 0, 0).tensor("q", {32, 2, 1}, 3, 32).tensor("s", {}, 1, 96);
  return file.data(98);
}

}  // namespace tapestry::test
