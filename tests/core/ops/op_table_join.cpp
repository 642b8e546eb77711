// Rows of core/ops/join.
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

Size entry(const Index& i, int axis) {
  return i[static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(i.size()) : axis)];
}

/// So many numbers below n.
std::vector<std::int64_t> drawn_ids(Size count, Size n) {
  const Stream stream(68, 14);
  std::vector<std::int64_t> ids;
  for (Size i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int64_t>(
        stream.below(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(i))));
  return ids;
}

Plain joined(const Plains& parts, int axis) {
  Dims shape = parts[0].shape;
  const int a = axis < 0 ? axis + shape.rank() : axis;
  shape[a] = 0;
  for (const Plain& part : parts) shape[a] += part.shape[a];
  return generate(shape, [&](const Index& i) {
    Size at = entry(i, a);
    for (const Plain& part : parts) {
      if (at < part.shape[a]) return pick(part, with(i, a, at));
      at -= part.shape[a];
    }
    return 0.0;
  });
}

Row concat_row() {
  Row row{"concat", {}};
  struct Case {
    std::vector<Dims> shapes;
    int axis;
  };
  for (const Case& c :
       {Case{{{3}, {4}}, 0}, Case{{{2, 3}, {2, 5}}, 1}, Case{{{3, 3}, {3, 3}}, 0},
        Case{{{2, 3, 4}, {2, 1, 4}, {2, 2, 4}}, -2}, Case{{{2, 9}, {2, 17}}, -1}, Case{{{0, 3}, {2, 3}}, 0},
        Case{{{5}}, 0}, Case{{{1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}, {1}}, 0},
        Case{std::vector<Dims>(131, Dims{2, 19}), 0},  // more than one op takes
        Case{std::vector<Dims>(40, Dims{3, 35}), 1}, Case{{{300, 130}, {300, 57}}, 1}}) {
    Sample sample{std::to_string(c.shapes.size()) + " on axis " + std::to_string(c.axis),
                  {},
                  [axis = c.axis](const Tensors& t) { return concat(t, axis); },
                  [axis = c.axis](const Plains& p) { return joined(p, axis); }};
    for (const Dims& shape : c.shapes) {
      if (c.shapes.size() < 10) sample.label += " " + text(shape);
      sample.inputs.push_back(normal(shape, 50 + sample.inputs.size()));
    }
    row.samples.push_back(std::move(sample));
  }
  row.errors = {{[] {
                   concat({zeros({2, 3}), zeros({3, 4})}, 0);
                 },
                 "[concat]"},
                {[] { concat(std::span<const Tensor>(), 0); }, "[concat]"},
                {[] {
                   concat({zeros({2}), zeros({2}, DType::f64)}, 0);
                 },
                 "[concat]"},
                {[] {
                   concat({zeros({2}), zeros({2})}, 1);
                 },
                 "axis 1 is outside"}};
  return row;
}

Row stack_row() {
  Row row{"stack", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{{{}, 0},
                                                                     {{3}, 0},
                                                                     {{3}, 1},
                                                                     {{3, 3}, 1},
                                                                     {{2, 5}, -1},
                                                                     {{2, 0}, 0},
                                                                     {{150, 131}, 1},
                                                                     {{150, 131}, -1}})
    row.samples.push_back({text(shape) + " axis " + std::to_string(axis),
                           {normal(shape, 60), normal(shape, 61)},
                           [axis = axis](const Tensors& t) { return stack(t, axis); },
                           [axis = axis](const Plains& p) {
                             Plains parts = p;
                             for (Plain& part : parts)
                               part.shape.insert(axis < 0 ? axis + part.shape.rank() + 1 : axis, 1);
                             return joined(parts, axis);
                           }});
  row.errors = {{[] {
                   stack({zeros({2}), zeros({3})}, 0);
                 },
                 "["},
                {[] {
                   stack({zeros({2}), zeros({2})}, 2);
                 },
                 "["},
                {[] {
                   stack({zeros({2}), zeros({2})}, -3);
                 },
                 "[unsqueeze] (2) cannot get a new axis at -3"}};
  return row;
}

