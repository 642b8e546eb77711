// Rows of core/ops/order: the values of topk and sort, whose gradient flows to the selected elements.
#include <algorithm>
#include <functional>

#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

Row sort_row() {
  Row row{"sort", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{{{1}, 0},
                                                                     {{5}, 0},
                                                                     {{0}, 0},
                                                                     {{3, 3}, 0},
                                                                     {{3, 3}, 1},
                                                                     {{2, 3, 9}, -2},
                                                                     {{2, 33}, -1},
                                                                     {{0, 3}, 1},
                                                                     {{3, 2000}, 1},
                                                                     {{2000, 3}, 0}})
    for (const bool up : {true, false})
      row.samples.push_back(
          {text(shape) + (up ? " up" : " down"),
           {spaced(shape, 95)},
           [axis = axis, up](const Tensors& t) {
             return sort(t[0], axis, up ? SortOrder::ascending : SortOrder::descending).values;
           },
           [axis = axis, up](const Plains& p) {
             if (p[0].v.empty()) return p[0];
             return along(p[0], axis, [up](std::vector<double> x) {
               std::sort(x.begin(), x.end());
               if (!up) std::reverse(x.begin(), x.end());
               return x;
             });
           }});
  row.errors = {{[] { sort(zeros({3}), 1); }, "[sort] axis 1 is outside"}};
  return row;
}

Row topk_row() {
  Row row{"topk", {}};
  struct Case {
    Dims shape;
    Size k;
    int axis;
  };
  for (const Case& c :
       {Case{{5}, 2, 0}, Case{{5}, 5, 0}, Case{{5}, 0, 0}, Case{{1}, 1, 0}, Case{{4, 3}, 1, 0},
        Case{{3, 17}, 4, -1}, Case{{2, 5, 3}, 3, 1}, Case{{3, 2000}, 30, 1}})
    for (const bool largest : {true, false})
      row.samples.push_back({text(c.shape) + " " + std::to_string(c.k) + (largest ? " largest" : " smallest"),
                             {spaced(c.shape, 96)},
                             [c, largest](const Tensors& t) {
                               return largest ? topk(t[0], c.k, c.axis).values
                                              : topk(t[0], c.k, c.axis, SortOrder::ascending).values;
                             },
                             [c, largest](const Plains& p) {
                               const Plain sorted = along(p[0], c.axis, [largest](std::vector<double> x) {
                                 std::sort(x.begin(), x.end());
                                 if (largest) std::reverse(x.begin(), x.end());
                                 return x;
                               });
                               Dims to = c.shape;
                               to[c.axis < 0 ? c.axis + to.rank() : c.axis] = c.k;
                               return generate(to, [&](const Index& i) { return pick(sorted, i); });
                             }});
  row.errors = {{[] { topk(zeros({3}), 4); },
                 "[topk] k must be at least 0 and at most the size of axis -1 of (3), got 4"},
                {[] { topk(zeros({3}), -1); }, "got -1"}};
  return row;
}

}  // namespace

Rows order_rows() { return {sort_row(), topk_row()}; }

}  // namespace tapestry::table
