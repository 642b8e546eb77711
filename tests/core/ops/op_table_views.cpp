// Rows of core/ops/views.
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

Sample view_sample(std::string label, Plain x, std::function<Tensor(const Tensor&)> op, Reference reference) {
  return {std::move(label),
          {std::move(x)},
          [op = std::move(op)](const Tensors& t) { return op(t[0]); },
          std::move(reference)};
}

Row reshape_row() {
  Row row{"reshape", {}};
  const std::vector<std::pair<Dims, Dims>> cases{{{}, {1}},
                                                 {{1}, {}},
                                                 {{6}, {2, 3}},
                                                 {{2, 3}, {6}},
                                                 {{2, 3, 4}, {4, 6}},
                                                 {{4, 6}, {2, -1}},
                                                 {{3, 0}, {0, 5}},
                                                 {{4, 4}, {4, 4}},
                                                 {{1, 5, 1}, {5}},
                                                 {{24}, {1, 2, 3, 2, 2, 1}},
                                                 {{2, 1, 3}, {3, 2}},
                                                 {{33}, {3, 11}},
                                                 {{40, 9, 131}, {9, 40, 131}}};
  for (const auto& [from, to] : cases)
    row.samples.push_back(view_sample(
        text(from) + " to " + text(to), normal(from, 1),
        [to = to](const Tensor& x) { return reshape(x, to); },
        [to = to](const Plains& p) {
          Plain y = p[0];
          Size known = 1;
          for (Size size : to) known *= size < 0 ? 1 : size;
          y.shape = to;
          for (Size& size : y.shape)
            if (size < 0) size = static_cast<Size>(p[0].v.size()) / known;
          return y;
        }));
  row.errors = {{[] {
                   reshape(zeros({2, 3}), {4});
                 },
                 "[reshape] the 6 elements of (2,3) do not fill shape (4)"},
                {[] {
                   reshape(zeros({2, 3}), {-1, -1});
                 },
                 "[reshape] sizes must be at least 0, or -1 for one of them, got (-1,-1)"},
                {[] {
                   reshape(zeros({2, 3}), {-1, 4});
                 },
                 "do not fill"}};
  return row;
}

Row permute_row() {
  Row row{"permute", {}};
  const std::vector<std::pair<Dims, Dims>> cases{{{}, {}},
                                                 {{5}, {0}},
                                                 {{3, 3}, {1, 0}},
                                                 {{4, 5}, {1, 0}},
                                                 {{2, 3, 4}, {2, 0, 1}},
                                                 {{2, 3, 4}, {0, -1, 1}},
                                                 {{2, 0, 3}, {2, 1, 0}},
                                                 {{1, 2, 3, 2, 1, 2}, {5, 3, 1, 0, 2, 4}},
                                                 {{301, 203}, {1, 0}},
                                                 {{40, 33, 35}, {2, 0, 1}}};
  for (const auto& [shape, order] : cases)
    row.samples.push_back(view_sample(
        text(shape) + " by " + text(order), normal(shape, 2),
        [order = order](const Tensor& x) { return permute(x, order); },
        [order = order](const Plains& p) {
          Dims to = order;
          for (Size& axis : to)
            axis = p[0].shape[static_cast<int>(axis < 0 ? axis + p[0].shape.rank() : axis)];
          return generate(to, [&](const Index& i) {
            Index from = i;
            for (int k = 0; k < order.rank(); ++k)
              from = with(from, static_cast<int>(order[k]), i[static_cast<std::size_t>(k)]);
            return pick(p[0], from);
          });
        }));
  row.errors = {{[] {
                   permute(zeros({2, 3}), {0, 0});
                 },
                 "[permute] order must name each axis of (2,3) once, got (0,0)"},
                {[] {
                   permute(zeros({2, 3}), {0});
                 },
                 "[permute] order must name each axis of (2,3) once, got (0)"},
                {[] {
                   transpose(zeros({2, 3}), 0, 2);
                 },
                 "axis 2 is outside a tensor of shape (2,3)"}};
  return row;
}

Row slice_row() {
  Row row{"slice", {}};
  struct Case {
    Dims shape;
    int axis;
    Size begin, end, step;
  };
  for (const Case& c : {Case{{7}, 0, 0, 7, 1}, Case{{7}, 0, 2, 6, 1}, Case{{7}, 0, 1, 7, 3},
                        Case{{7}, 0, -3, -1, 1}, Case{{5, 6}, 1, 1, 6, 2}, Case{{5, 6}, 0, 4, 5, 1},
                        Case{{4, 4}, -1, 0, 4, 1}, Case{{2, 3, 9}, -2, 1, 3, 1}, Case{{40}, 0, 3, 36, 1},
                        Case{{300, 211}, 1, 3, 200, 3}, Case{{40001}, 0, 7, 40000, 2}})
    row.samples.push_back(view_sample(
        text(c.shape) + " from " + std::to_string(c.begin), normal(c.shape, 3),
        [c](const Tensor& x) { return slice(x, c.axis, c.begin, c.end, c.step); },
        [c](const Plains& p) {
          Dims to = p[0].shape;
          const int axis = c.axis < 0 ? c.axis + to.rank() : c.axis;
          const Size n = to[axis], begin = (c.begin + n) % n, end = c.end < 0 ? c.end + n : c.end;
          to[axis] = (end - begin + c.step - 1) / c.step;
          return generate(to, [&](const Index& i) {
            return pick(p[0], with(i, axis, begin + i[static_cast<std::size_t>(axis)] * c.step));
          });
        }));
  row.samples.push_back(view_sample(
      "nothing of it", normal({5}, 4), [](const Tensor& x) { return slice(x, 0, 2, 2); },
      [](const Plains&) {
        return Plain{{0}, {}};
      }));
  row.errors = {{[] { slice(zeros({4}), 0, 2, 6); }, "[slice] 2 to 6 step 1 does not fit axis 0 of (4)"},
                {[] { slice(zeros({4}), 0, 3, 2); }, "[slice] 3 to 2"},
                {[] { slice(zeros({4}), 0, 0, 4, 0); }, "step 0"},
                {[] { split(zeros({4}), 0, 0); }, "[split] size must be at least 1, got 0"}};
  row.covers = {"embed"};
  return row;
}

