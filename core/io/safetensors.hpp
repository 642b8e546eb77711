// The safetensors format: tensors by name in one file, which other programs read and write too. Eight bytes
// with the length of a JSON header (little-endian), the header {"name": {"dtype", "shape", "data_offsets"},
// …}, the values. Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"
#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// What a safetensors file holds.
struct SafeTensors {
  State tensors;                                // F32 and F64; F16 and BF16 as f32
  std::map<std::string, Indices> indices;       // I64, I32, I16, I8, U32, U16 and U8
  std::map<std::string, std::string> metadata;  // "__metadata__"
  std::string where;                            // the path, for messages

  /// at(): the tensor of that name; indices_at(): the whole numbers. Both throw Error, naming the file and
  /// some names it has, when there are none.
  const Tensor& at(std::string_view name) const;
  const Indices& indices_at(std::string_view name) const;
};

/// Reads a file. Whatever is wrong with it is one Error with the path and the place (the tensor's name, or a
/// byte of the file), and nothing was read then. A header that lies about sizes costs no memory.
SafeTensors read_safetensors(const std::filesystem::path& path);
/// The same for bytes in memory; `where` stands for the path in messages.
SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where = "bytes in memory");

/// How numbers are written: each in its own type, or all in bf16: half of f32's bytes and its range, with
/// three digits (rounded to nearest, ties to even). For weights that are to be used, not trained on.
enum class Written { as_they_are, bf16 };

/// Writes tensors of f32 and f64 (views too) and strings, so that the file is replaced at once or not at all
/// (write_file()). Equal contents give equal files.
void write_safetensors(const std::filesystem::path& path, const State& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       Written written = Written::as_they_are);

}  // namespace tapestry
