// 1.5 engine_broadcast: a row added to every row, and its gradient
// implement, 25 minutes, piece broadcast.hpp
//
// A bias (3) is added to each row of a batch (2, 3): missing axes are put in front, and where a size is 1 its numbers
// are repeated. So (2, 3) + (3), (2, 3) + (2, 1) and (2, 3) + (1) all have the shape (2, 3). The way back is a sum:
// a number that was used many times gets the sum of the gradients from all its places.
//
// Write places(from, to): for each number of an array of shape `to`, in order, which number of an array of shape `from`
// stands there. places({3}, {2, 3}) is {0, 1, 2, 0, 1, 2}, places({2, 1}, {2, 3}) is {0, 0, 0, 1, 1, 1}. Then spread and
// fold are one loop each.
#include "engine/tape.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

inline std::vector<std::size_t> places(const std::vector<int>& from, const std::vector<int>& to) {
  std::vector<std::size_t> all(filled(to, 0).data.size());
  const std::size_t missing = to.size() - from.size();  // axes that only `to` has; they stand in front
  //[ places, about ten lines
  //: return not_written_yet();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t rest = i, step = 1;  // step: how far apart neighbours of this axis are in `from`
    for (std::size_t axis = to.size(); axis-- > missing;) {  // the last axis moves fastest
      const auto size = static_cast<std::size_t>(from[axis - missing]);
      const auto index = rest % static_cast<std::size_t>(to[axis]);
      if (size > 1) all[i] += index * step;  // of a size 1 there is only number 0
      step *= size;
      rest /= static_cast<std::size_t>(to[axis]);
    }
  }
  return all;
  //]
}

/// x repeated until it has the shape.
inline Array spread(const Array& x, const std::vector<int>& shape) {
  const std::vector<std::size_t> from = places(x.shape, shape);
  Array y = filled(shape, 0);
  //[ one loop
  //: not_written_yet();
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = x.data[from[i]];
  //]
  return y;
}

/// The way back: from the gradient of spread(x) to that of x, which has this shape.
inline Array fold(const Array& gradient, const std::vector<int>& shape) {
  const std::vector<std::size_t> to = places(shape, gradient.shape);
  Array x = filled(shape, 0);
  //[ one loop
  //: not_written_yet();
  for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] += gradient.data[i];
  //]
  return x;
}

inline Value spread(const Value& x, const std::vector<int>& shape) {
  if (x.array().shape == shape) return x;
  const std::vector<int> was = x.array().shape;
  return x.tape->record(spread(x.array(), shape), {x},
                        [was](const Array& gradient) { return std::vector{fold(gradient, was)}; });
}
/// Sums x down to the shape: (2, 3) to (2, 1) adds up each row.
inline Value sum_to(const Value& x, const std::vector<int>& shape) {
  const std::vector<int> was = x.array().shape;
  return x.tape->record(fold(x.array(), shape), {x},
                        [was](const Array& gradient) { return std::vector{spread(gradient, was)}; });
}

/// The shape that both can be repeated to.
inline std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> shape = a.size() < b.size() ? b : a;
  const std::vector<int>& shorter = a.size() < b.size() ? a : b;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    int& size = shape[shape.size() - 1 - i];
    if (size == 1) size = shorter[shorter.size() - 1 - i];
  }
  return shape;
}

inline Value operator+(const Value& a, const Value& b) {
  const std::vector<int> shape = common(a.array().shape, b.array().shape);
  return add(spread(a, shape), spread(b, shape));
}
inline Value operator*(const Value& a, const Value& b) {
  const std::vector<int> shape = common(a.array().shape, b.array().shape);
  return multiply(spread(a, shape), spread(b, shape));
}
inline Value operator*(const Value& a, double b) { return a * a.tape->leaf({{1}, {b}}); }
inline Value operator-(const Value& a, const Value& b) { return a + b * -1.0; }

}  // namespace engine

