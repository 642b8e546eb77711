#include "nn/attention/local.hpp"

#include "core/ops/arithmetic.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/views.hpp"
#include "core/tensor/create.hpp"

namespace tapestry {

namespace {

bool predicts(const Local& local) { return local.kind == Local::Kind::predictive; }

/// Returns S for each query, one past the last key that it may see: (…, Tq or 1, 1).
Tensor valid_lengths(const Mask& mask, Size keys, DType dtype) {
  if (!mask.defined()) return scalar(static_cast<double>(keys), dtype);
  Dims shape = mask.shape();
  shape.back() = keys;
  const std::vector<bool> may = mask.expand(shape, "local attention").to_vector();
  std::vector<double> lengths(keys == 0 ? 0 : may.size() / static_cast<std::size_t>(keys), 0.0);
  for (std::size_t i = 0; i < may.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(keys), key = i % static_cast<std::size_t>(keys);
    if (may[i]) lengths[row] = static_cast<double>(key + 1);
  }
  shape.back() = 1;
  return tensor(lengths, shape, dtype);
}

}  // namespace

Local local_m(Size reach) { return {.kind = Local::Kind::monotonic, .reach = reach}; }

Local local_p(Size reach, Size query_width, Size hidden) {
  return {.kind = Local::Kind::predictive, .reach = reach, .query_width = query_width, .hidden = hidden};
}

Tensor Window::fade(const Tensor& weights) const { return gaussian.defined() ? weights * gaussian : weights; }

LocalWindow::LocalWindow(Parent parent, const Local& local)
    : Module(std::move(parent)),
      weight(predicts(local) ? Parameter{*this, "weight", {local.hidden, local.query_width}, xavier}
                             : Parameter{}),
      vector(predicts(local) ? Parameter{*this, "vector", {local.hidden}, fan_in_uniform} : Parameter{}),
      local_(local) {
  if (local.reach < 0)
    fail("[local attention{}] reach D must be at least 0, got {}", in_quotes(), local.reach);
  if (predicts(local) && local.reach == 0)
    fail("[local attention{}] reach D must be at least 1 in local-p, got 0 (Gaussian of width σ = D/2 = 0)",
         in_quotes());
}

Window LocalWindow::operator()(const Tensor& query, const Tensor& scores, const Mask& mask, Size step) const {
  const Size queries = scores.size(-2), keys = scores.size(-1);
  const auto reach = static_cast<double>(local_.reach);
  Tensor p;  // (…, Tq, 1)
  if (predicts(local_)) {
    if (query.size(-1) != weight.size(1))
      fail("[local attention{}] query must fit W_p, got query {} and W_p {}; pass (…, time, {})", in_quotes(),
           describe(query), to_string(weight.shape()), weight.size(1));
    const Tensor part = sigmoid(sum(tanh(linear(query, weight)) * vector, {-1}, Keep::yes));
    p = valid_lengths(mask, keys, query.dtype()) * part;
  } else {
    const auto first = static_cast<double>(step), end = static_cast<double>(step + queries);
    p = unsqueeze(arange(first, end, 1, query.dtype()), -1);
  }
  const Tensor from_p = arange(0, static_cast<double>(keys), 1, query.dtype()) - p;
  const Mask far = less(scalar(reach, query.dtype()), abs(from_p.detach()));
  Dims column = scores.shape();
  column.back() = 1;
  Window window{mask & !far, squeeze(expand(p, column), -1)};
  if (predicts(local_)) window.gaussian = exp(from_p * from_p * (-2 / (reach * reach)));
  return window;
}

}  // namespace tapestry
