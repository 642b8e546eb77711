// A stack of transformer blocks.
#pragma once

#include <span>
#include <vector>

#include "core/tensor/pool_vector.hpp"
#include "nn/transformer/block.hpp"

namespace tapestry {

/// Key-value caches of a stack of causal blocks. A copy has its own memory, as with KeyValueCache.
struct StackCache {
  std::vector<KeyValueCache> layers;  // one per block

  /// length(): tokens so far; reorder_rows() and keep_positions(): as in KeyValueCache, for every layer.
  Size length() const { return layers.empty() ? 0 : layers.front().length(); }
  void reorder_rows(const std::vector<Size>& rows);
  void keep_positions(Size length, const std::vector<Size>& more);
};

/// x → block → … → block, then a norm if the blocks are pre-norm. PairPositions::share() and SelfAttention::share() tie
/// parameters among the blocks.
class TransformerStack : public Module {
 public:
  TransformerStack(Parent parent, Size layers, const BlockOptions& options, const BlockKind& kind);
  TransformerStack(Size layers, const BlockOptions& options, const BlockKind& kind)
      : TransformerStack(Parent{}, layers, options, kind) {}

  /// x (B, T, width) → (B, T, width). `memories`: keys and values for the cross-attention of each block, from
  /// attend_to(), or none.
  Tensor operator()(Tensor x, const Mask& mask = {}, std::span<const PreparedKV> memories = {}) const;
  /// Same, for tokens that follow those in the cache. The mask is for these queries and all keys so far, and
  /// `positions` are those of all these keys, as in TransformerBlock. A call that throws leaves the cache as it was.
  Tensor operator()(Tensor x, StackCache& cache, std::span<const PreparedKV> memories = {},
                    const Mask& mask = {}, const std::vector<Size>& positions = {}) const;

  /// Prepares keys and values of another sequence (B, S, memory_width) for the cross-attention of every block.
  PoolVector<PreparedKV> attend_to(const Tensor& memory, const ValidLengths& lengths) const;
  /// Returns an empty cache with room for `capacity` tokens.
  StackCache cache(Size capacity) const;

  List<TransformerBlock> blocks;
  std::optional<Norm> norm;

 private:
  const PreparedKV* memory_of(std::span<const PreparedKV> memories, Size block) const;
};

}  // namespace tapestry
