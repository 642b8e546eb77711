#include "core/quantised/matrix.hpp"

#include <algorithm>
#include <vector>

#include "core/ops/views.hpp"
#include "core/quantised/blocks.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/simd/quantised/quantised.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tape/op.hpp"
#include "core/tape/tape.hpp"

namespace tapestry {
namespace {

/// Bytes of a row of `columns` elements.
Size bytes_of_row(Size columns, BlockType type) { return columns / block_elements(type) * block_bytes(type); }

void check_columns(Size columns, BlockType type) {
  if (columns % block_elements(type) != 0)
    fail(
        "[QuantisedMatrix] columns must be a multiple of {} for {}, got {}; choose another type or pad the rows",
        block_elements(type), to_string(type), columns);
}

/// Writes rows first … first + count − 1 to `out`, in parallel.
void dequantise_rows(const QuantisedMatrix& matrix, Size first, Size count, float* out) {
  const Size columns = matrix.columns();
  simd::parallel_ranges(count, std::max<Size>(1, 4096 / std::max<Size>(1, columns)),
                        [&](Size begin, Size end) {
                          const auto size = static_cast<std::size_t>((end - begin) * columns);
                          dequantise_blocks(matrix.type(), matrix.row_bytes(first + begin, end - begin),
                                            {out + begin * columns, size});
                        });
}

/// y (m, rows) = x (m, columns)·Wᵀ in f32. A slab of rows is dequantised at a time, so that the memory stays small.
void multiply_dequantised(const float* x, Size m, const QuantisedMatrix& matrix, float* y) {
  constexpr Size kSlab = 256;
  const Size n = matrix.rows(), k = matrix.columns();
  Tensor slab = Tensor::uninitialised({std::min(kSlab, n), k}, DType::f32);
  for (Size first = 0; first < n; first += kSlab) {
    const Size count = std::min(kSlab, n - first);
    dequantise_rows(matrix, first, count, slab.mutable_data<float>());
    simd::Matmul<float> product;
    product.m = m, product.n = count, product.k = k;
    product.a = x, product.a_row = k;
    product.b = slab.data<float>(), product.b_row = 1, product.b_col = k;
    product.c = y + first, product.c_row = n;
    simd::matmul(product);
  }
}

/// y (m, rows) = x (m, columns)·Wᵀ with 8-bit integers.
void multiply_bytes(const float* x, Size m, const QuantisedMatrix& matrix, simd::WeightFormat format,
                    float* y) {
  simd::QuantisedProduct product;
  product.m = m, product.n = matrix.rows(), product.k = matrix.columns();
  product.x = x, product.x_row = product.k;
  product.format = format;
  product.weights = reinterpret_cast<const std::uint8_t*>(matrix.bytes().data());
  product.y = y, product.y_row = product.n;
  simd::quantised_matmul(product);
}

}  // namespace

QuantisedMatrix::QuantisedMatrix(Size rows, Size columns, BlockType type, std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner)
    : rows_(rows), columns_(columns), type_(type), bytes_(bytes), owner_(std::move(owner)) {
  check_shape({rows, columns});
  check_columns(columns, type);
  const Size wanted = rows * bytes_of_row(columns, type);
  if (static_cast<Size>(bytes.size()) != wanted)
    fail("[QuantisedMatrix] ({},{}) of {} must have {} bytes, got {}; pass the bytes of all rows", rows,
         columns, to_string(type), wanted, bytes.size());
}

std::span<const std::byte> QuantisedMatrix::row_bytes(Size first, Size count) const {
  const Size row = bytes_of_row(columns_, type_);
  return bytes_.subspan(static_cast<std::size_t>(first * row), static_cast<std::size_t>(count * row));
}

QuantisedMatrix quantise(const Tensor& matrix, BlockType type, CallSite at) {
  if (matrix.rank() != 2 || matrix.dtype() != DType::f32)
    fail("[quantise] the matrix must be (rows, columns) in f32, got {} in {}; use reshape() or to() ({}:{})",
         describe(matrix), name_of(matrix.dtype()), at.file, at.line);
  const Size rows = matrix.size(0), columns = matrix.size(1);
  check_columns(columns, type);
  const auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(rows * bytes_of_row(columns, type)));
  const Tensor dense = contiguous(matrix.detach());
  quantise_blocks(type, std::span(dense.data<float>(), static_cast<std::size_t>(dense.count())), *bytes);
  return {rows, columns, type, *bytes, bytes};
}

Tensor dequantise(const QuantisedMatrix& matrix) {
  Tensor y = Tensor::uninitialised({matrix.rows(), matrix.columns()}, DType::f32);
  dequantise_rows(matrix, 0, matrix.rows(), y.mutable_data<float>());
  return y;
}

Tensor embedding(const QuantisedMatrix& table, const Indices& ids, CallSite at) {
  Dims shape = ids.shape();
  shape.push_back(table.columns());
  Tensor y = Tensor::uninitialised(shape, DType::f32);
  float* out = y.mutable_data<float>();
  for (const std::int64_t id : ids.to_vector()) {
    if (id < 0 || id >= table.rows())
      fail("[embedding] ids must be from 0 to {}, got {}; check the vocabulary ({}:{})", table.rows() - 1, id,
           at.file, at.line);
    dequantise_rows(table, id, 1, out);
    out += table.columns();
  }
  return y;
}

Tensor quantised_matmul(const Tensor& x, const QuantisedMatrix& matrix, QuantisedArithmetic arithmetic,
                        CallSite at) {
  if (x.rank() < 1 || x.size(-1) != matrix.columns() || x.dtype() != DType::f32)
    fail(
        "[quantised_matmul] x must be (…, {}) in f32 for a matrix ({},{}), got {} in {}; check the layer's sizes "
        "({}:{})",
        matrix.columns(), matrix.rows(), matrix.columns(), describe(x), name_of(x.dtype()), at.file, at.line);
  if (records(x))
    fail(
        "[quantised_matmul] x must not require a gradient, got {} on a tape; quantised weights are for inference: "
        "pass x.detach(), or run without a tape ({}:{})",
        describe(x), at.file, at.line);
  Dims shape = x.shape();
  shape.back() = matrix.rows();
  Tensor y = Tensor::uninitialised(shape, DType::f32);
  const Tensor dense = contiguous(x.detach());
  const Size rows = shape.count(0, shape.rank() - 1);
  const float* from = dense.data<float>();
  float* to = y.mutable_data<float>();
  if (arithmetic == QuantisedArithmetic::int8 && matrix.type() == BlockType::q8_0)
    multiply_bytes(from, rows, matrix, simd::WeightFormat::q8_0, to);
  else if (arithmetic == QuantisedArithmetic::int8 && matrix.type() == BlockType::q4_0)
    multiply_bytes(from, rows, matrix, simd::WeightFormat::q4_0, to);
  else if (arithmetic == QuantisedArithmetic::int8 && matrix.type() == BlockType::q4_1)
    multiply_bytes(from, rows, matrix, simd::WeightFormat::q4_1, to);
  else
    multiply_dequantised(from, rows, matrix, to);
  return y;
}

}  // namespace tapestry
