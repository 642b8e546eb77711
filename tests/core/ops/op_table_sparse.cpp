// Rows of core/ops/sparse.
#include <algorithm>
#include <cmath>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

using List = std::vector<double>;
using SparseOp = Tensor (*)(const Tensor&, const Mask&, CallSite);

/// max(shrink · s − τ, 0)^power where it counts, with τ found by halving.
List weights_of(const List& scores, const List& counts, double shrink, double power) {
  const auto weight = [&](std::size_t j, double limit) {
    return counts[j] == 0 ? 0.0 : std::pow(std::max(shrink * scores[j] - limit, 0.0), power);
  };
  double low = -1e3, high = 1e3;
  for (int step = 0; step < 70; ++step) {
    const double middle = (low + high) / 2;
    double total = 0;
    for (std::size_t j = 0; j < scores.size(); ++j) total += weight(j, middle);
    (total > 1 ? low : high) = middle;
  }
  List weights;
  for (std::size_t j = 0; j < scores.size(); ++j) weights.push_back(weight(j, low));
  return weights;
}

Row sparse(const std::string& name, SparseOp op, double shrink, double power) {
  Row row{name, {}};
  std::vector<std::pair<Dims, bool>> cases{{{3, 4}, false}, {{2, 3, 5}, true}, {{2, 0}, false},
                                           {{0, 3}, false}, {{4, 9}, true},    {{2, 2, 1, 6}, true}};
  for (Size n : kLengths)
    if (n > 0) cases.push_back({{2, n}, false});
  for (const Dims& shape : {Dims{610, 7}, Dims{41, 130}, Dims{3, 2500}}) cases.push_back({shape, true});
  for (const auto& [shape, masked] : cases) {
    // Close together, so that several keys have weight.
    Plain scores = normal(shape, 71);
    for (double& s : scores.v) s *= 0.4;
    Plain counts{shape, List(scores.v.size(), 1.0)};
    // Every third place is hidden, and the whole first row.
    if (masked)
      for (std::size_t i = 0; i < counts.v.size(); ++i)
        counts.v[i] = i % 3 == 1 || static_cast<Size>(i) < shape.back() ? 0 : 1;
    const Mask mask =
        masked ? Mask::from(1, shape.count(),
                            [&](Size, Size j) { return counts.v[static_cast<std::size_t>(j)] != 0; })
                     .reshape(shape)
               : Mask{};
    row.samples.push_back({text(shape) + (masked ? " masked" : ""),
                           {scores},
                           [op, mask](const Tensors& t) { return op(t[0], mask, {}); },
                           [counts, shrink, power](const Plains& p) {
                             Plain y{p[0].shape, {}};
                             const auto width = static_cast<std::size_t>(p[0].shape.back());
                             for (std::size_t first = 0; first < p[0].v.size(); first += width) {
                               const auto part = [&](const List& all) {
                                 const auto at = all.begin() + static_cast<std::ptrdiff_t>(first);
                                 return List(at, at + static_cast<std::ptrdiff_t>(width));
                               };
                               const List weights = weights_of(part(p[0].v), part(counts.v), shrink, power);
                               y.v.insert(y.v.end(), weights.begin(), weights.end());
                             }
                             return y;
                           },
                           shape.back() == 1});
  }
  row.errors = {{[op] {
                   op(zeros({2, 3}), Mask::causal(2, 4), {});
                 },
                 "a mask of shape (2,4) does not broadcast to scores of shape (2,3)"},
                {[op] { op(zeros({}), Mask{}, {}); }, "[" + name + "] scores must be (…, keys), got ()"}};
  return row;
}

}  // namespace

Rows sparse_rows() { return {sparse("sparsemax", sparsemax, 1, 1), sparse("entmax15", entmax15, 0.5, 2)}; }

}  // namespace tapestry::table
