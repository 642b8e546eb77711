// Reads and writes safetensors files. The format, by Hugging Face, stores named tensors in one file that many
// programs can read. A file has three parts: the length of the header (eight bytes, little-endian), the header, and
// the values. The header is a JSON object that gives each tensor's name, dtype, shape and data_offsets: the begin
// and the end of its values, in bytes after the header. Format: https://github.com/huggingface/safetensors
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/state.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// The contents of a safetensors file. Reading a tensor of a type that is not listed here fails.
struct SafeTensors {
  State tensors;                                // F64 as f64; F32, F16 and BF16 as f32
  std::map<std::string, Indices> indices;       // I64, I32, I16, I8, U32, U16 and U8
  std::map<std::string, std::string> metadata;  // the strings in the header's "__metadata__"
  std::string where;                            // path or description of the origin, for error messages

  /// at() returns the floating-point tensor with this name, and indices_at() returns the integer tensor. If there is
  /// none, both throw Error. The message lists up to five names of tensors of the same kind.
  const Tensor& at(std::string_view name) const;
  const Indices& indices_at(std::string_view name) const;
};

/// Reads a file. Throws Error with the path if the file cannot be read or is damaged. For damage, the message also has
/// the name of the tensor or the byte offset. The sizes in the header are checked before memory is allocated for
/// tensors, so that memory use is bounded by the size of the file.
SafeTensors read_safetensors(const std::filesystem::path& path);
/// Parses a file in memory, with the same checks. Error messages have `where` in place of the path.
SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where = "bytes in memory");

/// The dtype in which write_safetensors() stores values: each tensor's own, or bf16 for all. A bf16 takes half the
/// bytes of an f32 and has the same range, but only two to three decimal digits. That is enough for inference, but not
/// for training. Values are rounded to nearest, ties to even.
enum class WriteDType { unchanged, bf16 };

/// Writes f32 and f64 tensors, which can be views, and metadata strings. Replaces the file atomically (write_file()).
/// The same contents always give the same bytes. Throws Error if a tensor has no values or the reserved name
/// "__metadata__", and if a name or string is not UTF-8 or contains a NUL. Also throws as write_file() does.
void write_safetensors(const std::filesystem::path& path, const State& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       WriteDType dtype = WriteDType::unchanged);

}  // namespace tapestry
