#include "nn/attention/multi_head.hpp"

#include <algorithm>

#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/views.hpp"
#include "nn/attention/masking.hpp"

namespace tapestry {

namespace {

/// Checks the options, replaces each 0 by its default, and sets attend.pair_shape.
MultiHeadOptions with_defaults(MultiHeadOptions options, const std::string& name) {
  if (options.width < 1 || options.heads < 1)
    fail("[multi_head{}] width and heads must be at least 1, got {} and {}", name, options.width,
         options.heads);
  if (options.head_width == 0) {
    if (options.width % options.heads != 0)
      fail("[multi_head{}] heads ({}) must divide width ({}); choose a divisor or set head_width", name,
           options.heads, options.width);
    options.head_width = options.width / options.heads;
  }
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  if (options.kv_heads < 0 || options.heads % options.kv_heads != 0)
    fail("[multi_head{}] kv_heads ({}) must divide heads ({}); choose a divisor", name, options.kv_heads,
         options.heads);
  if (options.value_head_width == 0) options.value_head_width = options.head_width;
  if (options.key_width == 0) options.key_width = options.width;
  if (options.value_width == 0) options.value_width = options.width;
  options.attend.pair_shape = {options.heads, options.head_width, options.value_head_width, options.causal};
  return options;
}

/// (B, T, groups · per_group · d) → (B, groups, T, d) if per_group is 1, and (B, groups, per_group, T, d) otherwise.
/// A view, because x is the dense result of a projection.
Tensor split_heads(const Tensor& x, Size groups, Size per_group) {
  const Size width = x.size(2) / (groups * per_group);
  if (per_group == 1) return transpose(reshape(x, {x.size(0), x.size(1), groups, width}), 1, 2);
  return permute(reshape(x, {x.size(0), x.size(1), groups, per_group, width}), {0, 2, 3, 1, 4});
}

/// Inverse of split_heads(): (B, heads…, T, d) → (B, T, heads · d). A view if the heads are interleaved in memory, as
/// matmul() returns them. Otherwise a copy, for example after zero_masked() has cleared the rows of queries that see no
/// key.
Tensor merge_heads(const Tensor& x) {
  const bool grouped = x.rank() == 5;
  const Tensor by_time = grouped ? permute(x, {0, 3, 1, 2, 4}) : transpose(x, 1, 2);
  const Size heads = x.size(1) * (grouped ? x.size(2) : 1);
  return reshape(by_time, {x.size(0), x.size(-2), heads * x.size(-1)});
}

/// Returns x (B, T, width) with zeros in the rows that no query of any head may see. The mask is (Tq, T) or
/// (B or 1, heads…, Tq, T).
Tensor zero_unseen_rows(const Mask& mask, const Tensor& x) {
  if (!mask.defined()) return x;
  Dims by_head{x.size(0)};
  while (by_head.rank() < mask.rank() - 2) by_head.push_back(1);
  by_head.push_back(x.size(1));
  by_head.push_back(x.size(2));
  const Mask live = visible_keys(mask, by_head);
  return live.defined() ? zero_masked(live.reshape({x.size(0), x.size(1), 1}), x) : x;
}

ScoreState state_at(const TokenPositions& positions) {
  ScoreState state;
  state.step = positions.first();
  state.positions = positions.list();
  return state;
}

void check_input(const Module& layer, const Tensor& x, Size width, const char* what) {
  if (x.rank() != 3 || x.size(2) != width)
    fail("[multi_head{0}] {1} must be (batch, time, {3}), got {2}", layer.in_quotes(), what, describe(x),
         width);
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Parent parent, const MultiHeadOptions& options)
    : Module(std::move(parent)),
      options_(with_defaults(options, in_quotes())),
      query{{*this, "query"}, options_.width, options_.heads * options_.head_width, options_.bias},
      key{{*this, "key"}, options_.key_width, options_.kv_heads * options_.head_width, options_.bias},
      value{{*this, "value"},
            options_.value_width,
            options_.kv_heads * options_.value_head_width,
            options_.bias},
      output{{*this, "output"}, options_.heads * options_.value_head_width, options_.width, options_.bias},
      attention{{*this, "attention"}, options_.score, options_.attend} {
  if (options_.output_gate)
    gate.emplace(Parent{*this, "gate"}, options_.width, options_.heads * options_.value_head_width,
                 Bias::yes);
  if (options_.qk_norm) {
    query_norm.emplace(Parent{*this, "query_norm"}, options_.head_width, options_.qk_norm_epsilon);
    key_norm.emplace(Parent{*this, "key_norm"}, options_.head_width, options_.qk_norm_epsilon);
  }
}

Mask MultiHeadAttention::with_head_axes(const Mask& mask) const {
  if (!mask.defined()) return mask;
  if (mask.rank() < 2 || mask.rank() > 4)
    fail(
        "[multi_head{}] mask must be (queries, keys), (batch, queries, keys) or (batch, heads, queries, "
        "keys), got {}",
        in_quotes(), to_string(mask.shape()));
  const Size groups = options_.kv_heads, per_group = options_.heads / groups;
  // One axis for the heads; two if they are grouped.
  const Mask pairs = mask.rank() == 3 ? mask.unsqueeze(1) : mask;
  if (per_group > 1 && mask.rank() == 4 && mask.shape()[1] == options_.heads)
    return mask.reshape({mask.shape()[0], groups, per_group, mask.shape()[2], mask.shape()[3]});
  return per_group > 1 && pairs.rank() == 4 ? pairs.unsqueeze(2) : pairs;
}

PreparedKV MultiHeadAttention::prepare(const Tensor& keys, const Tensor& values, const Mask& mask,
                                       const TokenPositions& positions) const {
  check_input(*this, keys, options_.key_width, "keys");
  check_input(*this, values, options_.value_width, "values");
  if (keys.size(0) != values.size(0) || keys.size(1) != values.size(1))
    fail("[multi_head{}] keys and values must agree in batch and time, got {} and {}", in_quotes(),
         describe(keys), describe(values));
  const Size groups = options_.kv_heads, per_group = options_.heads / groups;
  const Mask pairs = with_head_axes(mask);
  const Tensor visible_input = zero_unseen_rows(pairs, keys);
  const bool one_sequence = keys.ref().get() == values.ref().get();
  Tensor key_heads = split_heads(key(visible_input), groups, 1);
  if (key_norm) key_heads = (*key_norm)(key_heads);
  Tensor value_heads =
      split_heads(value(one_sequence ? visible_input : zero_unseen_rows(pairs, values)), groups, 1);
  if (per_group > 1) {
    key_heads = unsqueeze(key_heads, 2);
    value_heads = unsqueeze(value_heads, 2);
  }
  PreparedKV memory = attention.prepare_masked(key_heads, value_heads, pairs, positions);
  memory.data =
      attention.data_of(visible_input);  // numbers of each token for a score_mod, such as forget gates
  return memory;
}

PreparedKV MultiHeadAttention::with_mask(const PreparedKV& memory, const Mask& mask) const {
  if (!mask.defined()) return {memory.keys, memory.values, {}, {}, memory.data};
  const Mask pairs = with_head_axes(mask);
  const Mask key_mask = visible_keys(pairs, memory.keys.shape());
  return {zero_masked(key_mask, memory.keys), zero_masked(key_mask, memory.values), pairs,
          visible_queries(pairs), memory.data};
}

PreparedKV MultiHeadAttention::prepare(const Tensor& keys, const Tensor& values,
                                       const ValidLengths& lengths) const {
  if (!lengths.defined()) return prepare(keys, values);
  check_input(*this, keys, options_.key_width, "keys");
  if (lengths.shape()[0] != keys.size(0))
    fail("[multi_head{}] lengths must have one row for each batch row, got lengths {} and keys {}",
         in_quotes(), to_string(lengths.shape()), describe(keys));
  return prepare(keys, values, lengths.mask(keys.size(1)));
}

Tensor MultiHeadAttention::query_heads(const Tensor& queries, const PreparedKV& memory) const {
  check_input(*this, queries, options_.width, "queries");
  const Size batch = memory.keys.size(0);
  if (queries.size(0) != batch && queries.size(0) != 1 && batch != 1)
    fail(
        "[multi_head{}] queries and prepared keys must have the same batch size, or one of them must have batch "
        "size 1, got queries {} and keys with batch size {}",
        in_quotes(), describe(queries), batch);
  const Tensor heads = split_heads(query(queries), options_.kv_heads, options_.heads / options_.kv_heads);
  return query_norm ? (*query_norm)(heads) : heads;
}

Tensor MultiHeadAttention::project_output(const Tensor& heads, const Tensor& queries) const {
  const Tensor contexts = merge_heads(heads);
  return output(gate ? contexts * sigmoid((*gate)(queries)) : contexts);
}

Tensor MultiHeadAttention::context(const Tensor& queries, const PreparedKV& memory,
                                   const TokenPositions& positions) const {
  ScoreState state = state_at(positions);
  return project_output(attention.context(query_heads(queries, memory), memory, state), queries);
}

AttentionOutput MultiHeadAttention::operator()(const Tensor& queries, const PreparedKV& memory,
                                               const TokenPositions& positions) const {
  ScoreState state = state_at(positions);
  AttentionOutput result = attention(query_heads(queries, memory), memory, state);
  result.context = project_output(result.context, queries);
  if (result.weights.rank() == 5)  // (B, groups, heads / groups, Tq, Tk) → (B, heads, Tq, Tk)
    result.weights = reshape(
        result.weights, {result.weights.size(0), options_.heads, queries.size(1), result.weights.size(-1)});
  return result;
}

}  // namespace tapestry
