// Constants and checks that the reader and the writer of GGUF files share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/io/gguf.hpp"

namespace tapestry::detail {

inline constexpr std::string_view kGgufMagic = "GGUF";   // the first bytes of a file
inline constexpr std::uint32_t kGgufVersion = 3;         // of written files
inline constexpr std::uint64_t kGgufAlignment = 32;      // without "general.alignment"
inline constexpr std::size_t kGgufLongestName = 65'535;  // bytes of a key
inline constexpr int kGgufArrayDepth = 8;  // arrays in arrays; the stack must hold their readers
inline constexpr int kGgufMostAxes = 4;    // of a tensor, for other readers
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";  // a u32

/// Number of types of metadata, which are numbered from 0.
inline constexpr std::uint32_t kGgufValueTypes = std::variant_size_v<GgufValue>;

/// Returns "u8", "string", …; `type` must be below kGgufValueTypes.
std::string_view gguf_value_type_name(std::size_t type);

/// A type of tensors.
struct GgufTensorType {
  std::uint32_t number;           // in the file
  std::string_view name;          // as other programs write it
  Size elements, bytes;           // per block
  std::optional<BlockType> type;  // nothing: the library cannot read it
};

/// Returns the type of that number, or null if it is unknown.
const GgufTensorType* gguf_tensor_type(std::uint32_t number);
/// Returns the row of a type that the library can read.
const GgufTensorType& gguf_tensor_type(BlockType type);

/// Returns the bytes of a tensor with these blocks, or a complaint such as "has shape (3,5), but …" for rows that are
/// no whole number of blocks, negative sizes or an overflow.
std::variant<std::uint64_t, std::string> gguf_tensor_bytes(const Dims& shape, const GgufTensorType& type);

/// Returns the metadata's alignment, or a complaint if it is no power of two of type u32.
std::variant<std::uint64_t, std::string> gguf_alignment(const GgufMetadata& metadata);

/// Returns true if `name` is UTF-8 without NUL and has 1 to `longest` bytes.
bool is_gguf_name(std::string_view name, std::size_t longest);

/// Returns the bytes that bring `position` to the next multiple of `alignment`, a power of two.
constexpr std::uint64_t gguf_padding(std::uint64_t position, std::uint64_t alignment) {
  return (alignment - (position & (alignment - 1))) & (alignment - 1);
}

}  // namespace tapestry::detail
