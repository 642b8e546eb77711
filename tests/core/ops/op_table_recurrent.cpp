// Rows of core/ops/recurrent and additive.
#include <cmath>

#include "core/simd/matmul/matmul.hpp"
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

using List = std::vector<double>;
using Cell = List (*)(const double* gates, const List& state, const Plain& weight, const List& bias);

/// Σ_k weight[row, k] h[k] + bias[row]
double recurrent_part(const Plain& weight, const List& bias, const List& state, Size row) {
  double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(row)];
  for (Size k = 0; k < weight.shape[1]; ++k)
    sum += weight.v[static_cast<std::size_t>(row * weight.shape[1] + k)] * state[static_cast<std::size_t>(k)];
  return sum;
}

List gru(const double* gates, const List& state, const Plain& weight, const List& bias) {
  const Size H = weight.shape[1];
  List next;
  for (Size j = 0; j < H; ++j) {
    const double r = sigmoid_of(gates[j] + recurrent_part(weight, bias, state, j));
    const double z = sigmoid_of(gates[H + j] + recurrent_part(weight, bias, state, H + j));
    const double n = std::tanh(gates[2 * H + j] + r * recurrent_part(weight, bias, state, 2 * H + j));
    next.push_back((1 - z) * n + z * state[static_cast<std::size_t>(j)]);
  }
  return next;
}

List lstm(const double* gates, const List& state, const Plain& weight, const List& bias) {
  const Size H = weight.shape[1];
  List next(static_cast<std::size_t>(2 * H));
  for (Size j = 0; j < H; ++j) {
    const auto gate = [&](Size g) {
      return gates[g * H + j] + recurrent_part(weight, bias, state, g * H + j);
    };
    const double c = sigmoid_of(gate(1)) * state[static_cast<std::size_t>(H + j)] +
                     sigmoid_of(gate(0)) * std::tanh(gate(2));
    next[static_cast<std::size_t>(j)] = sigmoid_of(gate(3)) * std::tanh(c);
    next[static_cast<std::size_t>(H + j)] = c;
  }
  return next;
}

const List& bias_of(const Plains& p) {
  static const List none;
  return p.size() > 3 ? p[3].v : none;
}

List row_of(const Plain& x, Size b) {
  const Size width = x.shape.back();
  return List(x.v.begin() + static_cast<std::ptrdiff_t>(b * width),
              x.v.begin() + static_cast<std::ptrdiff_t>((b + 1) * width));
}

Reference step_reference(Cell cell) {
  return [cell](const Plains& p) {
    Plain y{p[1].shape, {}};
    for (Size b = 0; b < p[1].shape[0]; ++b) {
      const List next = cell(p[0].v.data() + b * p[0].shape[1], row_of(p[1], b), p[2], bias_of(p));
      y.v.insert(y.v.end(), next.begin(), next.end());
    }
    return y;
  };
}

Reference sequence_reference(Cell cell, std::vector<Size> lengths, bool reverse) {
  return [=](const Plains& p) {
    const Size batch = p[0].shape[0], time = p[0].shape[1], wide = p[0].shape[2], width = p[1].shape[1];
    Plain y = generate({batch, time, width}, [](const Index&) { return 0.0; });
    for (Size b = 0; b < batch; ++b) {
      List state = row_of(p[1], b);
      const Size length = lengths.empty() ? time : lengths[static_cast<std::size_t>(b)];
      for (Size s = 0; s < length; ++s) {
        const Size t = reverse ? length - 1 - s : s;
        state = cell(p[0].v.data() + (b * time + t) * wide, state, p[2], bias_of(p));
        std::copy(state.begin(), state.end(),
                  y.v.begin() + static_cast<std::ptrdiff_t>((b * time + t) * width));
      }
    }
    return y;
  };
}

using Step = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&);
using Run = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const ValidLengths&, bool);

