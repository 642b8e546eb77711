#include "lessons/35_cache/models.hpp"

#include <algorithm>

#include "nn/positions/rotary.hpp"
#include "nn/transformer/latent_attention.hpp"

namespace tapestry::lesson35 {

namespace {

/// Number of KV heads; not defined for MLA.
Size kv_heads(Kind kind, Size heads) {
  return kind == Kind::mha ? heads : kind == Kind::gqa ? std::max<Size>(1, heads / 4) : 1;
}

}  // namespace

std::string name_of(Kind kind) {
  return kind == Kind::mha ? "MHA" : kind == Kind::gqa ? "GQA" : kind == Kind::mqa ? "MQA" : "MLA";
}

TransformerOptions model_options(Kind kind, const ModelSizes& sizes) {
  TransformerOptions options{.vocabulary = sizes.vocabulary, .layers = sizes.layers};
  options.block.width = sizes.width;
  options.block.heads = sizes.heads;
  options.block.hidden = sizes.hidden;
  options.block.bias = Bias::no;
  if (kind == Kind::mla) {
    const Size head = sizes.head_width();
    options.positions = no_positions();  // the layer rotates its own part
    options.block.attention =
        self_attention<LatentAttention>(LatentAttentionOptions{.width = sizes.width,
                                                               .heads = sizes.heads,
                                                               .head_width = head,
                                                               .rank = 4 * head,
                                                               .rotary_width = head / 2});
  } else {
    options.positions = rotary();
    options.block.kv_heads = kv_heads(kind, sizes.heads);
  }
  return options;
}

Size numbers_per_token(Kind kind, const ModelSizes& sizes) {
  const Size head = sizes.head_width();
  return kind == Kind::mla ? 4 * head + head / 2 : 2 * kv_heads(kind, sizes.heads) * head;
}

Size bytes_in(const StackCache& cache) {
  Size bytes = 0;
  for (const KeyValueCache& layer : cache.layers)
    for (const Tensor& part : {layer.keys(), layer.values(), layer.data()})
      if (part.defined()) bytes += part.count() * static_cast<Size>(bytes_of(part.dtype()));
  return bytes;
}

}  // namespace tapestry::lesson35
