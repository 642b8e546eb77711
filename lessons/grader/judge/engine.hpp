// Comparison of the learner's engine (namespace engine, exercises 1.4 and on) with Tapestry, for judging its pieces.
#pragma once

#include <utility>
#include <vector>

#include "core/core.hpp"
#include "lessons/grader/judge/judge.hpp"

namespace tapestry::grader {

/// Converts an engine's shape.
inline Dims dims_of(const std::vector<int>& shape) {
  Dims dims;
  for (const int size : shape) dims.push_back(size);
  return dims;
}

/// Converts engine::Array, which the answer defines, to an f64 tensor.
template <class Array>
Tensor tensor_of(const Array& x) {
  return tensor(x.data, dims_of(x.shape), DType::f64);
}

/// Converts a tensor to engine::Array.
template <class Array>
Array array_of(const Tensor& x) {
  std::vector<int> shape;
  for (const Size size : x.shape()) shape.push_back(static_cast<int>(size));
  return {shape, x.to_vector()};
}

/// Compares values and gradients of an op in the engine with those in Tapestry, for one random cotangent. `ours`
/// takes a vector of engine::Value and `theirs` a vector of Tensor, made from the same inputs.
template <class Tape, class Ours, class Theirs>
void agree(Judge& judge, const std::vector<Tensor>& inputs, const Ours& ours, const Theirs& theirs,
           double tolerance = 1e-9) {
  Tape engine;
  std::vector<decltype(engine.leaf({}))> values;
  using Array = std::decay_t<decltype(engine.lines[0].array)>;
  for (const Tensor& input : inputs) values.push_back(engine.leaf(array_of<Array>(input)));
  const auto y = ours(values);
  const Array got = y.array();

  tapestry::Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) leaves.push_back(variable(input));
  const Tensor expected = theirs(leaves);
  judge.same(dims_of(got.shape), expected.shape(), "the result");
  judge.same(tensor_of(got), expected, "the result", tolerance);

  const Tensor cotangent = judge.normal(expected.shape());
  // The engine's backward starts from ones, so the gradients of Σ cotangent · y are the ones to compare.
  engine.backward(engine::multiply(y, engine.leaf(array_of<Array>(cotangent))));
  const std::vector<Tensor> wanted = tape.gradients(expected, cotangent, leaves);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name =
        inputs.size() == 1 ? "the gradient" : "the gradient of input " + std::to_string(i + 1);
    judge.same(dims_of(values[i].gradient().shape), wanted[i].shape(), name);
    judge.same(tensor_of(values[i].gradient()), wanted[i], name, tolerance);
  }
}

}  // namespace tapestry::grader
