// Reads and writes the safetensors format: named tensors in one file, shared with other programs. A file has
// eight bytes with the length of a JSON header (little-endian), the header {"name": {"dtype", "shape",
// "data_offsets"}, …}, and the values. Format: https://github.com/huggingface/safetensors
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

/// The contents of a safetensors file.
struct SafeTensors {
  State tensors;                                // F32 and F64; F16 and BF16 are converted to f32
  std::map<std::string, Indices> indices;       // I64, I32, I16, I8, U32, U16 and U8
  std::map<std::string, std::string> metadata;  // "__metadata__"
  std::string where;                            // the path, for error messages

  /// at() returns the floating-point tensor of that name, indices_at() the integer tensor. Both throw Error with
  /// the file and the first names in it if there is none.
  const Tensor& at(std::string_view name) const;
  const Indices& indices_at(std::string_view name) const;
};

/// Reads a file. Throws Error with the path and the location (the tensor's name, or a byte of the file) if the
/// file is damaged. Checks the sizes in the header before it allocates memory for tensors.
SafeTensors read_safetensors(const std::filesystem::path& path);
/// Reads a file from bytes in memory; error messages show `where` in place of the path.
SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where = "bytes in memory");

/// File type of written numbers: each tensor's own dtype, or bf16 for all. bf16 has half the bytes of f32, its
/// range, and two to three decimal digits (rounded to nearest, ties to even): for inference, not for training.
enum class Written { as_they_are, bf16 };

/// Writes f32 and f64 tensors (views too) and metadata strings. Replaces the file atomically (write_file()).
/// Equal contents give equal files. Throws Error for a tensor without values, for the reserved name
/// "__metadata__", and for names or strings that are not UTF-8 or contain a NUL.
void write_safetensors(const std::filesystem::path& path, const State& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       Written written = Written::as_they_are);

}  // namespace tapestry
