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
  std::string where;                            // the path, for error messages

  /// Return the floating-point tensor (at) or the integer tensor (indices_at) with this name. If there is none, both
  /// throw Error, which lists up to five names of this kind in the file.
  const Tensor& at(std::string_view name) const;
  const Indices& indices_at(std::string_view name) const;
};

/// Reads a file. If the file cannot be read or is damaged, throws Error with the path and, for damage, the location:
/// the tensor's name or the byte offset. Checks the sizes in the header before it allocates memory for tensors.
SafeTensors read_safetensors(const std::filesystem::path& path);
/// Reads a file from bytes in memory; error messages show `where` in place of the path.
SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where = "bytes in memory");

/// The dtype in which write_safetensors() stores values: each tensor's own, or bf16 for all. A bf16 takes half the
/// bytes of an f32 and has the same range, but only two to three decimal digits. That is enough for inference, but not
/// for training. Values are rounded to nearest, ties to even.
enum class Written { as_they_are, bf16 };

/// Writes f32 and f64 tensors (views too) and metadata strings. Replaces the file atomically (write_file()).
/// The same contents always give the same bytes. Throws Error for a tensor without values, for the reserved name
/// "__metadata__", and for names or strings that are not UTF-8 or contain a NUL.
void write_safetensors(const std::filesystem::path& path, const State& tensors,
                       const std::map<std::string, std::string>& metadata = {},
                       Written written = Written::as_they_are);

}  // namespace tapestry
