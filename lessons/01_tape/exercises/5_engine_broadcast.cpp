// 1.5 engine_broadcast: Broadcasting for your engine
// implement, 25 minutes, piece broadcast.hpp
//
// A bias of shape (3) is added to each row of a batch of shape (2, 3). Broadcasting makes the shapes equal: it puts
// missing axes in front, and repeats the elements along each axis of size 1. So (2, 3) + (3), (2, 3) + (2, 1) and
// (2, 3) + (1) all have the shape (2, 3). The backward pass sums: an element that was repeated gets the sum of the
// gradients of all its copies.
//
// Write source_indices(from, to). For each element of an array of shape `to`, in order, it returns the index of the
// element of an array of shape `from` that is copied there. For example, source_indices({3}, {2, 3}) is
// {0, 1, 2, 0, 1, 2}, and source_indices({2, 1}, {2, 3}) is {0, 0, 0, 1, 1, 1}.
//
// Then write broadcast_to(), which repeats the elements, and sum_to(), which sums their gradients. Each is one loop.
#include "engine/tape.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

inline std::vector<std::size_t> source_indices(const std::vector<int>& from, const std::vector<int>& to) {
  std::vector<std::size_t> all(filled(to, 0).data.size());
  const std::size_t missing = to.size() - from.size();  // the number of axes in front that only `to` has
  //[ source_indices, about ten lines
  //: return not_written_yet();
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t rest = i, step = 1;  // step: the distance of two neighbours along this axis in `from`
    for (std::size_t axis = to.size(); axis-- > missing;) {  // the last axis moves fastest
      const auto size = static_cast<std::size_t>(from[axis - missing]);
      const auto index = rest % static_cast<std::size_t>(to[axis]);
      if (size > 1) all[i] += index * step;  // along an axis of size 1, every index is 0
      step *= size;
      rest /= static_cast<std::size_t>(to[axis]);
    }
  }
  return all;
  //]
}

/// Repeats x until it has the given shape.
inline Array broadcast_to(const Array& x, const std::vector<int>& shape) {
  const std::vector<std::size_t> from = source_indices(x.shape, shape);
  Array y = filled(shape, 0);
  //[ one loop
  //: not_written_yet();
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] = x.data[from[i]];
  //]
  return y;
}

/// Undoes broadcast_to() for gradients: sums the gradient of broadcast_to(x) to the shape of x.
inline Array sum_to(const Array& gradient, const std::vector<int>& shape) {
  const std::vector<std::size_t> to = source_indices(shape, gradient.shape);
  Array x = filled(shape, 0);
  //[ one loop
  //: not_written_yet();
  for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] += gradient.data[i];
  //]
  return x;
}

inline Value broadcast_to(const Value& x, const std::vector<int>& shape) {
  if (x.array().shape == shape) return x;
  const std::vector<int> was = x.array().shape;
  return x.tape->record(broadcast_to(x.array(), shape), {x},
                        [was](const Array& gradient) { return std::vector{sum_to(gradient, was)}; });
}
/// Sums x to the given shape. From (2, 3) to (2, 1), it sums each row.
inline Value sum_to(const Value& x, const std::vector<int>& shape) {
  const std::vector<int> was = x.array().shape;
  return x.tape->record(sum_to(x.array(), shape), {x},
                        [was](const Array& gradient) { return std::vector{broadcast_to(gradient, was)}; });
}

/// Returns the shape to which both shapes broadcast.
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
  return add(broadcast_to(a, shape), broadcast_to(b, shape));
}
inline Value operator*(const Value& a, const Value& b) {
  const std::vector<int> shape = common(a.array().shape, b.array().shape);
  return multiply(broadcast_to(a, shape), broadcast_to(b, shape));
}
inline Value operator*(const Value& a, double b) { return a * a.tape->leaf({{1}, {b}}); }
inline Value operator-(const Value& a, const Value& b) { return a + b * -1.0; }

}  // namespace engine

// hint: Element i of an array of shape (2, 3) is in row i / 3 and column i % 3. If `from` is (2, 1), which row and
//   column of `from` is copied there? Which index is that, counted row by row?
// hint: Go through the axes of `to` from the last one to axis `missing`. The index along an axis is rest % size. Then
//   rest becomes rest / size. Each index moves ____ elements in `from`, or none if the axis has size 1 in `from`.
// hint: `step` starts at 1 and is multiplied by the size in `from` after each axis. Where that size is more than 1,
//   all[i] += index · step. broadcast_to copies x.data[from[i]], and sum_to adds to x.data[to[i]].
//
// wrong: sum_to keeps only one gradient of each element. A bias that is added to two rows changes both rows. How must
//   its two gradients be combined?
// - for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] += gradient.data[i];
// + for (std::size_t i = 0; i < to.size(); ++i) x.data[to[i]] = gradient.data[i];
// wrong: You also use the index along an axis of size 1, so the result leaves its row. Such an axis has only index 0.
//   Try source_indices({2, 1}, {2, 3}).
// - if (size > 1) all[i] += index * step;
// + all[i] += index * step;
// wrong: You use a step of 1 for every axis. In an array of shape (2, 3), the next element of a column is three
//   elements away. Try source_indices({2, 3}, {2, 3}).
// - step *= size;
// + step *= 1;
// wrong: You multiply the step by the size in `to`. The step is a distance in `from`, which may be smaller. Try
//   source_indices({2, 1}, {2, 3}), where the second row of `from` is one element away.
// - step *= size;
// + step *= static_cast<std::size_t>(to[axis]);

//= judge
#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Tape, engine::Value;
  const auto found = [&](const std::vector<int>& from, const std::vector<int>& to,
                         const std::vector<double>& expected, const std::string& name) {
    const std::vector<std::size_t> all = engine::source_indices(from, to);
    judge.same(std::vector<double>(all.begin(), all.end()), expected, name);
  };
  judge.claim("finds the index of each element", [&] {
    found({2, 3}, {2, 3}, {0, 1, 2, 3, 4, 5}, "source_indices({2, 3}, {2, 3})");
    found({2, 1}, {2, 3}, {0, 0, 0, 1, 1, 1}, "source_indices({2, 1}, {2, 3})");
    found({3}, {2, 3}, {0, 1, 2, 0, 1, 2}, "source_indices({3}, {2, 3})");
    found({1, 2}, {2, 2, 2}, {0, 1, 0, 1, 0, 1, 0, 1}, "source_indices({1, 2}, {2, 2, 2})");
    found({2, 1, 2}, {2, 2, 2}, {0, 1, 0, 1, 2, 3, 2, 3}, "source_indices({2, 1, 2}, {2, 2, 2})");
  });
  judge.claim("repeats elements, and sums their gradients", [&] {
    judge.example("x = (1, 2) repeated to three rows");
    judge.same(engine::broadcast_to(engine::Array{{2}, {1, 2}}, {3, 2}).data, {1, 2, 1, 2, 1, 2},
               "broadcast_to(x, {3, 2})");
    judge.same(engine::sum_to(engine::Array{{3, 2}, {1, 2, 3, 4, 5, 6}}, {2}).data, {9, 12},
               "sum_to of ((1, 2), (3, 4), (5, 6)) to {2}");
  });
  judge.claim("computes the same values and gradients as Tapestry for shapes that broadcast", [&] {
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
  judge.claim("sums an array to a shape", [&] {
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
