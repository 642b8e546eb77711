// Rows of core/ops/norm and dropout.
#include <cmath>

#include "tests/core/ops/op_table.hpp"
#include "tests/core/ops/philox.hpp"

namespace tapestry::table {

namespace {

Row layer_norm_row() {
  Row row{"layer_norm", {}};
  const auto plain = [](const Plain& p, const Plain* weight, const Plain* bias) {
    return by_rows(p.shape, [&](const Index& i, double* y) {
      const std::size_t n = static_cast<std::size_t>(p.shape.back());
      const double* x = row_at(p, i);
      double mean = 0, variance = 0;
      for (std::size_t k = 0; k < n; ++k) mean += x[k] / static_cast<double>(n);
      for (std::size_t k = 0; k < n; ++k) variance += (x[k] - mean) * (x[k] - mean) / static_cast<double>(n);
      for (std::size_t k = 0; k < n; ++k)
        y[k] = (x[k] - mean) / std::sqrt(variance + 1e-3) * (weight ? weight->v[k] : 1) +
               (bias ? bias->v[k] : 0);
    });
  };
  std::vector<Dims> shapes{{3, 3}, {2, 3, 5}, {4}, {0, 4}};
  for (Size n : kLengths)
    if (n > 1) shapes.push_back({3, n});
  // Many groups of rows that are not all in pairs or fours.
  for (const Dims& shape : {Dims{3001, 33}, Dims{87, 1100}}) shapes.push_back(shape);
  for (const Dims& shape : shapes) {
    const Dims last{shape.back()};
    row.samples.push_back({text(shape),
                           {normal(shape, 41), uniform(last, 42, 0.5, 1.5), normal(last, 43)},
                           [](const Tensors& t) { return layer_norm(t[0], t[1], t[2], 1e-3); },
                           [=](const Plains& p) { return plain(p[0], &p[1], &p[2]); }});
  }
  const auto x = normal({3, 5}, 51), five = uniform({5}, 52, 0.5, 1.5);
  row.samples.push_back({"neither weight nor bias",
                         {x},
                         [](const Tensors& t) { return layer_norm(t[0], {}, {}, 1e-3); },
                         [=](const Plains& p) { return plain(p[0], nullptr, nullptr); }});
  row.samples.push_back({"a weight alone",
                         {x, five},
                         [](const Tensors& t) { return layer_norm(t[0], t[1], {}, 1e-3); },
                         [=](const Plains& p) { return plain(p[0], &p[1], nullptr); }});
  row.samples.push_back({"a bias alone",
                         {x, five},
                         [](const Tensors& t) { return layer_norm(t[0], {}, t[1], 1e-3); },
                         [=](const Plains& p) { return plain(p[0], nullptr, &p[1]); }});
  row.f32_tolerance = 1e-5;
  row.errors = {{[] {
                   layer_norm(zeros({2, 3}), ones({4}), zeros({3}));
                 },
                 "[layer_norm]"},
                {[] {
                   layer_norm(zeros({2, 3}), ones({3}), zeros({3}, DType::f64));
                 },
                 "[layer_norm]"}};
  return row;
}

/// Element i stays if word i of the stream that is next is at least rate · 2³²: the words are those of
/// tests/core/ops/philox.hpp.
Row dropout_row() {
  Row row{"dropout", {}};
  for (const Dims& shape : {Dims{3, 3}, Dims{33}, Dims{2, 3, 4}, Dims{0}, Dims{70'003}, Dims{130, 257}}) {
    set_random(5);
    const Stream stream = next_stream();
    Plain kept{shape, {}};
    for (Size i = 0; i < shape.count(); ++i)
      kept.v.push_back(test::philox_word(stream.key(), stream.site(), static_cast<std::uint64_t>(i)) >=
                       0.4 * 4294967296.0);
    row.samples.push_back({text(shape),
                           {uniform(shape, 44, 0.5, 2)},
                           [](const Tensors& t) {
                             set_random(5);
                             return dropout(t[0], 0.4);
                           },
                           [kept](const Plains& p) {
                             return generate(p[0].shape, [&](const Index& i) {
                               return pick(kept, i) != 0 ? pick(p[0], i) / 0.6 : 0;
                             });
                           }});
  }
  row.errors = {{[] { dropout(zeros({2}), 1.5); }, "[dropout]"},
                {[] { dropout(zeros({2}), -0.1); }, "[dropout]"}};
  return row;
}

}  // namespace

Rows norm_rows() { return {layer_norm_row(), dropout_row()}; }

}  // namespace tapestry::table
