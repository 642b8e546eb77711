// Block-quantised weight matrices for inference, and their product with f32 activations.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/quantised/block_type.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// An immutable matrix (rows, columns), stored in blocks along its rows. Copies share the bytes.
class QuantisedMatrix {
 public:
  /// An empty handle of shape (0, 0) and type f32.
  QuantisedMatrix() = default;
  /// Views `bytes`, rows without gaps, which `owner` (for example a mapped file) keeps alive. Throws Error if the
  /// columns are not a multiple of the block size or if the number of bytes does not fit.
  QuantisedMatrix(Size rows, Size columns, BlockType type, std::span<const std::byte> bytes,
                  std::shared_ptr<const void> owner);

  /// Number of rows (outputs) and columns (inputs), and the type of the blocks.
  Size rows() const { return rows_; }
  Size columns() const { return columns_; }
  BlockType type() const { return type_; }
  /// All bytes, row after row.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Bytes of rows first … first + count − 1. Does not check them.
  std::span<const std::byte> row_bytes(Size first, Size count = 1) const;

 private:
  Size rows_ = 0, columns_ = 0;
  BlockType type_ = BlockType::f32;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

/// Converts an f32 matrix (rows, columns) to blocks, which the result owns. Throws Error for other shapes and dtypes,
/// and for types that quantise_blocks() does not support.
QuantisedMatrix quantise(const Tensor& matrix, BlockType type, CallSite at = {});
/// Converts all blocks to f32: (rows, columns).
Tensor dequantise(const QuantisedMatrix& matrix);
/// Looks up rows by id, in f32: ids (s…) → (s…, columns). Throws Error for ids outside 0 … rows−1.
Tensor embedding(const QuantisedMatrix& table, const Indices& ids, CallSite at = {});

/// Arithmetic of quantised_matmul(). int8 rounds the activations to 8 bits, in blocks of 32, and multiplies integers;
/// types other than q8_0, q4_0 and q4_1 use f32 instead. f32 multiplies by the dequantised weights.
enum class QuantisedArithmetic { int8, f32 };

/// Computes x·Wᵀ in f32: x (…, columns) and W (rows, columns) → (…, rows). For inference only: throws Error if a tape
/// would record x, and for other shapes and dtypes. The result does not depend on the number of threads. An x that is
/// not contiguous is copied.
Tensor quantised_matmul(const Tensor& x, const QuantisedMatrix& matrix,
                        QuantisedArithmetic arithmetic = QuantisedArithmetic::int8, CallSite at = {});

}  // namespace tapestry
