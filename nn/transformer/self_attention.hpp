// Custom self-attention layers, which replace MultiHeadAttention in the blocks of every model.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "nn/attention/visible_pairs.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"
#include "nn/transformer/cache.hpp"

namespace tapestry {

/// Base class of a custom self-attention. A class overrides operator() and passes itself to a model:
///     struct MyAttention : SelfAttention {
///       MyAttention(Parent parent, Size width) : SelfAttention(std::move(parent)), …
///       Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override { … }
///     };
///     options.block.attention = self_attention<MyAttention>(width);
/// check_attention(options.block) checks it (nn/check/check_attention.hpp).
class SelfAttention : public Module {
 public:
  using Module::Module;

  /// Computes the layer: x (B, T, width) and the visible pairs of T queries and T keys → (B, T, width). Masked pairs
  /// must have no effect. In a causal model, the result at t must depend on the tokens up to t alone.
  virtual Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const = 0;
  /// Computes the layer for tokens x (B, Tq, width) that follow those in the cache, and adds them to it. `pairs` are
  /// the pairs of these Tq queries with all tokens. By default, the cache stores the inputs and the layer recomputes
  /// the whole text, which is exact for every causal layer but as slow as without a cache. Override it to store keys
  /// and values (KeyValueCache::append), or a state of constant size (KeyValueCache::set_state).
  virtual Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const;
  /// Ties parameters that all layers of a stack share to those of the first layer. By default none are shared.
  virtual void share(const SelfAttention& /*first*/) {}
};

/// Makes the self-attention of a block.
using SelfAttentionFactory = std::function<ModulePtr<SelfAttention>(Parent)>;

/// Returns the factory of A, which each block constructs from (Parent, args…).
template <class A, class... Args>
SelfAttentionFactory self_attention(Args... args) {
  constexpr bool kIsAttention = std::derived_from<A, SelfAttention>;
  static_assert(kIsAttention, "self_attention<MyAttention>: the class must derive from SelfAttention");
  static_assert(
      !kIsAttention || !std::is_abstract_v<A>,
      "self_attention<MyAttention>: the class must override Tensor operator()(const Tensor& x, const "
      "VisiblePairs& pairs) const");
  if constexpr (kIsAttention && !std::is_abstract_v<A>)
    if constexpr (detail::can_construct<A, const Args&...>())
      return [=](Parent parent) -> ModulePtr<SelfAttention> {
        return std::make_unique<A>(std::move(parent), args...);
      };
  return {};
}

}  // namespace tapestry
