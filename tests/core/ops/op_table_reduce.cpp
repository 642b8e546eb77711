// Rows of core/ops/reduce.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

using List = std::vector<double>;

double total(const List& x) { return std::accumulate(x.begin(), x.end(), 0.0); }
double average(const List& x) { return total(x) / static_cast<double>(x.size()); }
double spread(const List& x, int correction) {
  const double middle = average(x);
  double squares = 0;
  for (double v : x) squares += (v - middle) * (v - middle);
  return squares / (static_cast<double>(x.size()) - correction);
}
double log_sum_exp(const List& x) {
  const double largest = x.empty() ? 0 : *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - largest);
  return std::log(sum) + largest;
}

struct Shape {
  Dims shape, axes;
};

/// Every place an axis can have, several axes, all of them, and each tail length on either side.
std::vector<Shape> shapes(bool with_empty) {
  std::vector<Shape> list{{{}, {}},
                          {{1}, {}},
                          {{3, 3}, {0}},
                          {{3, 3}, {1}},
                          {{4, 5}, {}},
                          {{2, 3, 4}, {1}},
                          {{2, 3, 4}, {0, 2}},
                          {{2, 3, 4}, {-1, -2}},
                          {{5, 1}, {1}},
                          {{2, 3, 1, 2, 2, 3}, {1, 3, 5}},
                          {{3, 0}, {0}}};
  if (with_empty) list.push_back({{3, 0}, {1}});
  for (Size n : kLengths) {
    if (n == 0) continue;
    list.push_back({{n}, {0}});
    list.push_back({{3, n}, {1}});
    list.push_back({{3, n}, {0}});
  }
  // Several blocks, parts and chunks, along memory and across it.
  for (const Shape& s : {Shape{{2, 131'111}, {1}}, Shape{{270, 1100}, {0}}, Shape{{30, 1300}, {1}},
                         Shape{{5, 30, 4, 70}, {0, 2}}})
    list.push_back(s);
  return list;
}

using Reducer = Tensor (*)(const Tensor&, const Dims&, Keep);

Row reduction(const std::string& name, Reducer op, std::function<double(const List&)> reference,
              Plain (*draw)(const Dims&, std::uint64_t), bool with_empty, Size fewest = 1) {
  Row row{name, {}};
  for (const Shape& s : shapes(with_empty)) {
    Size folded = 1;
    for (int axis = 0; axis < s.shape.rank(); ++axis) {
      bool listed = s.axes.empty();
      for (Size a : s.axes) listed |= (a < 0 ? a + s.shape.rank() : a) == axis;
      if (listed) folded *= s.shape[axis];
    }
    if (folded > 0 && folded < fewest) continue;
    for (Keep keep : {Keep::no, Keep::yes}) {
      if (keep == Keep::yes && s.shape.count() > 10'000) continue;
      row.samples.push_back({text(s.shape) + " over " + text(s.axes) + (keep == Keep::yes ? " kept" : ""),
                             {draw(s.shape, 21)},
                             [op, axes = s.axes, keep](const Tensors& t) { return op(t[0], axes, keep); },
                             [reference, axes = s.axes, keep](const Plains& p) {
                               return fold(p[0], axes, keep == Keep::yes, reference);
                             }});
    }
  }
  row.errors = {{[op] {
                   op(zeros({2, 3}), {2}, Keep::no);
                 },
                 "outside a tensor of shape (2,3)"},
                {[op] {
                   op(zeros({2, 3}), {0, 0}, Keep::no);
                 },
                 "[" + name + "]"}};
  return row;
}

/// So near 1 that a product of many neither vanishes nor overflows.
Plain near_one(const Dims& shape, std::uint64_t seed) {
  Plain x = normal(shape, seed);
  const double scale = 1 / (4 + std::sqrt(static_cast<double>(x.v.size())));
  for (double& value : x.v) value = 1 + scale * value;
  return x;
}

Row sum_to_row() {
  Row row{"sum_to", {}};
  const std::vector<std::pair<Dims, Dims>> cases{{{3, 4}, {4}},         {{3, 4}, {3, 1}},
                                                 {{3, 4}, {}},          {{2, 3, 4}, {3, 1}},
                                                 {{3, 3}, {3, 3}},      {{5, 17}, {17}},
                                                 {{17, 5}, {17, 1}},    {{2, 0}, {2, 1}},
                                                 {{300, 300}, {300}},   {{40, 7, 300}, {40, 1, 300}},
                                                 {{300, 200}, {300, 1}}};
  for (const auto& [from, to] : cases)
    row.samples.push_back({text(from) + " to " + text(to),
                           {normal(from, 23)},
                           [to = to](const Tensors& t) { return sum_to(t[0], to); },
                           [to = to](const Plains& p) {
                             Plain y = generate(to, [](const Index&) { return 0.0; });
                             generate(p[0].shape, [&](const Index& i) {
                               Size place = 0;
                               for (int axis = 0; axis < to.rank(); ++axis) {
                                 const Size at = i[i.size() - static_cast<std::size_t>(to.rank() - axis)];
                                 place = place * to[axis] + (to[axis] == 1 ? 0 : at);
                               }
                               y.v[static_cast<std::size_t>(place)] += pick(p[0], i);
                               return 0.0;
                             });
                             return y;
                           }});
  row.errors = {{[] { sum_to(zeros({3, 4}), {3}); }, "[sum_to]"}};
  return row;
}

Row cumulative_sum_row() {
  Row row{"cumsum", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{{{1}, 0},
                                                                     {{5}, 0},
                                                                     {{3, 3}, 0},
                                                                     {{3, 3}, 1},
                                                                     {{2, 3, 9}, -2},
                                                                     {{4, 33}, -1},
                                                                     {{0}, 0},
                                                                     {{17, 3}, 0},
                                                                     {{3, 70, 210}, 1},
                                                                     {{12, 3000}, -1},
                                                                     {{2, 9000}, -1},
                                                                     {{300, 130}, 0}})
    row.samples.push_back({text(shape),
                           {normal(shape, 24)},
                           [axis = axis](const Tensors& t) { return cumsum(t[0], axis); },
                           [axis = axis](const Plains& p) {
                             return along(p[0], axis, [](List x) {
                               std::partial_sum(x.begin(), x.end(), x.begin());
                               return x;
                             });
                           }});
  row.errors = {{[] { cumsum(zeros({3}), 1); }, "[cumsum] axis 1 is outside a tensor of shape (3)"}};
  return row;
}

}  // namespace

Rows reduce_rows() {
  Rows rows{
      reduction(
          "sum", [](const Tensor& x, const Dims& axes, Keep keep) { return sum(x, axes, keep); }, total,
          normal, true),
      reduction(
          "mean", [](const Tensor& x, const Dims& axes, Keep keep) { return mean(x, axes, keep); }, average,
          normal, false),
      reduction(
          "max", [](const Tensor& x, const Dims& axes, Keep keep) { return max(x, axes, keep); },
          [](const List& x) { return *std::max_element(x.begin(), x.end()); }, spaced, false),
      reduction(
          "min", [](const Tensor& x, const Dims& axes, Keep keep) { return min(x, axes, keep); },
          [](const List& x) { return *std::min_element(x.begin(), x.end()); }, spaced, false),
      reduction(
          "var", [](const Tensor& x, const Dims& axes, Keep keep) { return var(x, axes, 0, keep); },
          [](const List& x) { return spread(x, 0); }, normal, false, 2),
      reduction(
          "var", [](const Tensor& x, const Dims& axes, Keep keep) { return var(x, axes, 1, keep); },
          [](const List& x) { return spread(x, 1); }, normal, false, 2),
      reduction(
          "logsumexp", [](const Tensor& x, const Dims& axes, Keep keep) { return logsumexp(x, axes, keep); },
          log_sum_exp, normal, false),
      reduction(
          "prod", [](const Tensor& x, const Dims& axes, Keep keep) { return prod(x, axes, keep); },
          [](const List& x) { return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>()); },
          near_one, true),
      sum_to_row(),
      cumulative_sum_row(),
  };
  for (Row& row : rows)
    if (row.name == "max" || row.name == "min")
      row.errors.push_back({[name = row.name] {
                              name == "max" ? max(zeros({3, 0}), {1}) : min(zeros({3, 0}), {1});
                            },
                            "[" + row.name + "]"});
  return rows;
}

}  // namespace tapestry::table
