// What the rows of the op table share: inputs, reference loops, and the two commonest kinds of rows.
#include "tests/core/ops/op_table.hpp"

#include <algorithm>
#include <numeric>

namespace tapestry::table {

const Rows& rows() {
  static const Rows all = [] {
    Rows list;
    for (Rows (*part)() :
         {arithmetic_rows, view_rows, pointwise_rows, reduce_rows, softmax_rows, norm_rows, join_rows,
          matmul_rows, einsum_rows, order_rows, recurrent_rows, attend_rows, linear_rows, sparse_rows}) {
      Rows some = part();
      std::move(some.begin(), some.end(), std::back_inserter(list));
    }
    return list;
  }();
  return all;
}

Size count_of(const Sample& sample) {
  Size count = 0;
  for (const Plain& x : sample.inputs) count += x.shape.count();
  return count;
}

bool is_large(const Sample& sample) {
  constexpr Size kLarge = 4000;
  return count_of(sample) > kLarge;
}

namespace {

Plain drawn(const Dims& shape, const std::function<double(std::uint64_t)>& draw) {
  std::uint64_t i = 0;
  return generate(shape, [&](const Index&) { return draw(i++); });
}

}  // namespace

Plain normal(const Dims& shape, std::uint64_t seed) {
  const Stream stream(seed, 11);
  return drawn(shape, [&](std::uint64_t i) { return stream.normal(i); });
}

Plain uniform(const Dims& shape, std::uint64_t seed, double low, double high,
              const std::vector<double>& kinks) {
  const Stream stream(seed, 12);
  return drawn(shape, [&](std::uint64_t i) {
    double x = low + (high - low) * stream.uniform(i);
    for (double kink : kinks)
      if (std::abs(x - kink) < 0.03) x = kink + (x < kink ? -0.03 : 0.03);
    return x;
  });
}

Plain spaced(const Dims& shape, std::uint64_t seed) {
  const Stream stream(seed, 13);
  std::vector<double> values(static_cast<std::size_t>(shape.count()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.1 * (static_cast<double>(i) - static_cast<double>(values.size()) / 2);
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.below(i, i)]);
  return {shape, std::move(values)};
}

Tensor to_tensor(const Plain& x, DType dtype) { return tensor(x.v, x.shape, dtype); }

std::string text(const Dims& shape) { return to_string(shape); }

std::vector<Dims> one_shape() {
  std::vector<Dims> shapes{{}, {3, 0}, {3, 3}, {5, 7}, {2, 3, 4}, {1, 2, 1, 3, 2, 2}};
  for (Size n : kLengths) shapes.push_back({n});
  return shapes;
}

std::vector<Dims> large_shapes() { return {{40'001}, {130, 257}}; }

std::vector<std::pair<Dims, Dims>> two_shapes() {
  std::vector<std::pair<Dims, Dims>> shapes{
      {{}, {}},         {{}, {3}},           {{5}, {}},
      {{3, 4}, {4}},    {{3, 4}, {3, 1}},    {{3, 1}, {1, 4}},
      {{4}, {3, 4}},    {{2, 3, 4}, {3, 1}}, {{8, 1, 9}, {7, 1}},
      {{1}, {33}},      {{0}, {1}},          {{2, 0}, {2, 1}},
      {{3, 3}, {3, 3}}, {{17, 1}, {17, 9}},  {{2, 1, 1, 2, 1, 3}, {2, 2, 1, 3}}};
  for (Size n : kLengths) shapes.push_back({{n}, {n}});
  return shapes;
}

double pick(const Plain& x, const Index& index) {
  const std::size_t ahead = index.size() - static_cast<std::size_t>(x.shape.rank());
  Size place = 0;
  for (int axis = 0; axis < x.shape.rank(); ++axis)
    place = place * x.shape[axis] + (x.shape[axis] == 1 ? 0 : index[ahead + static_cast<std::size_t>(axis)]);
  return x.v.at(static_cast<std::size_t>(place));
}

const double* row_at(const Plain& x, const Index& index) {
  Size place = 0;
  const std::size_t ahead = index.size() - static_cast<std::size_t>(x.shape.rank());
  for (int axis = 0; axis + 1 < x.shape.rank(); ++axis)
    place = place * x.shape[axis] + (x.shape[axis] == 1 ? 0 : index[ahead + static_cast<std::size_t>(axis)]);
  return x.v.data() + place * x.shape.back();
}

Dims joint(const Dims& a, const Dims& b) {
  const int rank = std::max(a.rank(), b.rank());
  Dims shape = Dims::filled(rank, 1);
  for (int back = 1; back <= rank; ++back) {
    const Size m = back <= a.rank() ? a[a.rank() - back] : 1, n = back <= b.rank() ? b[b.rank() - back] : 1;
    shape[rank - back] = m == 1 ? n : m;
  }
  return shape;
}

Plain fold(const Plain& x, Dims axes, bool keep, const std::function<double(const std::vector<double>&)>& f) {
  std::vector<bool> folded(static_cast<std::size_t>(x.shape.rank()), axes.empty());
  for (Size axis : axes) folded[static_cast<std::size_t>(axis < 0 ? axis + x.shape.rank() : axis)] = true;
  Dims kept = x.shape, shape;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    if (folded[static_cast<std::size_t>(axis)]) kept[axis] = 1;
    if (keep || !folded[static_cast<std::size_t>(axis)]) shape.push_back(kept[axis]);
  }
  const auto place_of = [&](const Index& index) {
    std::size_t place = 0;
    for (int axis = 0; axis < kept.rank(); ++axis)
      place = place * static_cast<std::size_t>(kept[axis]) +
              static_cast<std::size_t>(kept[axis] == 1 ? 0 : index[static_cast<std::size_t>(axis)]);
    return place;
  };
  std::vector<std::vector<double>> lists(static_cast<std::size_t>(kept.count()));
  generate(x.shape, [&](const Index& index) {
    lists[place_of(index)].push_back(pick(x, index));
    return 0.0;
  });
  Plain result{shape, {}};
  for (const auto& list : lists) result.v.push_back(f(list));
  return result;
}

Plain along(const Plain& x, int axis, const std::function<std::vector<double>(std::vector<double>)>& f) {
  const int a = axis < 0 ? axis + x.shape.rank() : axis;
  const auto step = static_cast<std::size_t>(dense_strides(x.shape)[a]);
  const auto length = static_cast<std::size_t>(x.shape[a]);
  Plain result = x;
  for (std::size_t first = 0; first < x.v.size(); ++first) {
    if (first / step % length != 0) continue;  // not the first of its list
    std::vector<double> list(length);
    for (std::size_t k = 0; k < length; ++k) list[k] = x.v[first + k * step];
    list = f(std::move(list));
    for (std::size_t k = 0; k < length; ++k) result.v[first + k * step] = list.at(k);
  }
  return result;
}

Row unary(const std::string& name, Tensor (*op)(const Tensor&), double (*reference)(double), double low,
          double high, const std::vector<double>& kinks) {
  Row row{name, {}};
  std::uint64_t seed = 1;
  std::vector<Dims> shapes = one_shape();
  for (const Dims& shape : large_shapes()) shapes.push_back(shape);
  for (const Dims& shape : shapes)
    row.samples.push_back({text(shape),
                           {uniform(shape, seed++, low, high, kinks)},
                           [op](const Tensors& x) { return op(x[0]); },
                           [reference](const Plains& x) {
                             return generate(x[0].shape,
                                             [&](const Index& i) { return reference(pick(x[0], i)); });
                           }});
  return row;
}

Row binary(const std::string& name, Tensor (*op)(const Tensor&, const Tensor&),
           double (*reference)(double, double), Plain (*first)(const Dims&, std::uint64_t),
           Plain (*second)(const Dims&, std::uint64_t)) {
  Row row{name, {}};
  std::uint64_t seed = 1;
  std::vector<std::pair<Dims, Dims>> shapes = two_shapes();
  for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{{{40'001}, {40'001}},
                                                               {{130, 1}, {1, 300}},
                                                               {{90, 130}, {2, 90, 130}},
                                                               {{2, 70, 9, 30}, {70, 1, 30}}})
    shapes.push_back({a, b});
  for (const auto& [a, b] : shapes) {
    row.samples.push_back({text(a) + " " + text(b),
                           {first(a, seed), second(b, seed + 100)},
                           [op](const Tensors& x) { return op(x[0], x[1]); },
                           [reference](const Plains& x) {
                             return generate(joint(x[0].shape, x[1].shape), [&](const Index& i) {
                               return reference(pick(x[0], i), pick(x[1], i));
                             });
                           }});
    ++seed;
  }
  const std::string both = "[" + name + "]";
  row.errors = {{[op] {
                   op(zeros({2, 3}), zeros({4}));
                 },
                 both + " shapes (2,3) and (4) do not broadcast"},
                {[op] { op(zeros({2}), zeros({2}, DType::f64)); },
                 both + " operands (2) and (2) must have the same dtype, got f32 and f64"},
                {[op] { op(Tensor(), zeros({2})); }, "empty Tensor handle"}};
  return row;
}

}  // namespace tapestry::table
