// Rows of core/ops/softmax and loss.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

using List = std::vector<double>;

List softmax_of(List x) {
  const double largest = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - largest);
  for (double& v : x) v /= sum;
  return x;
}
List log_softmax_of(List x) {
  const List p = softmax_of(x);
  std::transform(p.begin(), p.end(), x.begin(), [](double v) { return std::log(v); });
  return x;
}

Row softmax_like(const std::string& name, Tensor (*op)(const Tensor&, int), List (*reference)(List)) {
  Row row{name, {}};
  std::vector<std::pair<Dims, int>> cases{{{3, 3}, 0}, {{3, 3}, 1}, {{2, 5, 4}, 1}, {{2, 5, 4}, -1},
                                          {{7, 2}, 0}, {{2, 0}, 1}, {{0, 3}, 1},    {{2, 1, 2, 2, 1, 3}, 3}};
  for (Size n : kLengths)
    if (n > 0) cases.push_back({{2, n}, 1});
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{
           {{150, 530}, 1}, {{2, 20'011}, 1}, {{3, 130, 70}, 1}, {{9001, 7}, -1}})
    cases.push_back({shape, axis});
  for (const auto& [shape, axis] : cases)
    row.samples.push_back({text(shape) + " axis " + std::to_string(axis),
                           {normal(shape, 31)},
                           [op, axis = axis](const Tensors& t) { return op(t[0], axis); },
                           [reference, axis = axis](const Plains& p) { return along(p[0], axis, reference); },
                           shape[axis < 0 ? axis + shape.rank() : axis] == 1});
  row.errors = {{[op] { op(zeros({2, 3}), 2); }, "[" + name + "] axis 2 is outside a tensor of shape (2,3)"}};
  return row;
}

Row masked_softmax_row() {
  Row row{"masked_softmax", {}};
  std::vector<std::pair<Dims, Dims>> cases{
      {{4, 5}, {4, 5}}, {{2, 3, 4}, {2, 1, 4}}, {{2, 3, 4}, {4}}, {{3, 3}, {3, 3}}, {{2, 2, 3, 3}, {3, 3}}};
  for (Size n : kLengths)
    if (n > 2) cases.push_back({{3, n}, {3, n}});
  for (const auto& [shape, mask] : std::vector<std::pair<Dims, Dims>>{{{3, 80, 211}, {80, 211}},
                                                                      {{40, 9, 130}, {40, 1, 130}},
                                                                      {{9000, 7}, {9000, 7}},
                                                                      {{2, 9001}, {9001}}})
    cases.push_back({shape, mask});
  for (const auto& [shape, mask_shape] : cases) {
    // Row 0 of the mask is all false where it has rows of its own; elsewhere a mixture.
    const Plain bits = [&, ms = mask_shape] {
      Plain b = normal(ms, 33);
      for (std::size_t i = 0; i < b.v.size(); ++i)
        b.v[i] = (b.v[i] > -0.5 && (ms.rank() == 1 || i >= static_cast<std::size_t>(ms.back()))) ? 1 : 0;
      for (std::size_t i = b.v.size() - 2; i < b.v.size(); ++i) b.v[i] = 1;
      return b;
    }();
    const Mask mask = Mask::from(1, mask_shape.count(), [&](Size, Size j) {
                        return bits.v[static_cast<std::size_t>(j)] != 0;
                      }).reshape(mask_shape);
    row.samples.push_back({text(shape) + " mask " + text(mask_shape),
                           {normal(shape, 34)},
                           [mask](const Tensors& t) { return masked_softmax(t[0], mask); },
                           [bits](const Plains& p) {
                             return by_rows(p[0].shape, [&](const Index& i, double* y) {
                               const Size n = p[0].shape.back();
                               const double *x = row_at(p[0], i), *bit = row_at(bits, i);
                               double sum = 0;
                               for (Size k = 0; k < n; ++k)
                                 if (bit[k] != 0) sum += y[k] = std::exp(x[k]);
                               for (Size k = 0; k < n; ++k)
                                 if (bit[k] != 0) y[k] /= sum;
                             });
                           }});
  }
  row.errors = {{[] {
                   masked_softmax(zeros({2, 3}), Mask::causal(2, 4));
                 },
                 "a mask of shape (2,4) does not broadcast to scores of shape (2,3)"}};
  return row;
}

Row cross_entropy_row() {
  Row row{"cross_entropy", {}};
  struct Case {
    Dims shape;
    double smoothing;
    std::int64_t ignore;
    Reduce reduce;
  };
  std::vector<Case> cases{{{4, 5}, 0, -1, Reduce::mean},  {{4, 5}, 0.1, -1, Reduce::mean},
                          {{4, 5}, 0.1, 2, Reduce::mean}, {{4, 5}, 0.2, 2, Reduce::sum},
                          {{4, 5}, 0.1, 2, Reduce::none}, {{2, 3, 4}, 0.1, 0, Reduce::none},
                          {{3, 3}, 0, -1, Reduce::mean},  {{6}, 0, -1, Reduce::mean}};
  for (Size n : kLengths)
    if (n > 1) cases.push_back({{3, n}, 0.1, 1, Reduce::mean});
  // Rows that go through each step together, many of them, and rows longer than a block.
  for (const Case& c : {Case{{9001, 7}, 0.1, 3, Reduce::mean}, Case{{500, 61}, 0, -1, Reduce::none},
                        Case{{130, 700}, 0.2, 5, Reduce::sum}, Case{{4, 30'011}, 0.1, -1, Reduce::mean}})
    cases.push_back(c);
  for (const Case& c : cases) {
    Dims rows_shape = c.shape;
    rows_shape.erase(rows_shape.rank() - 1);
    const Size classes = c.shape.back();
    std::vector<std::int64_t> ids;
    for (Size i = 0; i < rows_shape.count(); ++i) ids.push_back((i * 2 + 1 + i / 3) % classes);
    if (ids.size() == 1 ||
        std::all_of(ids.begin(), ids.end(), [&](std::int64_t id) { return id == c.ignore; }))
      ids[0] = (c.ignore + 1) % classes;
    const Indices targets(ids, rows_shape);
    const CrossEntropy options{c.smoothing, c.ignore, c.reduce};
    row.samples.push_back(
        {text(c.shape) + " ε " + std::to_string(c.smoothing) + " reduce " +
             std::to_string(static_cast<int>(c.reduce)),
         {normal(c.shape, 35)},
         [targets, options](const Tensors& t) { return cross_entropy(t[0], targets, options); },
         [ids, rows_shape, classes, c](const Plains& p) {
           Plain losses{rows_shape, {}};
           double sum = 0, counted = 0;
           for (std::size_t r = 0; r < ids.size(); ++r) {
             const auto begin = p[0].v.begin() + static_cast<std::ptrdiff_t>(r) * classes;
             const List logs = log_softmax_of(List(begin, begin + classes));
             double loss = 0;
             for (Size k = 0; k < classes; ++k)
               loss -= (c.smoothing / static_cast<double>(classes) + (k == ids[r] ? 1 - c.smoothing : 0)) *
                       logs[static_cast<std::size_t>(k)];
             if (ids[r] == c.ignore) loss = 0;
             counted += ids[r] != c.ignore;
             sum += loss;
             losses.v.push_back(loss);
           }
           if (c.reduce == Reduce::none) return losses;
           return Plain{{}, {c.reduce == Reduce::sum ? sum : sum / std::max(counted, 1.0)}};
         }});
  }
  row.samples.push_back({"no row counts",
                         {normal({2, 3}, 36)},
                         [](const Tensors& t) {
                           return cross_entropy(t[0], {1, 1}, {0.1, 1, Reduce::mean});
                         },
                         [](const Plains&) {
                           return Plain{{}, {0}};
                         },
                         true});
  row.errors = {{[] {
                   cross_entropy(zeros({2, 3}), {0, 3});
                 },
                 "[cross_entropy]"},
                {[] {
                   cross_entropy(zeros({2, 3}), {0, 1, 2});
                 },
                 "[cross_entropy]"},
                {[] {
                   cross_entropy(zeros({2, 3}), {0, 1}, {1.5, -1, Reduce::mean});
                 },
                 "[cross_entropy]"}};
  return row;
}

}  // namespace

Rows softmax_rows() {
  return {softmax_like(
              "softmax", [](const Tensor& x, int axis) { return softmax(x, axis); }, softmax_of),
          softmax_like(
              "log_softmax", [](const Tensor& x, int axis) { return log_softmax(x, axis); }, log_softmax_of),
          masked_softmax_row(), cross_entropy_row()};
}

}  // namespace tapestry::table
