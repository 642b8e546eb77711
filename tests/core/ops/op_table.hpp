// The table of ops: for each a plain reference, inputs, errors, and what its gradients may be like. The
// generic tests (op_table_test.cpp, large_ops_test.cpp, mutation_test.cpp) run down it; an op without a row
// fails them.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/check/gradcheck.hpp"
#include "core/ops/ops.hpp"
#include "core/tape/tape.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/random.hpp"

namespace tapestry::table {

/// A row-major array for references: nothing of Tapestry's kernels.
struct Plain {
  Dims shape;
  std::vector<double> v;
};
using Index = std::vector<Size>;
using Tensors = std::vector<Tensor>;
using Plains = std::vector<Plain>;

/// How an op is called, and its value computed as one would on paper.
using Op = std::function<Tensor(const Tensors&)>;
using Reference = std::function<Plain(const Plains&)>;

struct Sample {
  std::string label;
  Plains inputs;
  Op op;
  Reference reference;
  bool zero_gradient = false;  // the true gradient is zero for some argument
};

struct ErrorCase {
  std::function<void()> wrong;
  std::string says;  // part of the message
};

/// A planted mistake that changes nothing: the kind of mutation as mutation_test.cpp names it, and why.
struct Equivalent {
  std::string mutation;
  std::string reason;
};

struct Row {
  std::string name;  // as in op<"name">
  std::vector<Sample> samples;
  std::vector<ErrorCase> errors = {};
  std::vector<Equivalent> equivalents = {};
  /// Ops without a public function that this one records, forward or in its derivatives.
  std::vector<std::string> covers = {};
  bool twice = true;  // its derivative can be differentiated
  double f32_tolerance = 2e-6;
  double epsilon = GradcheckOptions{}.epsilon;
};
using Rows = std::vector<Row>;

/// All rows.
const Rows& rows();

/// The number of elements of all inputs.
Size count_of(const Sample& sample);
/// Beyond what the kernels take at a time, so that they cut it into blocks, chunks and parts: for
/// large_ops_test.cpp, which measures along random directions. Others leave it out.
bool is_large(const Sample& sample);

Rows arithmetic_rows();
Rows view_rows();
Rows pointwise_rows();
Rows reduce_rows();
Rows softmax_rows();
Rows norm_rows();
Rows join_rows();
Rows matmul_rows();
Rows einsum_rows();
Rows order_rows();
Rows recurrent_rows();
Rows attend_rows();
Rows linear_rows();
Rows sparse_rows();

// ---- inputs ----

/// Standard normal values.
Plain normal(const Dims& shape, std::uint64_t seed);
/// Uniform on [low, high), at least 0.03 away from each kink.
Plain uniform(const Dims& shape, std::uint64_t seed, double low, double high,
              const std::vector<double>& kinks = {});
/// All different, at least 0.1 apart, in random order: for extremes.
Plain spaced(const Dims& shape, std::uint64_t seed);
/// The same values as a dense tensor.
Tensor to_tensor(const Plain& x, DType dtype = DType::f64);
std::string text(const Dims& shape);

/// Lengths around every lane count (4, 8, 16), with one and with none.
inline const std::vector<Size> kLengths{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 67};
/// Shapes of one argument: those lengths, rank 0, empty and square ones, higher ranks.
std::vector<Dims> one_shape();
/// Pairs that broadcast in every way.
std::vector<std::pair<Dims, Dims>> two_shapes();
/// Shapes of one argument beyond the blocks of the element-wise kernels, and beyond kMostRanges of them.
std::vector<Dims> large_shapes();

// ---- references ----

/// Calls f(index) for each place of a shape, in row-major order.
template <class F>
Plain generate(const Dims& shape, F f) {
  Plain result{shape, {}};
  Index index(static_cast<std::size_t>(shape.rank()), 0);
  for (Size i = 0; i < shape.count(); ++i) {
    Size rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    result.v.push_back(f(static_cast<const Index&>(index)));
  }
  return result;
}

/// The element of x at an index of a shape that it broadcasts to.
double pick(const Plain& x, const Index& index);
/// The row of x at an index, whose last entry is not looked at, of a shape that its leading axes broadcast
/// to.
const double* row_at(const Plain& x, const Index& index);
/// Calls f(index, row) for each row of a result of zeros, to fill it; the index ends in 0.
template <class F>
Plain by_rows(const Dims& shape, F f) {
  Plain result{shape, std::vector<double>(static_cast<std::size_t>(shape.count()), 0.0)};
  if (result.v.empty()) return result;
  Dims first = shape;
  first.back() = 1;
  double* row = result.v.data();
  generate(first, [&](const Index& index) {
    f(index, row);
    row += shape.back();
    return 0.0;
  });
  return result;
}
/// The shape that two shapes broadcast to.
Dims joint(const Dims& a, const Dims& b);
/// f over the list of values that stand along `axes` (all of them for an empty list); the axes go, or stay
/// as 1.
Plain fold(const Plain& x, Dims axes, bool keep, const std::function<double(const std::vector<double>&)>& f);
/// f turns each list along an axis into another of the same length.
Plain along(const Plain& x, int axis, const std::function<std::vector<double>(std::vector<double>)>& f);
/// An index with one entry changed.
inline Index with(Index index, int axis, Size value) {
  index[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(index.size()) : axis)] = value;
  return index;
}
inline double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// ---- rows ----

/// A function of one element on [low, high), away from its kinks, over all shapes.
Row unary(const std::string& name, Tensor (*op)(const Tensor&), double (*reference)(double), double low,
          double high, const std::vector<double>& kinks = {});
/// A function of two elements, over all ways to broadcast.
Row binary(const std::string& name, Tensor (*op)(const Tensor&, const Tensor&),
           double (*reference)(double, double), Plain (*first)(const Dims&, std::uint64_t),
           Plain (*second)(const Dims&, std::uint64_t));

}  // namespace tapestry::table
