// Anomaly mode: finds the first op that produces a NaN, in the forward or the backward pass.
#include "core/tape/anomaly.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/ops/arithmetic.hpp"
#include "core/simd/rows/reduce.hpp"
#include "core/tape/extended_pass.hpp"
#include "core/tape/recorder.hpp"

namespace tapestry {

using detail::context;

AnomalyMode::AnomalyMode() : before_(std::exchange(context.anomaly, true)) {
  context.extended = detail::run_extended;
}
AnomalyMode::~AnomalyMode() { context.anomaly = before_; }

namespace detail {

namespace {

bool has_nan(const Tensor& x) {
  if (!x.defined() || !x.impl().buffer || x.count() == 0) return false;
  return dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T largest{};
    const Dims one = Dims::filled(x.rank(), 1);
    simd::reduce(simd::Reduction::max, View<T>{&largest, one, dense_strides(one)}, x.view<T>());
    return std::isnan(largest);
  });
}

/// Returns true if the results of an op are copies of its inputs' values, or zeros.
bool only_moves_values(const char* op) {
  constexpr std::string_view kMoving[] = {
      "concat",  "contiguous", "embed",  "embedding", "expand",  "flip", "gather",    "pad",
      "permute", "reshape",    "select", "slice",     "squeeze", "to",   "unsqueeze", "where"};
  return std::find(std::begin(kMoving), std::end(kMoving), op) != std::end(kMoving);
}

}  // namespace

void check_value(const char* op, CallSite at, const Tensor& x, const Tensor* const* inputs,
                 std::size_t count) {
  if (only_moves_values(op) || !has_nan(x)) return;
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text +=
        fmt::format("{}{}{}", i ? ", " : "", describe(*inputs[i]), has_nan(*inputs[i]) ? " with NaN" : "");
  fail("[{}] the result must contain no NaN, got one from the inputs {}; check their values ({}:{})", op,
       text, at.file, at.line);
}

void check_gradient(const Node& node, std::size_t argument, const Tensor& gradient, const char* what) {
  if (has_nan(gradient))
    fail(
        "[{}] the {} of argument {} must contain no NaN, got one; check the inputs of the op, whose result has "
        "shape {} ({}:{})",
        node.op, what, argument, to_string(node.shape), node.at.file, node.at.line);
}

void check_leaf_sum(const Tensor& sum, const Tensor& gradient) {
  if (has_nan(add(sum, gradient)))
    fail(
        "[backward] adding a gradient to the .grad() {} of a leaf must give no NaN, got one; look for infinities of "
        "opposite signs, or for a NaN in one of the two",
        describe(sum));
}

}  // namespace detail

}  // namespace tapestry