Row step_row(const std::string& name, Step op, Cell cell, Size gates, Size states) {
  Row row{name, {}};
  for (const auto& [batch, hidden] : std::vector<std::pair<Size, Size>>{{1, 1},
                                                                        {3, 2},
                                                                        {2, 3},
                                                                        {2, 4},
                                                                        {3, 5},
                                                                        {1, 8},
                                                                        {2, 9},
                                                                        {2, 17},
                                                                        {2, 0},
                                                                        {0, 3},
                                                                        {211, 40},
                                                                        {3, 300},
                                                                        {1, 1030}})
    for (bool bias : {true, false}) {
      if (!bias && hidden >= 40) continue;
      if (hidden > 1000 && gates > 3) continue;  // one of them is long enough
      Sample sample{text({batch, hidden}) + (bias ? "" : " no bias"),
                    {normal({batch, gates * hidden}, 91), normal({batch, states * hidden}, 92),
                     uniform({gates * hidden, hidden}, 93, -0.7, 0.7)},
                    [op](const Tensors& t) { return op(t[0], t[1], t[2], t.size() > 3 ? t[3] : Tensor()); },
                    step_reference(cell)};
      if (bias) sample.inputs.push_back(uniform({gates * hidden}, 94, -0.5, 0.5));
      row.samples.push_back(std::move(sample));
    }
  row.f32_tolerance = 1e-5;
  row.errors = {{[op, gates] {
                   op(zeros({2, gates * 3}), zeros({2, 4}), zeros({gates * 3, 3}), zeros({gates * 3}));
                 },
                 "do not fit; with H units they must be"},
                {[op, gates, states] {
                   op(zeros({2, gates * 3}), zeros({3, states * 3}), zeros({gates * 3, 3}), {});
                 },
                 "do not fit"}};
  return row;
}

Row sequence_row(const std::string& name, Run op, Cell cell, Size gates, Size states) {
  Row row{name, {}};
  struct Case {
    Size batch, time, hidden;
    std::vector<Size> lengths;
    bool reverse, bias;
  };
  for (const Case& c :
       {Case{1, 1, 1, {}, false, true}, Case{2, 3, 2, {}, false, true}, Case{2, 3, 2, {}, true, false},
        Case{3, 4, 2, {4, 2, 1}, false, true}, Case{3, 4, 2, {2, 4, 3}, true, true},
        Case{2, 3, 2, {0, 3}, false, true}, Case{2, 2, 9, {}, false, true},
        Case{3, 3, 3, {3, 1, 2}, false, false}, Case{simd::kShortSide + 1, 2, 2, {}, false, true},
        Case{75, 4, 65, {}, false, true}, Case{5, 3, 70, {3, 0, 2, 1, 3}, true, true}}) {
    Sample sample{text({c.batch, c.time, c.hidden}) + (c.lengths.empty() ? "" : " with lengths") +
                      (c.reverse ? " reversed" : ""),
                  {normal({c.batch, c.time, gates * c.hidden}, 95), normal({c.batch, states * c.hidden}, 96),
                   uniform({gates * c.hidden, c.hidden}, 97, -0.7, 0.7)},
                  [op, c](const Tensors& t) {
                    return op(t[0], t[1], t[2], t.size() > 3 ? t[3] : Tensor(),
                              c.lengths.empty() ? ValidLengths() : ValidLengths(c.lengths), c.reverse);
                  },
                  sequence_reference(cell, c.lengths, c.reverse)};
    if (c.bias) sample.inputs.push_back(uniform({gates * c.hidden}, 98, -0.5, 0.5));
    row.samples.push_back(std::move(sample));
  }
  row.f32_tolerance = 1e-5;
  row.errors = {
      {[op, gates, states] {
         op(zeros({2, 5, gates * 3}), zeros({2, states * 3}), zeros({gates * 3, 3}), {}, {5, 6}, false);
       },
       "lengths"},
      {[op, gates, states] {
         op(zeros({2, 5, gates * 3}), zeros({2, states * 3}), zeros({gates * 3, 3}), {}, {5}, false);
       },
       "lengths"},
      {[op, gates, states] {
         op(zeros({2, gates * 3}), zeros({2, states * 3}), zeros({gates * 3, 3}), {}, {}, false);
       },
       "do not fit"}};
  return row;
}

