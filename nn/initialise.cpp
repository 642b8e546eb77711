#include "nn/initialise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/tensor/error.hpp"

namespace tapestry {

namespace {

void fill_uniform(const InitialiserArguments& arguments, double bound) {
  std::uint64_t i = 0;
  for (double& value : arguments.values) value = bound * (2 * arguments.stream.uniform(i++) - 1);
}

void fill_normal(const InitialiserArguments& arguments, double deviation) {
  std::uint64_t i = 0;
  for (double& value : arguments.values) value = deviation * arguments.stream.normal(i++);
}

/// Makes the rows of `q`, each of length `width`, orthonormal by the modified Gram–Schmidt method. A second
/// pass removes the rounding error of the first.
void orthonormalise_rows(std::span<double> q, std::size_t width) {
  for (std::size_t i = 0; i * width < q.size(); ++i) {
    const auto row = q.subspan(i * width, width);
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < i; ++j) {
        const auto earlier = q.subspan(j * width, width);
        double dot = 0;
        for (std::size_t k = 0; k < width; ++k) dot += row[k] * earlier[k];
        for (std::size_t k = 0; k < width; ++k) row[k] -= dot * earlier[k];
      }
    double squares = 0;
    for (double value : row) squares += value * value;
    for (double& value : row) value /= std::sqrt(squares);
  }
}

}  // namespace

Size InitialiserArguments::fan_in() const {
  if (shape.rank() < 2) return shape.count();
  return shape[0] ? shape.count() / shape[0] : 0;
}

Size InitialiserArguments::fan_out() const { return shape.rank() < 2 ? 1 : shape[0]; }

void zeros(const InitialiserArguments& arguments) {
  std::fill(arguments.values.begin(), arguments.values.end(), 0.0);
}

void ones(const InitialiserArguments& arguments) {
  std::fill(arguments.values.begin(), arguments.values.end(), 1.0);
}

void xavier(const InitialiserArguments& arguments) {
  fill_uniform(arguments, std::sqrt(6.0 / static_cast<double>(arguments.fan_in() + arguments.fan_out())));
}

void kaiming(const InitialiserArguments& arguments) {
  fill_normal(arguments, std::sqrt(2.0 / static_cast<double>(arguments.fan_in())));
}

void fan_in_uniform(const InitialiserArguments& arguments) {
  fill_uniform(arguments, 1.0 / std::sqrt(static_cast<double>(arguments.fan_in())));
}

void orthogonal(const InitialiserArguments& arguments) {
  if (arguments.shape.rank() < 2)
    fail("[orthogonal] the shape must have at least 2 axes, got {}", arguments.shape.rank());
  if (arguments.values.empty()) return;
  fill_normal(arguments, 1);
  const auto rows = static_cast<std::size_t>(arguments.shape[0]);
  const std::size_t columns = arguments.values.size() / rows;
  if (rows <= columns) return orthonormalise_rows(arguments.values, columns);
  // If there are more rows than columns, orthonormalise the rows of the transpose.
  std::vector<double> transposed(arguments.values.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) transposed[j * rows + i] = arguments.values[i * columns + j];
  orthonormalise_rows(transposed, rows);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) arguments.values[i * columns + j] = transposed[j * rows + i];
}

Initialiser constant(double value) {
  return [value](const InitialiserArguments& arguments) {
    std::fill(arguments.values.begin(), arguments.values.end(), value);
  };
}

Initialiser uniform(double bound) {
  return [bound](const InitialiserArguments& arguments) { fill_uniform(arguments, bound); };
}

Initialiser normal(double deviation) {
  return [deviation](const InitialiserArguments& arguments) { fill_normal(arguments, deviation); };
}

Initialiser with_zero_row(Initialiser rest, Size row) {
  return [rest = std::move(rest), row](const InitialiserArguments& arguments) {
    rest(arguments);
    const auto width = static_cast<std::size_t>(arguments.fan_in());
    std::fill_n(arguments.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width),
                width, 0.0);
  };
}

}  // namespace tapestry