Row pad_row() {
  Row row{"pad", {}};
  struct Case {
    Dims shape;
    int axis;
    Size before, after;
  };
  for (const Case& c : {Case{{3}, 0, 1, 2}, Case{{3, 3}, 1, 1, 0}, Case{{3, 3}, 0, 0, 0},
                        Case{{2, 17}, -1, 3, 4}, Case{{2, 3, 4}, 1, 0, 2}, Case{{0, 2}, 0, 1, 1},
                        Case{{300, 131}, 1, 3, 200}, Case{{40, 7, 131}, 0, 5, 1}})
    row.samples.push_back({text(c.shape),
                           {normal(c.shape, 62)},
                           [c](const Tensors& t) { return pad(t[0], c.axis, c.before, c.after, 0.5); },
                           [c](const Plains& p) {
                             Dims shape = p[0].shape;
                             const int a = c.axis < 0 ? c.axis + shape.rank() : c.axis;
                             const Size n = shape[a];
                             shape[a] += c.before + c.after;
                             return generate(shape, [&](const Index& i) {
                               const Size at = entry(i, a) - c.before;
                               return at < 0 || at >= n ? 0.5 : pick(p[0], with(i, a, at));
                             });
                           }});
  row.errors = {{[] { pad(zeros({2}), 0, -1, 0); }, "[pad]"},
                {[] { pad(zeros({2}), 1, 0, 0); }, "[pad] axis 1 is outside"}};
  return row;
}