Row additive_row() {
  Row row{"additive_score", {}};
  struct Case {
    Dims query, key;
    bool masked;
  };
  std::vector<Case> cases{{{1, 1}, {1, 1}, false},
                          {{3, 3}, {3, 3}, false},
                          {{2, 3, 4}, {2, 5, 4}, false},
                          {{2, 3, 4}, {2, 5, 4}, true},
                          {{2, 2, 3, 5}, {2, 2, 4, 5}, true},
                          {{2, 1, 6}, {2, 7, 6}, true},
                          {{2, 0, 3}, {2, 4, 3}, false},
                          {{2, 3, 4}, {2, 0, 4}, false},
                          {{2, 3, 0}, {2, 4, 0}, false}};
  for (Size n : kLengths)
    if (n > 1 && n < 40) cases.push_back({{2, n}, {3, n}, n % 2 == 0});
  cases.push_back({{13, 9, 33}, {13, 30, 33}, true});
  cases.push_back({{2, 40, 70}, {2, 90, 70}, false});
  for (const Case& c : cases) {
    Dims scores = c.query;
    scores.back() = c.key[c.key.rank() - 2];
    Plain bits = normal(scores, 101);
    for (std::size_t i = 0; i < bits.v.size(); ++i)
      bits.v[i] = !c.masked || bits.v[i] > -0.6 || i == 0 ? 1 : 0;
    const Mask mask = !c.masked ? Mask() : Mask::from(1, scores.count(), [&](Size, Size j) {
                                             return bits.v[static_cast<std::size_t>(j)] != 0;
                                           }).reshape(scores);
    row.samples.push_back({text(c.query) + " " + text(c.key) + (c.masked ? " masked" : ""),
                           {normal(c.query, 102), normal(c.key, 103), normal({c.query.back()}, 104)},
                           [mask](const Tensors& t) { return additive_score(t[0], t[1], t[2], mask); },
                           [bits](const Plains& p) {
                             return generate(bits.shape, [&](const Index& i) {
                               if (pick(bits, i) == 0) return 0.0;
                               const double *q = row_at(p[0], i), *k = row_at(p[1], with(i, -2, i.back()));
                               double sum = 0;
                               for (Size u = 0; u < p[2].shape[0]; ++u)
                                 sum += p[2].v[static_cast<std::size_t>(u)] * std::tanh(q[u] + k[u]);
                               return sum;
                             });
                           }});
  }
  row.f32_tolerance = 1e-5;
  row.errors = {{[] {
                   additive_score(zeros({2, 3, 4}), zeros({2, 5, 3}), zeros({4}));
                 },
                 "[additive_score]"},
                {[] {
                   additive_score(zeros({2, 3, 4}), zeros({2, 5, 4}), zeros({3}));
                 },
                 "[additive_score]"},
                {[] {
                   additive_score(zeros({2, 3, 4}), zeros({2, 5, 4}), zeros({4}), Mask::causal(3, 4));
                 },
                 "does not broadcast"}};
  return row;
}

}  // namespace

Rows recurrent_rows() {
  Rows rows{step_row(
                "gru_cell",
                [](const Tensor& g, const Tensor& h, const Tensor& w, const Tensor& b) {
                  return gru_step(g, h, w, b);
                },
                gru, 3, 1),
            step_row(
                "lstm_cell",
                [](const Tensor& g, const Tensor& h, const Tensor& w, const Tensor& b) {
                  return lstm_step(g, h, w, b);
                },
                lstm, 4, 2),
            sequence_row(
                "gru_sequence",
                [](const Tensor& g, const Tensor& h, const Tensor& w, const Tensor& b, const ValidLengths& l,
                   bool r) { return gru_sequence(g, h, w, b, l, r); },
                gru, 3, 1),
            sequence_row(
                "lstm_sequence",
                [](const Tensor& g, const Tensor& h, const Tensor& w, const Tensor& b, const ValidLengths& l,
                   bool r) { return lstm_sequence(g, h, w, b, l, r); },
                lstm, 4, 2),
            additive_row()};
  rows[1].equivalents = {{"arguments 0 and 1 exchanged",
                          "the input's part of a gate and the state's part are added: one gradient"}};
  return rows;
}

}  // namespace tapestry::table
