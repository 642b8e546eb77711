// Rows of core/ops/matmul.
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

Dims leading(const Dims& shape) {
  Dims lead = shape;
  lead.erase(lead.rank() - 1);
  lead.erase(lead.rank() - 1);
  return lead;
}

Plain product(const Plains& p) {
  Dims shape = joint(leading(p[0].shape), leading(p[1].shape));
  shape.push_back(p[0].shape[p[0].shape.rank() - 2]);
  shape.push_back(p[1].shape.back());
  const Size inner = p[0].shape.back();
  return by_rows(shape, [&](const Index& i, double* y) {
    const double* a = row_at(p[0], i);
    for (Size k = 0; k < inner; ++k) {
      const double* b = row_at(p[1], with(i, -2, k));
      for (Size j = 0; j < shape.back(); ++j) y[j] += a[k] * b[j];
    }
  });
}

Row matmul_row() {
  Row row{"matmul", {}};
  std::vector<std::pair<Dims, Dims>> cases{
      {{1, 1}, {1, 1}},       {{3, 3}, {3, 3}},    {{2, 3}, {3, 4}},    {{7, 5}, {5, 9}},
      {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4, 5}}, {{3, 4}, {2, 4, 5}}, {{2, 1, 3, 2}, {3, 2, 4}},
      {{0, 3}, {3, 4}},       {{2, 0}, {0, 3}},    {{1, 17}, {17, 1}},  {{13, 1}, {1, 17}},
      {{0, 2, 3}, {3, 2}},    {{2, 3, 1}, {1, 4}}, {{2, 5, 1}, {1, 1}}, {{3, 1, 1}, {1, 3}}};
  for (Size n : kLengths)
    if (n > 1 && n < 40) {
      cases.push_back({{3, 4}, {4, n}});
      cases.push_back({{n, 4}, {4, 3}});
      cases.push_back({{3, n}, {n, 2}});
    }
  const auto op = [](const Tensors& t) { return matmul(t[0], t[1]); };
  for (const auto& [a, b] : cases)
    row.samples.push_back({text(a) + " · " + text(b), {normal(a, 71), normal(b, 72)}, op, product});
  // Transposed views are read in place.
  row.samples.push_back({"aᵀ · b",
                         {normal({4, 3}, 73), normal({4, 5}, 74)},
                         [](const Tensors& t) { return matmul(transpose(t[0]), t[1]); },
                         [](const Plains& p) {
                           return generate({3, 5}, [&](const Index& i) {
                             double sum = 0;
                             for (Size k = 0; k < 4; ++k)
                               sum += pick(p[0], {k, i[0]}) * pick(p[1], {k, i[1]});
                             return sum;
                           });
                         }});
  row.samples.push_back({"a · bᵀ",
                         {normal({4, 3}, 75), normal({5, 3}, 76)},
                         [](const Tensors& t) { return matmul(t[0], transpose(t[1])); },
                         [](const Plains& p) {
                           return generate({4, 5}, [&](const Index& i) {
                             double sum = 0;
                             for (Size k = 0; k < 3; ++k)
                               sum += pick(p[0], {i[0], k}) * pick(p[1], {i[1], k});
                             return sum;
                           });
                         }});
  // Beyond the blocks in each direction (see core/simd/matmul/matmul.cpp), thin and square, and many in a
  // batch.
  for (const auto& [a, b] : std::vector<std::pair<Dims, Dims>>{{{130, 500}, {500, 70}},
                                                               {{25, 64}, {64, 300}},
                                                               {{300, 17}, {17, 33}},
                                                               {{70, 1100}, {1100, 130}},
                                                               {{9, 30}, {30, 8300}},
                                                               {{1, 900}, {900, 130}},
                                                               {{5000, 21}, {21, 2}},
                                                               {{150, 7, 20}, {150, 20, 9}},
                                                               {{30, 2, 33, 15}, {2, 15, 33}}})
    row.samples.push_back({text(a) + " · " + text(b), {normal(a, 77), normal(b, 78)}, op, product});
  row.f32_tolerance = 1e-5;
  row.errors = {{[] {
                   matmul(zeros({2, 3}), zeros({4, 5}));
                 },
                 "[matmul] inner sizes differ: a (2,3)"},
                {[] {
                   matmul(zeros({3}), zeros({3, 2}));
                 },
                 "[matmul]"},
                {[] {
                   matmul(zeros({2, 3, 4}), zeros({3, 4, 5}));
                 },
                 "[matmul]"},
                {[] {
                   matmul(zeros({2, 3}), zeros({3, 4}, DType::f64));
                 },
                 "[matmul]"}};
  return row;
}

Row linear_row() {
  Row row{"linear", {}};
  const auto reference = [](const Plains& p) {
    Dims shape = p[0].shape;
    shape.back() = p[1].shape[0];
    return by_rows(shape, [&](const Index& i, double* y) {
      const Size in = p[0].shape.back();
      const double* x = row_at(p[0], i);
      for (Size j = 0; j < shape.back(); ++j) {
        double sum = p.size() > 2 ? p[2].v[static_cast<std::size_t>(j)] : 0;
        for (Size k = 0; k < in; ++k) sum += x[k] * p[1].v[static_cast<std::size_t>(j * in + k)];
        y[j] = sum;
      }
    });
  };
  std::vector<std::pair<Dims, Dims>> cases{{{4}, {3, 4}},    {{3, 3}, {3, 3}}, {{2, 3, 4}, {5, 4}},
                                           {{0, 4}, {2, 4}}, {{1, 1}, {1, 1}}, {{2, 0}, {3, 0}},
                                           {{2, 3}, {0, 3}}};
  for (Size n : kLengths)
    if (n > 1 && n < 40) {
      cases.push_back({{3, n}, {2, n}});
      cases.push_back({{3, 4}, {n, 4}});
      cases.push_back({{n, 3}, {2, 3}});
    }
  for (const auto& [x, weight] : std::vector<std::pair<Dims, Dims>>{
           {{9, 31, 530}, {70, 530}}, {{4, 33}, {8300, 33}}, {{3000, 17}, {40, 17}}})
    cases.push_back({x, weight});
  for (const auto& [x, weight] : cases) {
    const std::string label = text(x) + " weight " + text(weight);
    if (weight.count() < 500)
      row.samples.push_back({label,
                             {normal(x, 81), normal(weight, 82)},
                             [](const Tensors& t) { return linear(t[0], t[1]); },
                             reference});
    row.samples.push_back({label + " bias",
                           {normal(x, 83), normal(weight, 84), normal({weight[0]}, 85)},
                           [](const Tensors& t) { return linear(t[0], t[1], t[2]); },
                           reference});
  }
  row.f32_tolerance = 1e-5;
  row.errors = {{[] {
                   linear(zeros({2, 3}), zeros({5, 4}));
                 },
                 "[linear]"},
                {[] {
                   linear(zeros({2, 3}), zeros({5, 3, 2}));
                 },
                 "[linear] x"},
                {[] {
                   linear(zeros({2, 3}), zeros({3}));
                 },
                 "[linear] x"},
                {[] {
                   linear(zeros({}), zeros({5, 3}));
                 },
                 "[linear] x"},
                {[] {
                   linear(zeros({2, 3}), zeros({5, 3}), zeros({4}));
                 },
                 "[linear]"},
                {[] {
                   linear(zeros({2, 3}), zeros({5, 3}, DType::f64));
                 },
                 "[linear]"}};
  return row;
}

}  // namespace

Rows matmul_rows() { return {matmul_row(), linear_row()}; }

}  // namespace tapestry::table
