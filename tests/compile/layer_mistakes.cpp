// Mistakes in a score, a normaliser, a layer and a self-attention of the user's.
#include "core/attention/score_lambda.hpp"
#include "core/ops/ops.hpp"
#include "nn/seq2seq/decoder.hpp"
#include "nn/transformer/block.hpp"

using namespace tapestry;

struct MyScore : Score {
  using Score::Score;
#ifdef WRONG
  Tensor score(const Tensor& query, const Tensor& keys) const { return matmul(query, transpose(keys)); }
#else
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState&) const override {
    return matmul(query, transpose(keys));
  }
#endif
};

struct MyAttention : SelfAttention {
  using SelfAttention::SelfAttention;
#ifdef WRONG
  Tensor operator()(const Tensor& x, const VisiblePairs&) { return x; }
#else
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override { return x; }
#endif
};

struct Layer : Module {
#ifdef WRONG
  explicit Layer(Size width) : inner{{*this, "inner"}, width, width} {}
#else
  Layer(Parent parent, Size width) : Module(std::move(parent)), inner{{*this, "inner"}, width, width} {}
#endif
  Linear inner;
};

#ifdef WRONG
// error 1: the class must override Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const
ScoreFactory other_signature() { return ScoreFactory::of<MyScore>(); }
// error 2: ScoreFactory::of<MyScore>: the class must derive from Score
ScoreFactory no_score() { return ScoreFactory::of<Linear>(); }
// error 3: a score must be a function (const Tensor& query, const Tensor& keys) that returns a Tensor
Attention score_of_query() {
  return Attention{[](const Tensor& query) { return query; }};
}
// error 4: a normaliser must be a function (const Tensor& scores, const Mask& mask) that returns a Tensor
BlockOptions without_mask() {
  return {.normalise = [](const Tensor& scores) { return softmax(scores, -1); }};
}
// error 5: a layer's score_mod must have parameters and a function that makes the ScoreMod from them
BlockOptions without_parameters() {
  return {.score_mod = score_mod([](auto s, auto) { return s * 2; })};
}
// error 6: the class must override Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const
SelfAttentionFactory not_const() { return self_attention<MyAttention>(); }
// error 7: self_attention<MyAttention>: the class must derive from SelfAttention
SelfAttentionFactory no_attention() { return self_attention<Linear>(Size{8}, Size{8}); }
// error 8: the class must have a constructor (Parent parent, ...) for these arguments
struct Layers : Module {
  List<Layer> list{{*this, "list"}, 3, Size{8}};
};
Layers use() { return {}; }
// error 9: the class that has layers must derive from Module
struct HasLayers {
  Linear out{{*this, "out"}, 8, 8};
};
// error 10: the class that has parameters must derive from Module
struct HasParameters {
  Parameter gain{*this, "gain", {8}, zeros};
};
// error 11: a Parameter must have initial values, its last argument
struct WithoutValues : Module {
  Parameter gain{*this, "gain", {8}};
};
// error 12: a Parameter must have its module as first argument
struct WithoutModule : Module {
  Parameter gain{"gain", {8}, zeros};
};
// error 13: a layer's mask must be a Mask: pass tiles.mask(), or use Mask::from(queries, keys, f)
Tensor tiles_for_block(const TransformerBlock& block, const Tensor& x) {
  return block(x, BlockMask::causal(8, 8));
}
// error 14: the normaliser is an option of `attend`: write {.attend = {.normalise = f}}
MultiHeadOptions normaliser_of_heads() { return {.width = 8, .heads = 2, .normalise = sparsemax_weights}; }
// error 15: the normaliser is an option of `attend`: write {.attend = {.normalise = f}}
void normaliser_of_decoder(DecoderOptions& options) {
  options.normalise = [](const Tensor& scores, const Mask& mask) { return softmax_weights(scores, mask); };
}
#else
MultiHeadOptions normaliser_of_heads() {
  return {.width = 8, .heads = 2, .attend = {.normalise = sparsemax_weights}};
}
void normaliser_of_decoder(DecoderOptions& options) {
  options.attend.normalise = [](const Tensor& scores, const Mask& mask) {
    return softmax_weights(scores, mask);
  };
}
Tensor masked(const TransformerBlock& block, const Tensor& x) {
  return block(block(x, BlockMask::causal(8, 8).mask()),
               Mask::from(8, 8, [](Size i, Size j) { return j <= i; }));
}
BlockOptions options() {
  return {.score = ScoreFactory::of<MyScore>(),
          .score_mod = {{{"gain", {8}, zeros}},
                        [](const auto& p, Size, Size) {
                          return score_mod([](auto s, auto at, auto g) { return s + g(at.h); },
                                           learned(p[0]));
                        }},
          .normalise = [](const Tensor& scores, const Mask& mask) { return softmax_weights(scores, mask); },
          .attention = self_attention<MyAttention>()};
}
struct Model : Module {
  Attention attention{{*this, "attention"},
                      [](const Tensor& query, const Tensor& keys) { return matmul(query, transpose(keys)); }};
  List<Layer> list{{*this, "list"}, 3, Size{8}};
  Linear out{{*this, "out"}, 8, 8};
  Parameter gain{*this, "gain", {8}, zeros};
};
#endif
