// Rows of core/ops/arithmetic.
#include <algorithm>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

/// Away from zero, of both signs.
Plain nonzero(const Dims& shape, std::uint64_t seed) {
  Plain x = uniform(shape, seed, 0.5, 2);
  for (std::size_t i = 0; i < x.v.size(); i += 2) x.v[i] = -x.v[i];
  return x;
}
/// Tenths, and tenths and a bit: two such arrays never tie.
Plain tenths(const Dims& shape, std::uint64_t seed) { return spaced(shape, seed); }
Plain tenths_and_a_bit(const Dims& shape, std::uint64_t seed) {
  Plain x = spaced(shape, seed + 7);
  for (double& value : x.v) value += 0.037;
  return x;
}

/// Bases above 0, and numbers whose remainder by those is far from a jump.
Plain base(const Dims& shape, std::uint64_t seed) { return uniform(shape, seed, 0.4, 2.5); }
Plain three_to_four(const Dims& shape, std::uint64_t seed) { return uniform(shape, seed, 3.1, 3.9); }
Plain to_divide(const Dims& shape, std::uint64_t seed) {
  Plain x = uniform(shape, seed, 4.2, 5.9);
  for (std::size_t i = 0; i < x.v.size(); ++i)
    x.v[i] = (i % 2 == 0 ? 1 : -1) * (x.v[i] - (i % 3 == 2 ? 3 : 0));
  return x;
}

Row clamp_row() {
  Row row{"clamp", {}};
  std::vector<Dims> shapes = one_shape();
  for (const Dims& shape : large_shapes()) shapes.push_back(shape);
  for (const Dims& shape : shapes) {
    Plain x = uniform(shape, 3, -2, 2, {-0.7, 1.1});
    if (!x.v.empty()) x.v[0] = 0.25;  // one of them moves, or the check would be vacuous
    row.samples.push_back({text(shape),
                           {x},
                           [](const Tensors& t) { return clamp(t[0], -0.7, 1.1); },
                           [](const Plains& p) {
                             return generate(p[0].shape, [&](const Index& i) {
                               return std::min(std::max(pick(p[0], i), -0.7), 1.1);
                             });
                           }});
  }
  row.errors = {{[] { clamp(zeros({2}), 1, -1); }, "[clamp] low must be at most high, got 1 and -1"}};
  return row;
}

Row pow_row() {
  Row row{"pow", {}};
  for (double exponent : {2.0, 3.0, -1.0, 0.5, 1.0, 2.5}) {
    std::vector<Dims> shapes = one_shape();
    if (exponent == 2.5)
      for (const Dims& shape : large_shapes()) shapes.push_back(shape);
    for (const Dims& shape : shapes)
      row.samples.push_back(
          {text(shape) + " to the " + std::to_string(exponent),
           {uniform(shape, 5, 0.4, 2.5)},
           [exponent](const Tensors& t) { return pow(t[0], exponent); },
           [exponent](const Plains& p) {
             return generate(p[0].shape, [&](const Index& i) { return std::pow(pick(p[0], i), exponent); });
           }});
  }
  // Whole powers of negative numbers, and the power 0, whose derivative is 0 even at 0.
  row.samples.push_back({"negative base",
                         {nonzero({9}, 6)},
                         [](const Tensors& t) { return pow(t[0], 3); },
                         [](const Plains& p) {
                           return generate(p[0].shape,
                                           [&](const Index& i) { return std::pow(pick(p[0], i), 3.0); });
                         }});
  row.samples.push_back(
      {"to the 0",
       {Plain{{3}, {0, 1, -2}}},
       [](const Tensors& t) { return pow(t[0], 0); },
       [](const Plains& p) { return generate(p[0].shape, [](const Index&) { return 1.0; }); },
       true});
  return row;
}

/// The conversion there and back; steps and values that f32 holds exactly make the check exact.
Row to_row() {
  Row row{"to", {}};
  row.epsilon = 1.0 / 16;
  std::vector<Dims> shapes = one_shape();
  for (const Dims& shape : large_shapes()) shapes.push_back(shape);
  for (const Dims& shape : shapes) {
    Plain x = uniform(shape, 8, -1, 1);
    for (double& value : x.v) value = std::round(value * 64) / 64;
    row.samples.push_back(
        {text(shape),
         {x},
         [](const Tensors& t) {
           return t[0].to(t[0].dtype() == DType::f64 ? DType::f32 : DType::f64).to(t[0].dtype());
         },
         [](const Plains& p) { return p[0]; }});
  }
  return row;
}

}  // namespace

Rows arithmetic_rows() {
  Rows rows{
      binary(
          "add", [](const Tensor& a, const Tensor& b) { return add(a, b); },
          [](double a, double b) { return a + b; }, normal, normal),
      binary(
          "sub", [](const Tensor& a, const Tensor& b) { return sub(a, b); },
          [](double a, double b) { return a - b; }, normal, normal),
      binary(
          "mul", [](const Tensor& a, const Tensor& b) { return mul(a, b); },
          [](double a, double b) { return a * b; }, normal, normal),
      binary(
          "div", [](const Tensor& a, const Tensor& b) { return div(a, b); },
          [](double a, double b) { return a / b; }, normal, nonzero),
      binary(
          "maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); },
          [](double a, double b) { return std::max(a, b); }, tenths, tenths_and_a_bit),
      binary(
          "minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); },
          [](double a, double b) { return std::min(a, b); }, tenths, tenths_and_a_bit),
      binary(
          "pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); },
          [](double a, double b) { return std::pow(a, b); }, base, normal),
      binary(
          "fmod", [](const Tensor& a, const Tensor& b) { return fmod(a, b); },
          [](double a, double b) { return std::fmod(a, b); }, to_divide, three_to_four),
      unary(
          "neg", [](const Tensor& x) { return neg(x); }, [](double x) { return -x; }, -2, 2),
      clamp_row(),
      pow_row(),
      to_row(),
  };
  for (Row& row : rows) {
    if (row.name == "add") row.equivalents = {{"arguments 0 and 1 exchanged", "both gradients are dy"}};
    // With few elements one side may win everywhere: its gradient is then truly zero for the other.
    if (row.name == "maximum" || row.name == "minimum" || row.name == "fmod")
      for (Sample& sample : row.samples) sample.zero_gradient = true;
  }
  return rows;
}

}  // namespace tapestry::table
