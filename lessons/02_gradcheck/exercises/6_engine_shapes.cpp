// 2.6 engine_shapes: Permute and stack for your engine
// derive, 20 minutes, piece shapes.hpp
//
// Some ops only move elements. permute(x, {2, 0, 1}) makes axis 2 of x the first axis, axis 0 the second and axis 1 the
// third. Multi-head attention needs such a permutation. stack() joins T arrays (B, d), the states of T steps, to one
// array (B, T, d). The rule of such an op moves each element's gradient back to the position from which the element
// came.
//
// First write permuted(). Then write the rule of permute() with a call of permuted(). Which order reverses `order`?
// Finally, write the rule for stack(). In an array of shape (I, J, L), the element with the indices (i, j, l) is stored
// at (i · J + j) · L + l.
#include "engine/gradcheck.hpp"
#include "lessons/grader/answer.hpp"

namespace engine {

/// Returns the same elements in the same order with a new shape.
inline Value reshape(const Value& x, const std::vector<int>& shape) {
  const std::vector<int> was = x.array().shape;
  return x.tape->record({shape, x.array().data}, {x}, [was](const Array& gradient) {
    return std::vector<Array>{{was, gradient.data}};
  });
}

/// Returns x with its axes in a new order: axis k of the result is axis order[k] of x.
inline Array permuted(const Array& x, const std::vector<int>& order) {
  const std::size_t axes = order.size();
  Array y = x;
  for (std::size_t k = 0; k < axes; ++k) y.shape[k] = x.shape[static_cast<std::size_t>(order[k])];
  std::vector<std::size_t> steps(axes, 1);  // the strides of x: the distance between neighbours on each axis
  for (std::size_t axis = axes - 1; axis-- > 0;)
    steps[axis] = steps[axis + 1] * static_cast<std::size_t>(x.shape[axis + 1]);
  //[ each element of y, about seven lines
  //: not_written_yet();
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    std::size_t rest = i, from = 0;
    for (std::size_t k = axes; k-- > 0;) {  // an index on axis k of y is an index on axis order[k] of x
      from += rest % static_cast<std::size_t>(y.shape[k]) * steps[static_cast<std::size_t>(order[k])];
      rest /= static_cast<std::size_t>(y.shape[k]);
    }
    y.data[i] = x.data[from];
  }
  //]
  return y;
}

inline Value permute(const Value& x, const std::vector<int>& order) {
  const Rule rule = [order](const Array& gradient) -> std::vector<Array> {
    //[ the rule, about three lines
    //: return not_written_yet();
    std::vector<int> back(order.size());
    for (std::size_t k = 0; k < order.size(); ++k)
      back[static_cast<std::size_t>(order[k])] = static_cast<int>(k);  // axis order[k] of x went to k
    return {permuted(gradient, back)};
    //]
  };
  return x.tape->record(permuted(x.array(), order), {x}, rule);
}

/// Stacks T arrays (B, d) into one array (B, T, d).
inline Value stack(const std::vector<Value>& steps) {
  const std::size_t count = steps.size();
  const auto rows = static_cast<std::size_t>(steps[0].array().shape[0]),
             width = static_cast<std::size_t>(steps[0].array().shape[1]);
  Array y = filled({static_cast<int>(rows), static_cast<int>(count), static_cast<int>(width)}, 0);
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t j = 0; j < width; ++j)
        y.data[(row * count + t) * width + j] = steps[t].array().data[row * width + j];
  const std::vector<int> shape = steps[0].array().shape;
  const Rule rule = [=](const Array& gradient) {
    std::vector<Array> parts(count, filled(shape, 0));  // one gradient for each step
    //[ three loops
    //: not_written_yet();
    for (std::size_t t = 0; t < count; ++t)
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < width; ++j)
          parts[t].data[row * width + j] = gradient.data[(row * count + t) * width + j];
    //]
    return parts;
  };
  return steps[0].tape->record(y, steps, rule);
}

}  // namespace engine