Row flip_row() {
  Row row{"flip", {}};
  for (const auto& [shape, axis] : std::vector<std::pair<Dims, int>>{{{1}, 0},
                                                                     {{5}, 0},
                                                                     {{3, 3}, 0},
                                                                     {{3, 3}, 1},
                                                                     {{2, 3, 9}, -2},
                                                                     {{2, 33}, -1},
                                                                     {{0}, 0},
                                                                     {{130, 301}, 0},
                                                                     {{130, 301}, 1},
                                                                     {{30'001}, 0}})
    row.samples.push_back({text(shape),
                           {normal(shape, 63)},
                           [axis = axis](const Tensors& t) { return flip(t[0], axis); },
                           [axis = axis](const Plains& p) {
                             return along(p[0], axis, [](std::vector<double> x) {
                               return std::vector<double>(x.rbegin(), x.rend());
                             });
                           }});
  row.errors = {{[] { flip(zeros({2}), 1); }, "[flip] axis 1 is outside"}};
  return row;
}

Row roll_row() {
  Row row{"roll", {}};
  struct Case {
    Dims shape;
    Size shift;
    int axis;
  };
  for (const Case& c :
       {Case{{5}, 2, 0}, Case{{5}, -2, 0}, Case{{5}, 13, 0}, Case{{5}, -11, 0}, Case{{3, 4}, 1, 0},
        Case{{3, 4}, 1, -1}, Case{{2, 3, 9}, -1, -2}, Case{{2, 33}, 17, 1}, Case{{130, 301}, 77, 1}})
    row.samples.push_back({text(c.shape) + " by " + std::to_string(c.shift),
                           {normal(c.shape, 67)},
                           [c](const Tensors& t) { return roll(t[0], c.shift, c.axis); },
                           [c](const Plains& p) {
                             return along(p[0], c.axis, [&c](const std::vector<double>& x) {
                               std::vector<double> y(x.size());
                               const auto n = static_cast<Size>(x.size());
                               for (Size i = 0; i < n; ++i)
                                 y[static_cast<std::size_t>(((i + c.shift) % n + n) % n)] =
                                     x[static_cast<std::size_t>(i)];
                               return y;
                             });
                           }});
  row.errors = {{[] { roll(zeros({2}), 1, 1); }, "[roll] axis 1 is outside"}};
  return row;
}

Row embedding_row() {
  Row row{"embedding", {}};
  struct Case {
    Dims table;
    std::vector<std::int64_t> ids;
    Dims ids_shape;
  };
  const auto many_ids = [](const Dims& table, const Dims& ids_shape) {
    return Case{table, drawn_ids(ids_shape.count(), table[0]), ids_shape};
  };
  for (const Case& c : {Case{{5, 3}, {0, 4, 2, 2}, {4}}, Case{{3, 3}, {2, 1, 1}, {3}},
                        Case{{4, 17}, {3, 0, 3, 1, 2, 3}, {2, 3}}, Case{{5, 2}, {1}, {}},
                        Case{{4, 2, 3}, {1, 1}, {2}}, Case{{6}, {5, 0, 5}, {3}},
                        many_ids({50, 211}, {30, 17}), many_ids({9, 8300}, {11}), many_ids({3, 33000}, {5}),
                        Case{{4, 0}, {3, 1}, {2}}, Case{{4, 3}, {}, {0}}, many_ids({3000, 3}, {9001})}) {
    const Indices ids(c.ids, c.ids_shape);
    row.samples.push_back({text(c.table),
                           {normal(c.table, 64)},
                           [ids](const Tensors& t) { return embedding(t[0], ids); },
                           [c](const Plains& p) {
                             Dims shape = c.ids_shape;
                             for (int axis = 1; axis < c.table.rank(); ++axis) shape.push_back(c.table[axis]);
                             return generate(shape, [&](const Index& i) {
                               Size flat = 0;
                               for (int axis = 0; axis < c.ids_shape.rank(); ++axis)
                                 flat = flat * c.ids_shape[axis] + entry(i, axis);
                               Index from{c.ids[static_cast<std::size_t>(flat)]};
                               from.insert(from.end(), i.begin() + c.ids_shape.rank(), i.end());
                               return pick(p[0], from);
                             });
                           }});
  }
  row.covers = {"scatter_rows"};
  row.errors = {{[] {
                   embedding(zeros({3, 2}), {0, 3});
                 },
                 "[embedding]"},
                {[] {
                   embedding(zeros({3, 2}), {-1});
                 },
                 "[embedding]"}};
  return row;
}

struct GatherCase {
  Dims shape;
  int axis;
  std::vector<std::int64_t> ids;
  Dims ids_shape;
};
const std::vector<GatherCase>& gather_cases() {
  static const std::vector<GatherCase> cases{{{5}, 0, {4, 0, 0}, {3}},
                                             {{3, 3}, 0, {2, 0, 1, 1, 1, 2, 0, 0, 2}, {3, 3}},
                                             {{3, 4}, 1, {3, 0, 1, 1, 2, 2}, {3, 2}},
                                             {{2, 3, 2}, -2, {0, 2, 1, 1, 2, 2, 0, 1}, {2, 2, 2}},
                                             {{2, 9}, 1, {8, 0, 3, 3, 7, 1, 0, 4, 5, 6}, {2, 5}},
                                             {{90, 7, 30}, 0, drawn_ids(40 * 7 * 30, 90), {40, 7, 30}},
                                             {{200, 70}, -1, drawn_ids(200 * 130, 70), {200, 130}}};
  return cases;
}

Row gather_row() {
  Row row{"gather", {}};
  for (const GatherCase& c : gather_cases()) {
    const Indices ids(c.ids, c.ids_shape);
    row.samples.push_back({text(c.shape),
                           {normal(c.shape, 65)},
                           [ids, axis = c.axis](const Tensors& t) { return gather(t[0], axis, ids); },
                           [c](const Plains& p) {
                             std::size_t k = 0;
                             return generate(c.ids_shape, [&](const Index& i) {
                               return pick(p[0], with(i, c.axis, c.ids[k++]));
                             });
                           }});
  }
  row.errors = {{[] { gather(zeros({3}), 0, {3}); }, "[gather]"},
                {[] {
                   gather(zeros({3, 2}), 0, {0});
                 },
                 "[gather]"}};
  return row;
}

Row scatter_add_row() {
  Row row{"scatter_add", {}};
  for (const GatherCase& c : gather_cases()) {
    const Indices ids(c.ids, c.ids_shape);
    row.samples.push_back(
        {text(c.shape),
         {normal(c.shape, 66), normal(c.ids_shape, 67)},
         [ids, axis = c.axis](const Tensors& t) { return scatter_add(t[0], axis, ids, t[1]); },
         [c](const Plains& p) {
           Plain y = p[0];
           std::size_t k = 0;
           generate(c.ids_shape, [&](const Index& i) {
             Size place = 0;
             const Index to = with(i, c.axis, c.ids[k]);
             for (int axis = 0; axis < c.shape.rank(); ++axis)
               place = place * c.shape[axis] + to[static_cast<std::size_t>(axis)];
             y.v[static_cast<std::size_t>(place)] += p[1].v[k++];
             return 0.0;
           });
           return y;
         }});
  }
  row.errors = {{[] { scatter_add(zeros({3}), 0, {3}, zeros({1})); }, "[scatter_add]"},
                {[] {
                   scatter_add(zeros({3}), 0, {1, 2}, zeros({1}));
                 },
                 "[scatter_add]"}};
  return row;
}

}  // namespace

Rows join_rows() {
  return {concat_row(), stack_row(),     pad_row(),    flip_row(),
          roll_row(),   embedding_row(), gather_row(), scatter_add_row()};
}

}  // namespace tapestry::table
