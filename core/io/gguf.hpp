// Reads and writes GGUF files. Such a file stores the metadata and the tensors of a language model. Most of the tensors
// are usually quantised.
//
// A file starts with the letters "GGUF", a version, the tensor count and the metadata count. Then come the metadata, a
// list of the tensors (name, shape, type, offset), and the tensor data. Each tensor starts at an aligned offset. All
// numbers are little-endian.
//
// The data of a tensor consists of blocks. A *block* is a fixed number of consecutive elements that are stored together
// (BlockType): 32 for Q8_0, and one for F32.
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

/// An array in the metadata. All elements have the same type. The variant's index() is the number of this type in the
/// file, as in GgufValue.
struct GgufArray {
  std::variant<std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
               std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
               std::vector<float>, std::vector<bool>, std::vector<std::string>, std::vector<GgufArray>,
               std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>
      values;  // the elements

  /// Returns true if the types and the elements of both arrays are equal.
  bool operator==(const GgufArray& other) const;
};

/// One value of the metadata. The variant's index() is the number of the value's type in the file.
using GgufValue =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float,
                 bool, std::string, GgufArray, std::uint64_t, std::int64_t, double>;

/// Metadata by key, such as "llama.block_count".
using GgufMetadata = std::map<std::string, GgufValue, std::less<>>;

/// A tensor in a file, not yet dequantised.
struct GgufTensor {
  /// Shape in row-major order. (The file stores the axes in reverse order.) A row runs along the last axis.
  Dims shape;
  /// Type of all blocks.
  BlockType type = BlockType::f32;
  /// The blocks, row by row; each row has a whole number of blocks. The address may be unaligned, because a file can
  /// request a small alignment, and bytes in memory can start anywhere. So copy values with memcpy.
  std::span<const std::byte> bytes;
  /// Keeps `bytes` valid. Null if the caller must keep them valid.
  std::shared_ptr<const void> owner;
};

/// A tensor whose type is not supported. Its values cannot be read.
struct GgufUnsupported {
  Dims shape;              // in row-major order
  std::uint32_t type = 0;  // number of the type in the file
  std::string type_name;   // such as "Q2_K", or "unknown" for a number that has no name
};

/// The contents of a GGUF file.
struct Gguf {
  GgufMetadata metadata;                                            // all keys
  std::map<std::string, GgufTensor, std::less<>> tensors;           // tensors of the types in BlockType
  std::map<std::string, GgufUnsupported, std::less<>> unsupported;  // tensors of other types
  std::string where;  // path or description of the origin, for error messages

  /// Returns the tensor with this name. Throws Error if there is none (the message lists up to five names of tensors
  /// in the file), or if its type is not supported (the message has the type's name and number).
  const GgufTensor& at(std::string_view name) const;

  /// Returns true if the metadata has the key.
  bool has(std::string_view key) const { return metadata.find(key) != metadata.end(); }
  /// Returns the metadata value of this key as a T: std::int64_t (from any integer type), double (from f32 or f64),
  /// bool, std::string, or a std::vector of one of them. Throws Error with the key if the key is missing (the message
  /// lists up to five keys of the file), if the value has another type (the message has both types), or if an integer
  /// does not fit std::int64_t.
  template <class T>
  T get(std::string_view key) const;
  /// Returns get<T>(key), or `otherwise` if the key is missing. Throws Error like get<T>(key) if the key exists and the
  /// value has another type or does not fit.
  template <class T>
  T get(std::string_view key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }
};

/// Reads a file of version 2 or 3. Maps the file into memory, so that blocks are loaded when they are first used. The
/// tensors share the mapping and keep it alive.
///
/// The mapping keeps the old bytes if write_file() replaces the file. But if another program truncates the file in
/// place, reading the lost bytes ends this program (SIGBUS).
///
/// Throws Error at the first fault. The message has the path and the key, tensor or byte. Every length, count and
/// offset is checked before it is used, so that memory use is bounded by the size of the file.
Gguf read_gguf(const std::filesystem::path& path);
/// Parses a file in memory, with the same checks. `owner` keeps the bytes valid. If it is null, the caller must keep
/// them valid as long as the tensors of the result are used. Error messages have `where` in place of the path.
Gguf parse_gguf(std::span<const std::byte> bytes, std::string_view where = "bytes in memory",
                std::shared_ptr<const void> owner = nullptr);

/// Writes a file of version 3, with metadata and tensors sorted by name. The same contents always give the same bytes.
/// Replaces the file atomically (write_file()), so the tensors may be mapped from the file that is replaced. Aligns
/// tensors to the value of the metadata key "general.alignment" in bytes, or to 32 bytes if there is no such key.
///
/// Throws Error before it writes anything if
/// - the bytes of a tensor do not match its shape and type, or it has more than 4 axes (other readers accept no more);
/// - a name is empty, not UTF-8, contains a NUL, or is longer than other readers accept (keys: 65,535 bytes,
///   tensors: 63);
/// - "general.alignment" is not a power of two of type u32;
/// - arrays in the metadata are nested more than 8 deep.
///
/// Also throws Error as write_file() does.
void write_gguf(const std::filesystem::path& path,
                const std::map<std::string, GgufTensor, std::less<>>& tensors, const GgufMetadata& metadata);

}  // namespace tapestry
