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
inline constexpr std::uint32_t kGgufVersion = 3;         // version of written files
inline constexpr std::uint64_t kGgufAlignment = 32;      // bytes; used if there is no "general.alignment"
inline constexpr std::size_t kGgufLongestName = 65'535;  // largest length of a key in bytes
inline constexpr int kGgufArrayDepth = 8;  // largest nesting of arrays; they are read recursively
inline constexpr int kGgufMostAxes = 4;    // most axes of a written tensor; other readers accept no more
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";  // its value is a u32

/// Number of metadata types. They are numbered from 0.
inline constexpr std::uint32_t kGgufValueTypes = std::variant_size_v<GgufValue>;

/// Returns the name of a metadata type, such as "u8" or "string". `type` must be below kGgufValueTypes.
std::string_view gguf_value_type_name(std::size_t type);

/// An element type of tensors.
struct GgufTensorType {
  std::uint32_t number;           // number of the type in the file
  std::string_view name;          // ggml's name, such as "Q4_K"
  Size elements, bytes;           // numbers of elements and of bytes per block
  std::optional<BlockType> type;  // empty if the library cannot read this type
};

/// Returns the type with this number, or null if the number is unknown.
const GgufTensorType* gguf_tensor_type(std::uint32_t number);
/// Returns the entry of a type that the library can read.
const GgufTensorType& gguf_tensor_type(BlockType type);

/// Returns the number of bytes of a tensor with this shape and type. Returns a message without the tensor's name if a
/// row is not a whole number of blocks, if a size is negative, or if the number overflows.
std::variant<std::uint64_t, std::string> gguf_tensor_bytes(const Dims& shape, const GgufTensorType& type);

/// Returns the alignment of the tensors in bytes: the value of "general.alignment", or kGgufAlignment if the key is
/// missing. Returns a message if the value is not a power of two of type u32.
std::variant<std::uint64_t, std::string> gguf_alignment(const GgufMetadata& metadata);

/// Returns true if `name` is UTF-8 without NUL and has 1 to `longest` bytes.
bool is_gguf_name(std::string_view name, std::size_t longest);

/// Returns the number of bytes from `position` to the next multiple of `alignment`; 0 if `position` is a multiple.
/// `alignment` must be a power of two.
constexpr std::uint64_t gguf_padding(std::uint64_t position, std::uint64_t alignment) {
  return (alignment - (position & (alignment - 1))) & (alignment - 1);
}

}  // namespace tapestry::detail