// hint: Number i of an array of shape (2, 3) stands in row i / 3 and column i % 3. Which row and column of `from` is
//   that, if from is (2, 1)? And which number of it, counted row by row?
// hint: Go through the axes of `to` from the last to axis `missing`. The index on an axis is rest % size, and then rest
//   becomes rest / size. Each index counts ____ numbers of `from`, or nothing if from's size there is 1.
// hint: `step` begins with 1 and is multiplied by from's size after each axis; all[i] += index · step where that
//   size is more than 1. In spread read x.data[from[i]], in fold add to x.data[to[i]].
//
// wrong: fold keeps one gradient of each number. A bias that is added to two rows moves both: what has to be done with
//   the two gradients that it gets?
// - for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] += gradient.data[i];
// + for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] = gradient.data[i];
// wrong: The index is used where the size is 1 as well, so it walks out of its row. Of an axis with the size 1 there is
//   only number 0: look at places({2, 1}, {2, 3}).
// - if (size > 1) all[i] += index * step;
// + all[i] += index * step;
// wrong: Every axis counts with a step of 1. In an array (2, 3) the neighbour in the same column is three numbers
//   on: look at places({2, 3}, {2, 3}).
// - step *= size;
// + step *= 1;
// wrong: The step grows by the size in `to`. It says how far apart two numbers are in `from`, which may be smaller:
//   look at places({2, 1}, {2, 3}), where the second row is one number on.
// - step *= size;
// + step *= static_cast<std::size_t>(to[axis]);

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Tape, engine::Value;
  const auto found = [&](const std::vector<int>& from, const std::vector<int>& to,
                         const std::vector<double>& expected, const std::string& name) {
    const std::vector<std::size_t> all = engine::places(from, to);
    judge.same(std::vector<double>(all.begin(), all.end()), expected, name);
  };
  judge.claim("knows which number stands where", [&] {
    found({2, 3}, {2, 3}, {0, 1, 2, 3, 4, 5}, "places({2, 3}, {2, 3})");
    found({2, 1}, {2, 3}, {0, 0, 0, 1, 1, 1}, "places({2, 1}, {2, 3})");
    found({3}, {2, 3}, {0, 1, 2, 0, 1, 2}, "places({3}, {2, 3})");
    found({1, 2}, {2, 2, 2}, {0, 1, 0, 1, 0, 1, 0, 1}, "places({1, 2}, {2, 2, 2})");
    found({2, 1, 2}, {2, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3}, "places({2, 1, 2}, {2, 2, 2})");
  });
  judge.claim("repeats numbers, and adds their gradients up", [&] {
    judge.example("x = (1, 2) repeated to three rows");
    judge.same(engine::spread(engine::Array{{2}, {1, 2}}, {3, 2}).data, {1, 2, 1, 2, 1, 2},
               "spread(x, {3, 2})");
    judge.same(engine::fold(engine::Array{{3, 2}, {1, 2, 3, 4, 5, 6}}, {2}).data, {9, 12},
               "fold of ((1, 2), (3, 4), (5, 6)) to {2}");
  });
  judge.claim("agrees with Tapestry for all shapes that go together", [&] {
    judge.each_size({{"blocks", 1, 2}, {"rows", 1, 3}, {"columns", 1, 4}, {"variant", 0, 4, Range::choice}},
                    [&](const Sizes& n) {
                      const std::vector<std::pair<Dims, Dims>> shapes{{{n[1], n[2]}, {n[2]}},
                                                                      {{n[1], 1}, {1, n[2]}},
                                                                      {{n[0], n[1], n[2]}, {n[1], 1}},
                                                                      {{1}, {n[0], n[1], n[2]}},
                                                                      {{n[0], 1, n[2]}, {n[1], n[2]}}};
                      const auto& [a, b] = shapes[static_cast<std::size_t>(n[3])];
                      grader::agree<Tape>(
                          judge, {judge.normal(a), judge.normal(b)},
                          [](const std::vector<Value>& in) { return in[0] * in[1] - in[1] * 0.5; },
                          [](const std::vector<Tensor>& in) { return in[0] * in[1] - in[1] * 0.5; });
                    });
  });
  judge.claim("sums down to a shape", [&] {
    judge.each_size({{"rows", 1, 3}, {"columns", 1, 4}}, [&](const Sizes& n) {
      grader::agree<Tape>(
          judge, {judge.normal({n[0], n[1]})},
          [&](const std::vector<Value>& in) {
            return engine::sum_to(in[0], {static_cast<int>(n[0]), 1});
          },
          [](const std::vector<Tensor>& in) { return sum(in[0], {-1}, Keep::yes); });
    });
  });
}
