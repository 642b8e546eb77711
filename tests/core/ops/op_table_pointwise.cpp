// Rows of core/ops/pointwise.
#include <algorithm>
#include <cmath>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_tanh(double x) {
  const double pi = 3.14159265358979323846;
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

Mask checkered(const Dims& shape) {
  const Plain pattern = normal(shape, 77);
  std::vector<char> bits(pattern.v.size());
  std::transform(pattern.v.begin(), pattern.v.end(), bits.begin(), [](double x) { return x > 0; });
  if (bits.size() > 1) {  // both sides are taken somewhere
    bits[0] = 1;
    bits[1] = 0;
  }
  std::vector<double> order(bits.begin(), bits.end());
  return Mask::from(1, shape.count(), [&](Size, Size j) { return bits[static_cast<std::size_t>(j)] != 0; })
      .reshape(shape);
}

Row where_row() {
  struct Case {
    Dims mask, a, b;
  };
  std::vector<Case> cases{
      {{3, 4}, {3, 4}, {3, 4}}, {{4}, {3, 4}, {3, 4}},          {{3, 1}, {3, 4}, {4}},
      {{3, 3}, {3, 3}, {3, 3}}, {{2, 5}, {}, {2, 5}},           {{5, 1, 2}, {3, 1}, {1, 2}},
      {{0}, {0}, {0}},          {{40'001}, {40'001}, {40'001}}, {{130, 1}, {300}, {130, 300}}};
  for (Size n : kLengths)
    if (n > 1) cases.push_back({{n}, {n}, {n}});
  Row row{"where", {}};
  for (const Case& c : cases) {
    const Mask mask = checkered(c.mask);
    const Plain bits{c.mask, [&] {
                       std::vector<double> values;
                       for (bool bit : mask.to_vector()) values.push_back(bit ? 1 : 0);
                       return values;
                     }()};
    row.samples.push_back({text(c.mask) + " " + text(c.a) + " " + text(c.b),
                           {normal(c.a, 1), normal(c.b, 2)},
                           [mask](const Tensors& t) { return where(mask, t[0], t[1]); },
                           [bits](const Plains& p) {
                             return generate(joint(bits.shape, joint(p[0].shape, p[1].shape)),
                                             [&](const Index& i) {
                                               return pick(bits, i) != 0 ? pick(p[0], i) : pick(p[1], i);
                                             });
                           }});
  }
  row.errors = {{[] { where(checkered({3}), zeros({4}), zeros({4})); }, "[where]"},
                {[] { where(checkered({3}), zeros({3}), zeros({3}, DType::f64)); }, "[where]"}};
  return row;
}

}  // namespace

Rows pointwise_rows() {
  Rows rows{
      unary(
          "exp", [](const Tensor& x) { return exp(x); }, [](double x) { return std::exp(x); }, -3, 3),
      unary(
          "log", [](const Tensor& x) { return log(x); }, [](double x) { return std::log(x); }, 0.2, 5),
      unary(
          "sqrt", [](const Tensor& x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, 0.2, 5),
      unary(
          "abs", [](const Tensor& x) { return abs(x); }, [](double x) { return std::abs(x); }, -2, 2, {0}),
      unary(
          "tanh", [](const Tensor& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, -3, 3),
      unary(
          "sigmoid", [](const Tensor& x) { return sigmoid(x); }, [](double x) { return sigmoid_of(x); }, -4,
          4),
      unary(
          "sin", [](const Tensor& x) { return sin(x); }, [](double x) { return std::sin(x); }, -7, 7),
      unary(
          "cos", [](const Tensor& x) { return cos(x); }, [](double x) { return std::cos(x); }, -7, 7),
      unary(
          "floor", [](const Tensor& x) { return floor(x); }, [](double x) { return std::floor(x); }, -3, 3,
          {-3, -2, -1, 0, 1, 2, 3}),
      unary(
          "relu", [](const Tensor& x) { return relu(x); }, [](double x) { return std::max(x, 0.0); }, -2, 2,
          {0}),
      unary(
          "gelu", [](const Tensor& x) { return gelu(x); }, gelu_erf, -3, 3),
      unary(
          "gelu_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }, gelu_tanh, -3, 3),
      unary(
          "softplus", [](const Tensor& x) { return softplus(x); },
          [](double x) { return std::log1p(std::exp(x)); }, -4, 4),
      unary(
          "silu", [](const Tensor& x) { return silu(x); }, [](double x) { return x * sigmoid_of(x); }, -4, 4),
      unary(
          "elu", [](const Tensor& x) { return elu(x, 0.7); },
          [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }, -4, 4, {0}),
      unary(
          "log_sigmoid", [](const Tensor& x) { return log_sigmoid(x); },
          [](double x) { return -std::log1p(std::exp(-x)); }, -4, 4),
      where_row(),
  };
  for (Row& row : rows)
    for (const char* name : {"tanh", "sigmoid", "relu", "gelu", "silu"})
      if (row.name == name) row.covers = {std::string(name) + "_grad"};
  for (Row& row : rows)
    if (row.name == "floor") {
      for (Sample& sample : row.samples) sample.zero_gradient = true;
      for (const char* mutation : {"zero", "× 1.01", "the other sign", "transposed"})
        row.equivalents.push_back({std::string("argument 0 ") + mutation, "the gradient is 0"});
    }
  for (Row& row : rows)
    if (row.name == "relu")  // a single negative number has no slope
      for (Sample& sample : row.samples) sample.zero_gradient = true;
  return rows;
}

}  // namespace tapestry::table
