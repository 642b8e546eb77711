#include "nn/transformer/latent_attention.hpp"

#include <cmath>
#include <utility>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

namespace {

LatentAttentionOptions checked(const LatentAttentionOptions& options, const std::string& name) {
  if (options.width < 1 || options.heads < 1 || options.head_width < 1 || options.rank < 1)
    fail(
        "[latent_attention{}] width, heads, head_width and rank must be at least 1, got {}, {}, {} and {}; "
        "set all four",
        name, options.width, options.heads, options.head_width, options.rank);
  if (options.rotary_width < 0 || options.rotary_width % 2 != 0)
    fail("[latent_attention{}] rotary_width must be even and at least 0, got {}; use 0 for no positions",
         name, options.rotary_width);
  return options;
}

/// (B, T, H · d) → (B, H, T, d). A view.
Tensor split_heads(const Tensor& x, Size heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

/// (B, H, T, d) → (B, T, H · d)
Tensor merge_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

/// (H · d, n) → (H, d, n). A view.
Tensor by_head(const Tensor& weight, Size heads) {
  return reshape(weight, {heads, weight.size(0) / heads, weight.size(1)});
}

}  // namespace

LatentAttention::LatentAttention(Parent parent, const LatentAttentionOptions& options)
    : SelfAttention(std::move(parent)),
      options_(checked(options, in_quotes())),
      down{{*this, "down"}, options.width, options.rank, Bias::no},
      key_up{{*this, "key_up"}, options.rank, options.heads * options.head_width, Bias::no},
      value_up{{*this, "value_up"}, options.rank, options.heads * options.head_width, Bias::no},
      query{{*this, "query"}, options.width, options.heads * options.head_width, Bias::no},
      output{{*this, "output"}, options.heads * options.head_width, options.width, Bias::no} {
  if (options.rotary_width == 0) return;
  rotary_key.emplace(Parent{*this, "rotary_key"}, options.width, options.rotary_width, Bias::no);
  rotary_query.emplace(Parent{*this, "rotary_query"}, options.width, options.heads * options.rotary_width,
                       Bias::no);
  rotary_.emplace(Parent{*this, "rotary"},
                  PairShape{.heads = options.heads, .head_width = options.rotary_width},
                  RotaryOptions{.base = options.base});
}

void LatentAttention::check_input(const Tensor& x) const {
  if (x.rank() != 3 || x.size(2) != options_.width)
    fail("[latent_attention{}] x must be (batch, time, {}), got {}", in_quotes(), options_.width,
         describe(x));
}

Tensor LatentAttention::latents(const Tensor& x, Size first) const {
  const Tensor c = down(x);
  return rotary_ ? concat({c, rotary_->rotate((*rotary_key)(x), first)}, -1) : c;
}

Tensor LatentAttention::content_queries(const Tensor& x) const {
  return split_heads(query(x), options_.heads);
}

Tensor LatentAttention::with_rotary(const Tensor& content, const Tensor& x, Size first) const {
  if (!rotary_) return content;
  return concat({content, rotary_->rotate(split_heads((*rotary_query)(x), options_.heads), first)}, -1);
}

AttendOptions LatentAttention::attend_options(const VisiblePairs& pairs) const {
  return {.scale = 1 / std::sqrt(static_cast<double>(options_.head_width + options_.rotary_width)),
          .mask = pairs.for_attend()};
}

Tensor LatentAttention::operator()(const Tensor& x, const VisiblePairs& pairs) const {
  check_input(x);
  const Size rank = options_.rank;
  const Tensor all = latents(x, 0), c = slice(all, -1, 0, rank);
  Tensor keys = split_heads(key_up(c), options_.heads);
  if (rotary_) {
    const Tensor shared = unsqueeze(slice(all, -1, rank, all.size(2)), 1);  // (B, 1, T, d_R)
    keys = concat({keys, expand(shared, {x.size(0), options_.heads, x.size(1), shared.size(3)})}, -1);
  }
  return output(merge_heads(attend(with_rotary(content_queries(x), x, 0), keys,
                                   split_heads(value_up(c), options_.heads), attend_options(pairs))));
}

Tensor LatentAttention::next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const {
  check_input(x);
  cache.append(latents(x, pairs.first()));
  // All heads share the key [c; rotary key]. Its first components are also the value.
  const Tensor keys = cache.keys(), values = slice(keys, -1, 0, options_.rank);
  const Tensor absorbed = matmul(content_queries(x), by_head(key_up.weight, options_.heads));
  const Tensor queries = with_rotary(absorbed, x, pairs.first());
  const AttendOptions how = attend_options(pairs);
  // If a single token sees all keys, its H heads can be computed as H queries of one head, which is faster.
  const bool as_queries = x.size(1) == 1 && !pairs.mask().defined();
  const Tensor sums =  // (B, H, T, d_c)
      as_queries ? unsqueeze(attend(squeeze(queries, 2), keys, values, how), 2)
                 : attend(queries, unsqueeze(keys, 1), unsqueeze(values, 1), how);
  return output(merge_heads(matmul(sums, transpose(by_head(value_up.weight, options_.heads)))));
}

}  // namespace tapestry