Row select_row() {
  Row row{"select", {}};
  struct Case {
    Dims shape;
    int axis;
    Size index;
  };
  for (const Case& c : {Case{{5}, 0, 2}, Case{{3, 4}, 0, -1}, Case{{3, 4}, 1, 0}, Case{{3, 3, 3}, -2, 1},
                        Case{{2, 17}, 0, 1}, Case{{100, 5, 131}, 1, 3}, Case{{3000, 17}, -1, 11}})
    row.samples.push_back(view_sample(
        text(c.shape) + " at " + std::to_string(c.index), normal(c.shape, 5),
        [c](const Tensor& x) { return select(x, c.axis, c.index); },
        [c](const Plains& p) {
          Dims to = p[0].shape;
          const int axis = c.axis < 0 ? c.axis + to.rank() : c.axis;
          const Size at = c.index < 0 ? c.index + to[axis] : c.index;
          to.erase(axis);
          return generate(to, [&](const Index& i) {
            Index from = i;
            from.insert(from.begin() + axis, at);
            return pick(p[0], from);
          });
        }));
  row.errors = {{[] { select(zeros({4}), 0, 4); }, "[select] index 4 is outside axis 0 of (4)"}};
  return row;
}

Row expand_row() {
  Row row{"expand", {}};
  const std::vector<std::pair<Dims, Dims>> cases{{{}, {3}},
                                                 {{1}, {5}},
                                                 {{3, 1}, {3, 4}},
                                                 {{4}, {3, 4}},
                                                 {{3, 3}, {3, 3}},
                                                 {{2, 1, 3}, {4, 2, 5, 3}},
                                                 {{1}, {0}},
                                                 {{1, 1}, {2, 3, 33}},
                                                 {{4100, 1}, {4100, 9}},
                                                 {{50, 1, 90}, {3, 50, 3, 90}}};
  for (const auto& [from, to] : cases)
    row.samples.push_back(view_sample(
        text(from) + " to " + text(to), normal(from, 6), [to = to](const Tensor& x) { return expand(x, to); },
        [to = to](const Plains& p) { return generate(to, [&](const Index& i) { return pick(p[0], i); }); }));
  row.errors = {{[] { expand(zeros({3}), {4}); }, "[expand] (3) cannot be expanded to (4)"},
                {[] {
                   expand(zeros({3, 1}), {3});
                 },
                 "[expand] (3,1) cannot be expanded to (3)"}};
  return row;
}

Row squeeze_row() {
  Row row{"squeeze", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{
           {{1}, 0}, {{3, 1}, 1}, {{1, 4, 4}, 0}, {{2, 1, 5}, -2}, {{1, 0}, 0}, {{130, 1, 211}, 1}})
    row.samples.push_back(view_sample(
        text(shape), normal(shape, 7), [axis = axis](const Tensor& x) { return squeeze(x, axis); },
        [axis = axis](const Plains& p) {
          Plain y = p[0];
          y.shape.erase(axis < 0 ? axis + y.shape.rank() : axis);
          return y;
        }));
  row.errors = {{[] { squeeze(zeros({2, 3}), 0); }, "[squeeze] axis 0 of (2,3) must have size 1"}};
  return row;
}

Row unsqueeze_row() {
  Row row{"unsqueeze", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{
           {{}, 0}, {{3}, 0}, {{3}, 1}, {{4, 4}, -1}, {{2, 5}, -2}, {{0}, 0}, {{130, 211}, 1}})
    row.samples.push_back(view_sample(
        text(shape), normal(shape, 8), [axis = axis](const Tensor& x) { return unsqueeze(x, axis); },
        [axis = axis](const Plains& p) {
          Plain y = p[0];
          y.shape.insert(axis < 0 ? axis + y.shape.rank() + 1 : axis, 1);
          return y;
        }));
  row.errors = {{[] { unsqueeze(zeros({2}), 2); }, "[unsqueeze] (2) cannot get a new axis at 2"},
                {[] {
                   unsqueeze(zeros({1, 1, 1, 1, 1, 1}), 0);
                 },
                 "rank must be at most 6"}};
  return row;
}

/// Of a view that is not dense, or it would record nothing.
Row contiguous_row() {
  Row row{"contiguous", {}};
  for (const Dims& shape : {Dims{3, 3}, Dims{2, 5}, Dims{2, 3, 17}, Dims{301, 203}, Dims{9, 33, 131}})
    row.samples.push_back(view_sample(
        text(shape), normal(shape, 9), [](const Tensor& x) { return contiguous(transpose(x)); },
        [](const Plains& p) {
          Dims to = p[0].shape;
          const int last = to.rank() - 1;
          std::swap(to[last], to[last - 1]);
          return generate(to, [&](const Index& i) {
            return pick(p[0], with(with(i, last, i[static_cast<std::size_t>(last - 1)]), last - 1,
                                   i[static_cast<std::size_t>(last)]));
          });
        }));
  return row;
}

}  // namespace

Rows view_rows() {
  return {reshape_row(), permute_row(), slice_row(),     select_row(),
          expand_row(),  squeeze_row(), unsqueeze_row(), contiguous_row()};
}

}  // namespace tapestry::table
