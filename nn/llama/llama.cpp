#include "nn/llama/llama.hpp"

#include <algorithm>
#include <cmath>

#include "core/attention/attend.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/join.hpp"
#include "core/ops/matmul.hpp"
#include "core/ops/pointwise.hpp"
#include "core/ops/reduce.hpp"
#include "core/ops/softmax.hpp"
#include "core/ops/views.hpp"

namespace tapestry {
namespace {

/// x (T, width) → x / √(mean x² + ε) ⊙ weight (Zhang & Sennrich 2019, equation 4).
Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  return x / sqrt(mean(x * x, {-1}, Keep::yes) + epsilon) * weight;
}

/// Returns cosines and sines (2, T, pairs) of the angles at positions first … first + T − 1.
Tensor rotations_at(const std::vector<double>& frequencies, Size first, Size count) {
  const auto pairs = static_cast<Size>(frequencies.size());
  Tensor rotations = Tensor::uninitialised({2, count, pairs}, DType::f32);
  float *cosine = rotations.mutable_data<float>(), *sine = cosine + count * pairs;
  for (Size t = 0; t < count; ++t)
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(first + t) * frequency;
      *cosine++ = static_cast<float>(std::cos(angle));
      *sine++ = static_cast<float>(std::sin(angle));
    }
  return rotations;
}

/// Rotates adjacent pairs of each head of x (T, heads·head_width), in place. Components after the pairs are unchanged.
void rotate(Tensor& x, Size head_width, const Tensor& rotations) {
  const Size count = rotations.size(1), pairs = rotations.size(2), heads = x.size(-1) / head_width;
  float* head = x.mutable_data<float>();
  const float *cosine = rotations.data<float>(), *sine = cosine + count * pairs;
  for (Size t = 0; t < count; ++t, cosine += pairs, sine += pairs)
    for (Size h = 0; h < heads; ++h, head += head_width)
      for (Size i = 0; i < pairs; ++i) {
        const float a = head[2 * i], b = head[2 * i + 1];
        head[2 * i] = a * cosine[i] - b * sine[i];
        head[2 * i + 1] = a * sine[i] + b * cosine[i];
      }
}

/// Returns the attention weights of the last query: (1, groups, heads per group, T, width) and keys
/// (1, groups, 1, keys, width) → (1, groups, heads per group, keys). For one query, three plain ops are five times as
/// fast as attend(), which copies the keys for each head.
Tensor weights_of_last(const Tensor& queries, const Tensor& keys) {
  const double scale = 1 / std::sqrt(static_cast<double>(queries.size(-1)));
  const Tensor query = select(queries, -2, queries.size(-2) - 1);
  return softmax(matmul(query * scale, transpose(select(keys, 2, 0))), -1);
}

/// Returns row `row` of x (T, n): (n).
Tensor row_of(const Tensor& x, Size row) { return select(x, 0, row); }

}  // namespace

LlamaCache::LlamaCache(Size blocks, Size capacity)
    : blocks_(static_cast<std::size_t>(blocks), KeyValueCache(capacity)) {}

void LlamaCache::truncate(Size length) {
  for (KeyValueCache& block : blocks_) block.keep_positions(length);
  length_ = length;
}

Size LlamaCache::bytes() const {
  Size count = 0;
  for (const KeyValueCache& block : blocks_)
    if (length_ > 0) count += block.keys().count() + block.values().count();
  return count * static_cast<Size>(sizeof(float));
}

Size Llama::weight_bytes() const {
  Size bytes = output_norm_.count() * static_cast<Size>(sizeof(float));
  const auto add = [&bytes](const QuantisedMatrix& matrix) {
    bytes += static_cast<Size>(matrix.bytes().size());
  };
  add(embedding_);
  if (output_.bytes().data() != embedding_.bytes().data()) add(output_);
  for (const Block& block : blocks_) {
    bytes +=
        (block.attention_norm.count() + block.feed_forward_norm.count()) * static_cast<Size>(sizeof(float));
    for (const QuantisedMatrix* matrix :
         {&block.query, &block.key, &block.value, &block.output, &block.gate, &block.up, &block.down})
      add(*matrix);
  }
  return bytes;
}

LlamaCache Llama::cache() const { return LlamaCache(sizes_.blocks, options_.capacity); }