// hint: Let x have the shape (2, 3), and let order be {1, 0}. Then y is the transpose of x, of shape (3, 2). Element 1
//   of y is in row 0, column 1. In which row and column of x is this element?
// hint: Compute the indices of element i of y, from the last axis to the first, as in exercise 1.5. One step on axis k
//   of y is a step of steps[____] elements in x.
// hint: With order {2, 0, 1}, axis 0 of the gradient must become axis 2 of the result, so back[2] = 0. In general,
//   back[order[k]] = k. In the rule for stack(), swap the two sides of the forward pass's assignment.
//
// wrong: You permute the gradient by the same order again. The same order reverses a transpose, but not {2, 0, 1}. From
//   which axis of x did axis 0 of y come?
// - back[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
// + back[k] = order[k];
// wrong: You use the index on axis k of y as an index on axis k of x. Use it as an index on axis order[k] of x.
// - from += rest % static_cast<std::size_t>(y.shape[k]) * steps[static_cast<std::size_t>(order[k])];
// + from += rest % static_cast<std::size_t>(y.shape[k]) * steps[k] % x.data.size();
// wrong: You divide by the sizes of x's axes. The index i counts the elements of y, so divide by the sizes of y's axes.
// - rest /= static_cast<std::size_t>(y.shape[k]);
// + rest /= static_cast<std::size_t>(x.shape[k]);
// wrong: Your rule returns the gradient of the first step for every step. Step t has index t on the second axis.
// - parts[t].data[row * width + j] = gradient.data[(row * count + t) * width + j];
// + parts[t].data[row * width + j] = gradient.data[row * count * width + j];
// wrong: You index the gradient as if its shape were (T, B, d). In an array (B, T, d), all steps of one row follow each
//   other.
// - parts[t].data[row * width + j] = gradient.data[(row * count + t) * width + j];
// + parts[t].data[row * width + j] = gradient.data[(t * rows + row) * width + j];

//= judge
#include <fmt/ranges.h>

#include "lessons/grader/judge/engine.hpp"

void judge(Judge& judge) {
  using engine::Array, engine::Tape, engine::Value;
  judge.claim("moves the elements of an array", [&] {
    judge.example("((1, 2, 3), (4, 5, 6)) with the order {1, 0}");
    judge.same(engine::permuted(Array{{2, 3}, {1, 2, 3, 4, 5, 6}}, {1, 0}).data, {1, 4, 2, 5, 3, 6},
               "its transpose");
    judge.example("the numbers 0 to 11 in the shape (2, 1, 6), with the order {2, 0, 1}");
    judge.same(engine::permuted(Array{{2, 1, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}, {2, 0, 1}).data,
               {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}, "the result, of shape (6, 2, 1)");
  });
  judge.claim("agrees with Tapestry for several orders", [&] {
    judge.each_size(
        {{"order", 0, 4, Range::choice}, {"I", 1, 2}, {"J", 1, 3}, {"L", 1, 4}}, [&](const Sizes& n) {
          const std::vector<std::vector<int>> orders{{1, 0, 2}, {2, 0, 1}, {1, 2, 0}, {0, 2, 1}, {2, 1, 0}};
          const std::vector<int>& order = orders[static_cast<std::size_t>(n[0])];
          judge.example(fmt::format("the order {{{}}}, and x of shape ({}, {}, {})", fmt::join(order, ", "),
                                    n[1], n[2], n[3]));
          grader::agree<Tape>(
              judge, {judge.normal({n[1], n[2], n[3]})},
              [&](const std::vector<Value>& in) { return engine::permute(in[0], order); },
              [&](const std::vector<Tensor>& in) {
                return tapestry::permute(in[0], {order[0], order[1], order[2]});
              });
        });
  });
  judge.claim("stacks steps and returns the gradient of each step", [&] {
    judge.each_size({{"steps", 1, 3}, {"rows", 1, 3}, {"width", 1, 2}}, [&](const Sizes& n) {
      std::vector<Tensor> steps;
      for (Size t = 0; t < n[0]; ++t) steps.push_back(judge.normal({n[1], n[2]}));
      grader::agree<Tape>(
          judge, steps, [](const std::vector<Value>& in) { return engine::stack(in); },
          [](const std::vector<Tensor>& in) { return tapestry::stack(in, 1); });
    });
  });
}
