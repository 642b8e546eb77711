#include "nn/transformer/block.hpp"

namespace tapestry {

namespace {

MultiHeadOptions attention_options(const BlockOptions& options, const BlockKind& kind, Size key_width) {
  MultiHeadOptions attention;
  attention.width = options.width;
  attention.heads = options.heads;
  attention.kv_heads = options.kv_heads;
  attention.key_width = attention.value_width = key_width;
  attention.bias = options.bias;
  attention.score = options.score;
  attention.attend.normalise = options.normalise;
  attention.attend.dropout = options.attention_dropout;
  if (key_width == 0) {
    attention.causal = kind.causal;
    attention.attend.positions.pairs = kind.positions.pairs;
    attention.attend.score_mod = options.score_mod;
    attention.attend.learned_sink = options.learned_sink;
    attention.output_gate = options.output_gate;
    attention.qk_norm = options.qk_norm;
    attention.qk_norm_epsilon = options.epsilon;
  }
  return attention;
}

/// Throws for options that a custom self-attention would ignore, except `heads`: any number may be the default.
void check_own(const BlockOptions& options, const BlockKind& kind, const std::string& name) {
  const bool cross = kind.memory_width > 0;  // true: the last four options have an effect
  const char* const unused = kind.positions.pairs     ? "positions for pairs (rotary, alibi, …)"
                             : options.score_mod.make ? "score_mod"
                             : options.learned_sink   ? "learned_sink"
                             : options.output_gate    ? "output_gate"
                             : options.qk_norm        ? "qk_norm"
                             : !cross && !options.score.is_like(scaled_dot()) ? "score"
                             : !cross && !options.normalise.is_softmax()      ? "normalise"
                             : !cross && options.attention_dropout > 0        ? "attention_dropout"
                             : !cross && options.kv_heads > 0                 ? "kv_heads"
                                                                              : nullptr;
  if (unused)
    fail(
        "[block{0}] {1} must not be set together with BlockOptions::attention, which replaces the layer that has it; "
        "compute {1} in your own attention",
        name, unused);
}

/// Returns y, the result of a custom self-attention of x. Throws if y has another shape, or if the cache has `length`
/// instead of `wanted` tokens: later queries would not see a token that the layer did not store.
Tensor checked_custom_self(const SelfAttention& custom_self, const Tensor& x, const Tensor& y, Size length,
                           Size wanted) {
  if (y.shape() != x.shape())
    fail("[block] {}{} must return the shape of its input, got {} for {}; fix its result",
         custom_self.type_name(), custom_self.in_quotes(), describe(y), describe(x));
  if (length != wanted)
    fail(
        "[block] {}{} must add its {} tokens to the cache, got {} tokens in it instead of {}; call cache.append() or "
        "cache.set_state() in next()",
        custom_self.type_name(), custom_self.in_quotes(), x.size(1), length, wanted);
  return y;
}

/// Self-attention of the last tokens, x (B, Tq, width), with all tokens. The cache may be null.
Tensor attend_to_text(const MultiHeadAttention& self, const Tensor& x, const VisiblePairs& pairs,
                      KeyValueCache* cache) {
  if (!cache) {
    PreparedKV own = self.prepare(x, x, pairs.caller_mask().defined() ? pairs.mask() : Mask{});
    if (!pairs.caller_mask().defined()) own.mask = pairs.for_attend();
    return self.context(x, own);
  }
  const std::vector<Size>& positions = pairs.positions();
  const bool listed = !positions.empty();
  const PreparedKV added =
      self.prepare(x, x, Mask{},
                   listed ? TokenPositions({positions.begin() + pairs.first(), positions.end()})
                          : TokenPositions(pairs.first()));
  cache->append(added.keys, added.values, added.data);
  PreparedKV all{cache->keys(), cache->values(), {}, {}, cache->data()};
  if (pairs.caller_mask().defined())
    all = self.with_mask(all, pairs.mask());
  else
    all.mask = pairs.for_attend();
  return self.context(x, all, listed ? TokenPositions(positions) : TokenPositions(pairs.first()));
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
      self(options.attention ? std::optional<MultiHeadAttention>()
                             : std::optional<MultiHeadAttention>(std::in_place, Parent{*this, "self"},
                                                                 attention_options(options, kind, 0))),
      custom_self(options.attention ? options.attention({*this, "self"}) : ModulePtr<SelfAttention>()),
      dropout{{*this, "dropout"}, options.dropout},
      norm_position_(options.norm_position),
      residual_(options.residual),
      rule_{kind.causal, options.window, options.sink_tokens} {
  if (options.attention) check_own(options, kind, in_quotes());
  if (options.attention && !custom_self)
    fail("[block{}] BlockOptions::attention must return a layer, got none; use self_attention<…>()",
         in_quotes());
  [[maybe_unused]] const VisiblePairs checked(rule_, 0, 0);
  const auto norm = [&](std::optional<Norm>& place_of, const char* name) {
    if (norm_position_ != NormPosition::none)
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
  const Tensor added = dropout(part(norm_position_ == NormPosition::pre ? (*norm)(x) : x));
  const Tensor sum = residual_ ? x + added : added;
  return norm_position_ == NormPosition::post ? (*norm)(sum) : sum;
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
    const VisiblePairs pairs(rule_, in.size(1), in.size(1), mask);
    return custom_self ? checked_custom_self(*custom_self, in, (*custom_self)(in, pairs), 0, 0)
                       : attend_to_text(*self, in, pairs, nullptr);
  });
}

Tensor TransformerBlock::operator()(const Tensor& x, KeyValueCache& cache, const PreparedKV* memory,
                                    const Mask& mask, const std::vector<Size>& positions) const {
  if (!rule_.causal)
    fail("[block{}] the block must be causal to use a cache; set BlockKind::causal", in_quotes());
  if (custom_self && !positions.empty())
    fail(
        "[block{}] tokens must follow one another with BlockOptions::attention, got a list of positions; pass one "
        "token after another",
        in_quotes());
  return run(x, memory, [&](const Tensor& in) {
    const VisiblePairs pairs(rule_, in.size(1), cache.length() + in.size(1), mask, positions);
    if (!custom_self) return attend_to_text(*self, in, pairs, &cache);
    const Tensor y = custom_self->next(in, pairs, cache);
    return checked_custom_self(*custom_self, in, y, cache.length(), pairs.keys());
  });
}

}  // namespace tapestry
