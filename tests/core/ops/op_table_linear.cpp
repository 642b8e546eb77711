// The row of core/attention/linear_attend: against the recurrence in loops.
#include <cmath>

#include "core/attention/linear_attend.hpp"
#include "tests/core/attention/recurrence.hpp"
#include "tests/core/ops/op_table.hpp"

namespace tapestry::table {

namespace {

/// Sizes, and what there is beside q, k and v.
struct LinearAttendCase {
  Dims leading;
  Size words, d, e, chunk;
  WriteRule rule = WriteRule::sum;
  bool gate = false, beta = false, state = false;
};

Dims dims(const Dims& leading, std::initializer_list<Size> rest) {
  Dims shape = leading;
  for (const Size size : rest) shape.push_back(size);
  return shape;
}

/// The recurrence, token by token. Returns the outputs, followed by the state.
Plain on_paper(const LinearAttendCase& c, const Plains& p) {
  recurrence::Text x{c.leading.count(),          c.words, c.d,    c.e,
                     c.rule == WriteRule::delta, p[0].v,  p[1].v, p[2].v};
  std::size_t next = 3;
  if (c.gate) x.log_decay = p[next++].v;
  if (c.beta) x.beta = p[next++].v;
  if (c.state) x.state = p[next++].v;
  const recurrence::Found found = recurrence::read(x);
  Plain result{dims(c.leading, {c.words + c.d, c.e}), {}};
  for (Size row = 0; row < x.batch; ++row) {
    const auto add = [&](const std::vector<double>& all, Size count) {
      result.v.insert(result.v.end(), all.begin() + row * count, all.begin() + (row + 1) * count);
    };
    add(found.output, c.words * c.e);
    add(found.last, c.d * c.e);
  }
  return result;
}

Sample sample_of(const LinearAttendCase& c) {
  const double width = 0.9 / std::sqrt(static_cast<double>(std::max<Size>(1, c.d)));
  Sample sample{fmt::format("{} words {} d {} e {} in {}, {}{}{}{}", text(c.leading), c.words, c.d, c.e,
                            c.chunk, c.rule == WriteRule::delta ? "delta" : "sum", c.gate ? ", gates" : "",
                            c.beta ? ", beta" : "", c.state ? ", a first state" : ""),
                {normal(dims(c.leading, {c.words, c.d}), 201),
                 uniform(dims(c.leading, {c.words, c.d}), 202, -1.7 * width, 1.7 * width),
                 normal(dims(c.leading, {c.words, c.e}), 203)},
                [c](const Tensors& t) {
                  LinearAttendOptions options{.rule = c.rule};
                  std::size_t next = 3;
                  if (c.gate) options.log_decay = t[next++];
                  if (c.beta) options.beta = t[next++];
                  if (c.state) options.initial_state = t[next++];
                  const LinearAttendResult found = linear_attend(t[0], t[1], t[2], options, c.chunk);
                  return concat({found.output, found.final_state}, -2);
                },
                [c](const Plains& p) { return on_paper(c, p); }};
  if (c.gate) sample.inputs.push_back(uniform(dims(c.leading, {c.words}), 204, -0.7, -0.01));
  if (c.beta) sample.inputs.push_back(uniform(dims(c.leading, {c.words}), 205, 0.2, 1.3));
  if (c.state) sample.inputs.push_back(normal(dims(c.leading, {c.d, c.e}), 206));
  return sample;
}

std::vector<LinearAttendCase> linear_attend_cases() {
  std::vector<LinearAttendCase> all;
  for (const WriteRule rule : {WriteRule::sum, WriteRule::delta}) {
    for (int kind = 0; kind < 8; ++kind)  // more words than one chunk, and a last one that is not full
      all.push_back({{2}, 5, 2, 3, 2, rule, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0});
    all.push_back({{}, 1, 1, 1, 64, rule, true, true, true});
    all.push_back({{2, 2}, 4, 3, 2, 4, rule, true, true, true});  // a chunk of all
    all.push_back({{2}, 4, 3, 2, 1, rule, true, true, true});     // chunks of one word
    all.push_back({{0}, 4, 2, 3, 3, rule, true, true, true});
    all.push_back({{2}, 0, 2, 3, 3, rule, false, false, true});
    all.push_back({{2}, 3, 2, 0, 2, rule, false, false, true});
    all.push_back({{2}, 3, 5, 9, 3, rule, true, false, false});  // SIMD tails
    all.push_back({{}, 7, 17, 5, 3, rule, true, true, true});
    // Beyond every block: chunks, ranges of chunks, and rows of the batch.
    all.push_back({{2}, 197, 33, 40, 64, rule, true, true, true});
    all.push_back({{150}, 9, 5, 4, 4, rule, true, true, true});
    all.push_back({{}, 1000, 8, 7, 32, rule, false, false, false});
  }
  return all;
}

}  // namespace

Rows linear_rows() {
  Row row{"linear_attend", {}};
  for (const LinearAttendCase& c : linear_attend_cases()) row.samples.push_back(sample_of(c));
  row.errors = {
      {[] {
         linear_attend(zeros({2, 3, 4}), zeros({2, 5, 4}), zeros({2, 3, 4}));
       },
       "[linear_attend] q (2,3,4), k (2,5,4) and v (2,3,4) must have shapes"},
      {[] {
         linear_attend(zeros({3, 4}), zeros({3, 4}), zeros({4, 4}));
       },
       "[linear_attend] q (3,4), k (3,4) and v (4,4) must have shapes"},
      {[] {
         linear_attend(zeros({3, 4}), zeros({3, 4}), zeros({3, 4}), {.log_decay = zeros({4})});
       },
       "[linear_attend] log_decay and beta must have one number for each token, shape (3)"},
      {[] {
         linear_attend(zeros({3, 4}), zeros({3, 4}), zeros({3, 2}), {.initial_state = zeros({2, 4})});
       },
       "[linear_attend] initial_state (2,4) must have shape (4,2)"},
      {[] {
         linear_attend(zeros({3, 4}), zeros({3, 4}), zeros({3, 4}), {}, 0);
       },
       "[linear_attend] chunk must be at least 1 token, got 0"}};
  row.f32_tolerance = 1e-5;
  return {row};
}

}  // namespace tapestry::table
