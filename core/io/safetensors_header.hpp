// The header of a safetensors file: what it says, checked before anything is allocated, and its strings. All
// that knows JSON. For safetensors.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/simd/view.hpp"

namespace tapestry::detail {

/// How the values of a tensor stand in the file.
enum class Stored { f64, f32, f16, bf16, i64, i32, i16, i8, u32, u16, u8 };

/// One tensor: its bytes are data[begin, end).
struct StoredTensor {
  Stored type = Stored::f32;
  Dims shape;
  std::size_t begin = 0, end = 0;
};

struct SafeTensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::span<const std::byte> data;  // what follows the header
};

/// Throws Error unless the tensors fill the data exactly, without gap or overlap.
SafeTensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view where);

/// `text` as a JSON string, quotes included, for the header of the file `where`; throws Error for what is no
/// UTF-8 or holds a NUL.
std::string json_string(const std::string& text, const std::string& where);

}  // namespace tapestry::detail