Tensor Llama::multiply(const Tensor& x, const QuantisedMatrix& matrix) const {
  return quantised_matmul(x, matrix, options_.arithmetic);
}

Tensor Llama::attention(const Block& block, const Tensor& x, const Tensor& rotations, KeyValueCache& cache,
                        LlamaTrace* trace) const {
  const Size count = x.size(0), groups = sizes_.kv_heads, width = sizes_.head_width,
             share = sizes_.heads / groups;
  Tensor query = multiply(x, block.query), key = multiply(x, block.key);
  const Tensor value = multiply(x, block.value);
  rotate(query, width, rotations);
  rotate(key, width, rotations);
  // (T, heads·width) → (1, groups, heads per group, T, width)
  const auto by_head = [&](const Tensor& all, Size heads) {
    return permute(reshape(all, {1, count, groups, heads, width}), {0, 2, 3, 1, 4});
  };
  const Tensor queries = by_head(query, share);
  cache.append(by_head(key, 1), by_head(value, 1));
  const Size keys = cache.length();
  if (trace) trace->weights.push_back(reshape(weights_of_last(queries, cache.keys()), {sizes_.heads, keys}));
  Tensor context;  // (T, heads·width)
  if (count == 1) {
    context = matmul(weights_of_last(queries, cache.keys()), select(cache.values(), 2, 0));
  } else {
    AttendOptions options;
    options.mask = BlockMask::causal(count, keys);
    context = permute(attend(queries, cache.keys(), cache.values(), options), {0, 3, 1, 2, 4});
  }
  return multiply(reshape(context, {count, sizes_.heads * width}), block.output);
}

Tensor Llama::read(const std::vector<std::int64_t>& ids, LlamaCache& cache, LlamaTrace* trace) const {
  const auto count = static_cast<Size>(ids.size());
  const Tensor rotations = rotations_at(frequencies_, cache.length(), count);
  Tensor x = embedding(embedding_, Indices(ids, {count}));
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    x = x + attention(block, rms_norm(x, block.attention_norm, sizes_.norm_epsilon), rotations,
                      cache.blocks_[i], trace);
    const Tensor n = rms_norm(x, block.feed_forward_norm, sizes_.norm_epsilon);
    x = x + multiply(silu(multiply(n, block.gate)) * multiply(n, block.up), block.down);
    if (trace) trace->states.push_back(row_of(x, count - 1));
  }
  cache.length_ += count;
  return x;
}

Tensor Llama::logits_of(const Tensor& states) const {
  if (states.rank() < 1 || states.size(-1) != sizes_.width || states.dtype() != DType::f32)
    fail("[llama] states must be (…, {}) in f32, got {} in {}", sizes_.width, describe(states),
         name_of(states.dtype()));
  return multiply(rms_norm(contiguous(states.detach()), output_norm_, sizes_.norm_epsilon), output_);
}

Tensor Llama::operator()(const std::vector<std::int64_t>& ids, LlamaCache& cache, bool last_only,
                         LlamaTrace* trace) const {
  const auto count = static_cast<Size>(ids.size());
  if (count == 0) fail("[llama] a call must have at least one token, got none");
  if (static_cast<Size>(cache.blocks_.size()) != sizes_.blocks)
    fail("[llama] the cache must have {} blocks, got {}; use the cache() of this model", sizes_.blocks,
         cache.blocks_.size());
  if (count > sizes_.context - cache.length())
    fail("[llama] a text must have at most {} tokens, got {} after {}; start a new text or shorten it",
         sizes_.context, count, cache.length());
  for (const std::int64_t id : ids)
    if (id < 0 || id >= sizes_.vocabulary)
      fail("[llama] ids must be from 0 to {}, got {}; use the tokenizer of this model", sizes_.vocabulary - 1,
           id);
  std::vector<Tensor> logits;
  for (Size first = 0; first < count; first += options_.chunk) {
    const Size end = std::min(first + options_.chunk, count);
    const bool last = end == count;
    const Tensor states = read({ids.begin() + first, ids.begin() + end}, cache, last ? trace : nullptr);
    if (!last_only)
      logits.push_back(logits_of(states));
    else if (last)
      logits.push_back(logits_of(slice(states, 0, end - first - 1, end - first)));
  }
  return logits.size() == 1 ? logits[0] : concat(logits, 0);
}

}  // namespace tapestry
