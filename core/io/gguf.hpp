// Reads and writes the GGUF format: metadata and quantised tensors of a language model in one file. A file has the
// letters "GGUF", a version, the numbers of tensors and of metadata keys, the metadata, a list of the tensors (name,
// sizes, type, offset), and the aligned blocks of the tensors; all numbers are little-endian.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/quantised/block_type.hpp"
#include "core/simd/view.hpp"

namespace tapestry {

/// A list in the metadata; its elements have one type. As in GgufValue, an alternative's index is the type's number.
struct GgufArray {
  std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
               std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
               std::vector<float>, std::vector<bool>, std::vector<std::string>, std::vector<GgufArray>,
               std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>
      values;  // the elements

  /// Returns true if type and elements are equal.
  bool operator==(const GgufArray& other) const;
};

/// One value of the metadata. An alternative's index is the number of its type in the file.
using GgufValue =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float,
                 bool, std::string, GgufArray, std::uint64_t, std::int64_t, double>;

/// Metadata by key, such as "llama.block_count".
using GgufMetadata = std::map<std::string, GgufValue, std::less<>>;

/// A tensor in a file, still in its blocks.
struct GgufTensor {
  Dims shape;                        // row-major, the file's order reversed; the last axis is a row
  BlockType type = BlockType::f32;   // type of all blocks
  std::span<const std::byte> bytes;  // whole blocks, row by row; may be unaligned, so copy values with memcpy
  std::shared_ptr<const void> owner;  // keeps `bytes` valid; null if they belong to the caller
};

/// A tensor whose type is not supported; its values cannot be read.
struct GgufUnsupported {
  Dims shape;              // row-major
  std::uint32_t type = 0;  // number of the type in the file
  std::string type_name;   // such as "Q2_K", or "unknown" for a number that has no name
};

/// The contents of a GGUF file.
struct Gguf {
  GgufMetadata metadata;                                            // all keys
  std::map<std::string, GgufTensor, std::less<>> tensors;           // tensors of the types in BlockType
  std::map<std::string, GgufUnsupported, std::less<>> unsupported;  // tensors of other types
  std::string where;                                                // the path, for error messages

  /// Returns the tensor of that name. Throws Error with the file if there is none (with the first names), or if its
  /// type is not supported (with the type's name and number).
  const GgufTensor& at(std::string_view name) const;

  /// Returns true if the metadata has the key.
  bool has(std::string_view key) const { return metadata.find(key) != metadata.end(); }
  /// Returns the metadata of that key as a T: std::int64_t (any integer type), double (f32 or f64), bool, std::string,
  /// or a std::vector of one of them. Throws Error with key, wanted type and found type if the key is missing, has
  /// another type, or is an integer above the range of T.
  template <class T>
  T get(std::string_view key) const;
  /// Returns `otherwise` if the key is missing.
  template <class T>
  T get(std::string_view key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }
};

/// Reads a file of version 2 or 3. It is mapped into memory, and the tensors share the mapping: blocks are loaded when
/// they are used. A write that replaces the file (write_file()) leaves the mapping as it is; a program that shortens
/// the file in place ends this one. Throws Error with the path and the key, tensor or byte for each fault; checks
/// every length, count and offset before it uses them.
Gguf read_gguf(const std::filesystem::path& path);
/// Reads a file from bytes in memory, which `owner` keeps valid if it is given, and otherwise the caller. Error
/// messages show `where` in place of the path.
Gguf parse_gguf(std::span<const std::byte> bytes, std::string_view where = "bytes in memory",
                std::shared_ptr<const void> owner = nullptr);

/// Writes a file of version 3, in the order of the names. Replaces the file atomically (write_file()), even one that
/// the tensors are mapped from. Tensors are aligned to the metadata's "general.alignment", a power of two of type u32,
/// or else to 32 bytes. Equal contents give equal files. Throws Error if a tensor's bytes do not fit its shape and
/// type, if it has more than 4 axes, or if a name is not UTF-8, contains a NUL, or is too long for other readers
/// (keys: 65,535 bytes, tensors: 63).
void write_gguf(const std::filesystem::path& path,
                const std::map<std::string, GgufTensor, std::less<>>& tensors, const GgufMetadata& metadata);

}  // namespace tapestry
