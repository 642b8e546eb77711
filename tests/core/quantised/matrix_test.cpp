// Quantised matrices: their product in both arithmetics against f32, shapes, views, lookups and errors.
#include "core/quantised/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/core.hpp"
#include "core/quantised/blocks.hpp"
#include "tests/catch.hpp"
#include "tests/core/quantised/block_types.hpp"
#include "tests/largest_difference.hpp"
#include "tests/message_of.hpp"
#include "tests/threads.hpp"

namespace tapestry {
namespace {

using test::largest_difference;

/// A matrix of any type, of random blocks with finite scales around 1.
QuantisedMatrix random_matrix(Size rows, Size columns, BlockType type, std::uint64_t seed) {
  const Size count = rows * columns / block_elements(type), size = block_bytes(type);
  const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(count * size));
  const Stream stream(seed, 9);
  for (std::size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<std::byte>(stream.below(256, i));
  const auto set = [&](Size block, Size offset, int high) {
    (*bytes)[static_cast<std::size_t>(block * size + offset)] = static_cast<std::byte>(high);
  };
  for (Size block = 0; block < count; ++block) {
    if (type == BlockType::f32 || type == BlockType::bf16)
      set(block, size - 1, 0x3e);
    else if (type == BlockType::q6_k)
      set(block, 209, 0x24);
    else
      set(block, 1, 0x34);
    if (type == BlockType::q4_1 || type == BlockType::q5_1 || type == BlockType::q4_k) set(block, 3, 0xb4);
  }
  return {rows, columns, type, *bytes, bytes};
}

double largest(const Tensor& a) { return largest_difference(a, zeros(a.shape(), a.dtype())); }

/// A bound of the rounding of x: half a step of each activation, times the weights' magnitudes.
double rounding_bound(const Tensor& x, const Tensor& weights) {
  double most = 0;
  for (Size i = 0; i < weights.size(0); ++i) {
    double sum = 0;
    for (Size j = 0; j < weights.size(1); ++j) sum += std::abs(weights.at({i, j}));
    most = std::max(most, sum);
  }
  return largest(x) / 127 / 2 * most;
}

TEST_CASE(
    "quantised_matmul: in f32 it equals matmul of the dequantised weights; in int8 it is within the rounding") {
  for (const BlockType type : kBlockTypes) {
    INFO(to_string(type));
    const QuantisedMatrix matrix = random_matrix(35, 512, type, 1);
    const Tensor weights = dequantise(matrix), x = random_normal({2, 3, 512}, 2);
    const Tensor expected = matmul(x.to(DType::f64), transpose(weights.to(DType::f64)));
    const double scale = largest(expected);
    CHECK(scale > 0.1);
    const Tensor strict = quantised_matmul(x, matrix, QuantisedArithmetic::f32);
    CHECK(largest_difference(strict.to(DType::f64), expected) <= 1e-5 * scale);
    const Tensor rounded = quantised_matmul(x, matrix);
    const double apart = largest_difference(rounded.to(DType::f64), expected);
    CHECK(apart <= rounding_bound(x, weights) + 1e-5 * scale);
    const bool has_kernel = type == BlockType::q8_0 || type == BlockType::q4_0 || type == BlockType::q4_1;
    CHECK((largest_difference(strict, rounded) > 0) == has_kernel);
  }
}

TEST_CASE("quantised_matmul: more rows than a slab, one row as many rows, 1 and 4 threads, views") {
  for (const BlockType type : {BlockType::q4_1, BlockType::q5_0}) {
    const QuantisedMatrix matrix = random_matrix(700, 64, type, 3);
    const Tensor x = random_normal({9, 64}, 4);
    const auto run = [&](int threads, const Tensor& input) {
      const test::Threads with(threads);
      return quantised_matmul(input, matrix);
    };
    const Tensor y = run(1, x);
    CHECK(run(4, x).to_vector() == y.to_vector());
    CHECK(run(1, transpose(contiguous(transpose(x)))).to_vector() == y.to_vector());
    const Tensor one = run(1, slice(x, 0, 5, 6)), expected = matmul(x, transpose(dequantise(matrix)));
    CHECK(largest_difference(y, expected) < 0.02 * largest(expected));
    if (type == BlockType::q4_1)
      CHECK(one.to_vector() == slice(y, 0, 5, 6).to_vector());
    else
      CHECK(largest_difference(one, slice(y, 0, 5, 6)) < 1e-5 * largest(y));
    CHECK(run(1, slice(x, 0, 0, 0)).shape() == Dims{0, 700});
    CHECK(run(1, reshape(slice(x, 0, 5, 6), {64})).shape() == Dims{700});
  }
  CHECK(quantised_matmul(zeros({3, 0}), random_matrix(5, 0, BlockType::q8_0, 1)).to_vector() ==
        std::vector<double>(15, 0));
  CHECK(quantised_matmul(zeros({3, 32}), random_matrix(0, 32, BlockType::q8_0, 1)).shape() == Dims{3, 0});
}

TEST_CASE("quantise: the error is at most half a step, and a copy shares the bytes") {
  const Tensor w = random_normal({6, 96}, 5);
  for (const auto& [type, steps] :
       {std::pair(BlockType::q8_0, 127.0), {BlockType::q4_0, 7.0}, {BlockType::q4_1, 7.5}}) {
    const QuantisedMatrix matrix = quantise(transpose(contiguous(transpose(w))), type), copy = matrix;
    CHECK(copy.bytes().data() == matrix.bytes().data());
    CHECK(matrix.rows() == 6);
    CHECK(matrix.columns() == 96);
    CHECK(static_cast<Size>(matrix.bytes().size()) == 6 * 3 * block_bytes(type));
    CHECK(largest_difference(dequantise(copy), w) < largest(w) / steps);
    const Tensor rows = embedding(matrix, Indices({5, 0, 5, 2}, {2, 2}));
    CHECK(rows.shape() == Dims{2, 2, 96});
    CHECK(rows.to_vector() == embedding(dequantise(matrix), Indices({5, 0, 5, 2}, {2, 2})).to_vector());
  }
}

TEST_CASE("quantised matrices refuse wrong shapes, sizes, dtypes and gradients") {
  const auto starts = [](const std::string& message, const std::string& text) {
    INFO(message);
    CHECK(message.starts_with(text));
  };
  const auto message = [](auto&& call) { return test::message_of(call); };
  const QuantisedMatrix matrix = quantise(random_normal({4, 32}, 1), BlockType::q8_0);
  starts(
      message([&] {
        quantise(zeros({4, 40}), BlockType::q4_0);
      }),
      "[QuantisedMatrix] columns must be a multiple of 32 for Q4_0, got 40; choose another type or pad the rows");
  starts(message([&] {
           quantise(zeros({4, 32}, DType::f64), BlockType::q4_0);
         }),
         "[quantise] the matrix must be (rows, columns) in f32, got (4,32) in f64; use reshape() or to() (");
  starts(message([&] { quantise(zeros({32}), BlockType::q4_0); }),
         "[quantise] the matrix must be (rows, columns)");
  starts(message([&] { QuantisedMatrix(5, 32, BlockType::q8_0, matrix.bytes(), nullptr); }),
         "[QuantisedMatrix] (5,32) of Q8_0 must have 170 bytes, got 136; pass the bytes of all rows");
  starts(
      message([&] {
        quantised_matmul(zeros({2, 33}), matrix);
      }),
      "[quantised_matmul] x must be (…, 32) in f32 for a matrix (4,32), got (2,33) in f32; check the layer's "
      "sizes (");
  starts(message([&] {
           quantised_matmul(zeros({2, 32}, DType::f64), matrix);
         }),
         "[quantised_matmul] x must be (…, 32)");
  starts(message([&] {
           embedding(matrix, {1, 4});
         }),
         "[embedding] ids must be from 0 to 3, got 4; check the vocabulary (");
  starts(message([&] { embedding(matrix, {-1}); }), "[embedding] ids must be from 0 to 3, got -1");
  const Tensor x = variable(zeros({2, 32}));
  CHECK(quantised_matmul(x, matrix).shape() == Dims{2, 4});  // without a tape
  Tape tape;
  starts(message([&] { quantised_matmul(x, matrix); }),
         "[quantised_matmul] x must not require a gradient, got (2,32) on a tape; quantised weights are for "
         "inference: pass x.detach(), or run without a tape (");
  CHECK_THROWS_AS(quantised_matmul(x * 2, matrix), Error);
  CHECK(quantised_matmul(x.detach(), matrix).shape() == Dims{2, 4});
}

}  // namespace
}  // namespace tapestry
