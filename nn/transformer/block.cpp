#include "nn/transformer/block.hpp"

namespace tapestry {

namespace {

MultiHeadOptions attention_options(const BlockOptions& options, const BlockKind& kind, Size key_width) {
  MultiHeadOptions attention;
  attention.width = options.width;
  attention.heads = options.heads;
  attention.key_heads = options.key_heads;
  attention.key_width = attention.value_width = key_width;
  attention.bias = options.bias;
  attention.score = options.score;
  attention.attend.normalise = options.normalise;
  attention.attend.dropout = options.attention_dropout;
  if (key_width == 0) {
    attention.causal = kind.causal;
    attention.attend.positions.pairs = kind.positions.pairs;
    attention.attend.score_mod = options.score_mod;
  }
  return attention;
}

}  // namespace

Norm::Norm(Parent parent, NormKind kind, Size width, double epsilon) : Module(std::move(parent)) {
  // With an empty name, the weights are named as if they were members of this module.
  if (kind == NormKind::layer_norm)
    layer_.emplace(Parent{*this, ""}, width, epsilon);
  else
    rms_.emplace(Parent{*this, ""}, width, epsilon);
}

Tensor Norm::operator()(const Tensor& x) const { return layer_ ? (*layer_)(x) : (*rms_)(x); }

TransformerBlock::TransformerBlock(Parent parent, const BlockOptions& options, const BlockKind& kind)
    : Module(std::move(parent)),
      self{{*this, "self"}, attention_options(options, kind, 0)},
      dropout{{*this, "dropout"}, options.dropout},
      norm_place_(options.norm_place),
      residual_(options.residual),
      causal_(kind.causal) {
  const auto norm = [&](std::optional<Norm>& place_of, const char* name) {
    if (norm_place_ != NormPlace::none)
      place_of.emplace(Parent{*this, name}, options.norm, options.width, options.epsilon);
  };
  norm(self_norm, "self_norm");
  if (kind.memory_width > 0) {
    cross.emplace(Parent{*this, "cross"}, attention_options(options, kind, kind.memory_width));
    norm(cross_norm, "cross_norm");
  }
  if (options.feed_forward) {
    feed_forward.emplace(Parent{*this, "feed_forward"}, options.width,
                         options.hidden == 0 ? 4 * options.width : options.hidden, options.activation,
                         options.bias, options.hidden_dropout);
    norm(feed_forward_norm, "feed_forward_norm");
  }
}

template <class Part>
Tensor TransformerBlock::with_residual(const Tensor& x, const std::optional<Norm>& norm,
                                       const Part& part) const {
  const Tensor added = dropout(part(norm_place_ == NormPlace::pre ? (*norm)(x) : x));
  const Tensor sum = residual_ ? x + added : added;
  return norm_place_ == NormPlace::post ? (*norm)(sum) : sum;
}

template <class Self>
Tensor TransformerBlock::run(const Tensor& x, const PreparedKV* memory, const Self& attend) const {
  if (cross.has_value() != (memory != nullptr))
    fail("[block{}] {}", in_quotes(),
         cross ? "memory must be given for cross-attention; pass the result of cross.prepare()"
               : "memory must be null without cross-attention; set BlockKind::memory_width to have it");
  Tensor y = with_residual(x, self_norm, attend);
  if (cross) y = with_residual(y, cross_norm, [&](const Tensor& in) { return cross->context(in, *memory); });
  if (feed_forward) y = with_residual(y, feed_forward_norm, *feed_forward);
  return y;
}

Tensor TransformerBlock::operator()(const Tensor& x, const Mask& mask, const PreparedKV* memory) const {
  return run(x, memory, [&](const Tensor& in) {
    const Size words = in.size(1);
    const bool causal = causal_ && words > 1;
    PreparedKV own =
        self.prepare(in, in, causal && mask.defined() ? Mask::causal(words, words) & mask : mask);
    if (causal && !mask.defined()) own.mask = BlockMask::causal(words, words);
    return self.context(in, own);
  });
}

Tensor TransformerBlock::operator()(const Tensor& x, KeyValueCache& cache, const PreparedKV* memory) const {
  if (!causal_) fail("[block{}] the block must be causal to use a cache; set BlockKind::causal", in_quotes());
  return run(x, memory, [&](const Tensor& in) {
    const Size first = cache.length();
    const PreparedKV added = self.prepare(in, in, Mask{}, first);
    cache.append(added.keys, added.values);
    PreparedKV all{cache.keys(), cache.values(), {}, {}};
    if (in.size(1) > 1) all.mask = BlockMask::causal(in.size(1), cache.length());
    return self.context(in, all, first);
  });
}

}  // namespace tapestry
