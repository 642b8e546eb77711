// Parses the JSON header of a safetensors file and checks it before memory is allocated for any tensor. Escapes strings
// for a header to write. Used by safetensors.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::detail {

/// Element type of a tensor in the file.
enum class Stored { f64, f32, f16, bf16, i64, i32, i16, i8, u32, u16, u8 };

/// Type, shape and location of one tensor. Its bytes are data[begin, end) of SafeTensorsHeader::data.
struct StoredTensor {
  Stored type = Stored::f32;
  Dims shape;
  std::size_t begin = 0, end = 0;
};

/// A header that has been checked, and the data after it.
struct SafeTensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::span<const std::byte> data;  // the bytes after the header
};

/// Parses and checks the header of `file`, the bytes of a whole file. Throws Error if the header is malformed, or if
/// the tensors do not fill the data exactly, without gaps and overlaps. The message has `where`, the name of the file.
SafeTensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view where);

/// Returns `text` as a JSON string in quotes. Throws Error if the text is not UTF-8 or contains a NUL. The message has
/// `where`, the name of the file to write.
std::string json_string(const std::string& text, const std::string& where);

}  // namespace tapestry::detail
