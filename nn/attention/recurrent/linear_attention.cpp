#include "nn/attention/recurrent/linear_attention.hpp"

#include <string>
#include <utility>

#include "core/core.hpp"

namespace tapestry {

namespace {

LinearAttentionOptions complete(LinearAttentionOptions options, const std::string& name) {
  if (options.width < 1 || options.heads < 1)
    fail("[linear_attention{}] width and heads must be at least 1, got {} and {}", name, options.width,
         options.heads);
  if (options.head_width == 0) {
    if (options.width % options.heads != 0)
      fail("[linear_attention{}] heads ({}) must divide width ({}); choose a divisor or set head_width", name,
           options.heads, options.width);
    options.head_width = options.width / options.heads;
  }
  if (options.value_head_width == 0) options.value_head_width = options.head_width;
  if (options.head_width < 1 || options.value_head_width < 1 || options.chunk < 1)
    fail("[linear_attention{}] head_width, value_head_width and chunk must be at least 1, got {}, {} and {}",
         name, options.head_width, options.value_head_width, options.chunk);
  if (options.rule == WriteRule::delta && options.features == KeyFeatures::positive)
    fail(
        "[linear_attention{}] features must be KeyFeatures::unit with the delta rule, got KeyFeatures::positive; the "
        "rule replaces values, so there is no sum of weights to divide by",
        name);
  return options;
}

/// (B, T, heads · d) → (B, heads, T, d), a view.
Tensor by_heads(const Tensor& x, Size heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor features_of(const Tensor& x, KeyFeatures features) {
  if (features == KeyFeatures::positive)
    return relu(x) + exp(minimum(x, scalar(0, x.dtype())));  // elu(x) + 1
  return x / sqrt(sum(x * x, {-1}, Keep::yes) + 1e-12);
}

}  // namespace

LinearAttention::LinearAttention(Parent parent, const LinearAttentionOptions& options)
    : Module(std::move(parent)),
      options_(complete(options, in_quotes())),
      query{{*this, "query"}, options_.width, options_.heads * options_.head_width, options_.bias},
      key{{*this, "key"}, options_.width, options_.heads * options_.head_width, options_.bias},
      value{{*this, "value"}, options_.width, options_.heads * options_.value_head_width, options_.bias},
      output{{*this, "output"}, options_.heads * options_.value_head_width, options_.width, options_.bias},
      gate_weight(options_.gate == Gate::yes
                      ? Parameter{*this, "gate_weight", {options_.heads, options_.width}, xavier}
                      : Parameter{}),
      gate_bias(options_.gate == Gate::yes ? Parameter{*this, "gate_bias", {options_.heads}, constant(4)}
                                           : Parameter{}),
      strength_weight(options_.rule == WriteRule::delta
                          ? Parameter{*this, "strength_weight", {options_.heads, options_.width}, xavier}
                          : Parameter{}),
      strength_bias(options_.rule == WriteRule::delta
                        ? Parameter{*this, "strength_bias", {options_.heads}, constant(2)}
                        : Parameter{}) {}

LinearAttendResult LinearAttention::operator()(const Tensor& x, const Tensor& state) const {
  if (x.rank() != 3 || x.size(2) != options_.width)
    fail("[linear_attention{0}] x must be (batch, time, {2}), got {1}", in_quotes(), describe(x),
         options_.width);
  const bool positive = options_.features == KeyFeatures::positive;
  const auto projected = [&](const Linear& layer) { return by_heads(layer(x), options_.heads); };
  const Tensor queries = features_of(projected(query), options_.features),
               keys = features_of(projected(key), options_.features);
  Tensor values = projected(value);
  // An extra column of ones, whose result is the sum of the weights.
  if (positive) values = concat({values, ones({x.size(0), options_.heads, x.size(1), 1}, x.dtype())}, -1);
  LinearAttendOptions how{.rule = options_.rule, .initial_state = state};
  if (gate_weight.defined()) how.log_decay = -softplus(-transpose(linear(x, gate_weight, gate_bias), 1, 2));
  if (strength_weight.defined())
    how.beta = sigmoid(transpose(linear(x, strength_weight, strength_bias), 1, 2));
  LinearAttendResult result = x.size(1) == 1 ? linear_attend_by_token(queries, keys, values, how)
                                             : linear_attend(queries, keys, values, how, options_.chunk);
  if (positive) {
    const Size e = options_.value_head_width;
    result.output = slice(result.output, -1, 0, e) / (slice(result.output, -1, e, e + 1) + 1e-6);
  }
  const Tensor together = transpose(result.output, 1, 2);  // (B, T, heads, e)
  result.output =
      output(reshape(together, {x.size(0), x.size(1), options_.heads * options_.value_head_width}));
  return result;
}

}  // namespace tapestry
