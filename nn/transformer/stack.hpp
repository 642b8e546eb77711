// Blocks one after another.
#pragma once

#include <span>
#include <vector>

#include "core/tensor/pool_vector.hpp"
#include "nn/transformer/block.hpp"

namespace tapestry {

/// What a stack of causal blocks remembers of the words so far. A copy has memory of its own, as
/// KeyValueCache's.
struct StackCache {
  std::vector<KeyValueCache> layers;  // one for each block

  /// length(): words so far; keep_rows(): as KeyValueCache has it, for every layer.
  Size length() const { return layers.empty() ? 0 : layers.front().length(); }
  void keep_rows(const std::vector<Size>& rows);
};

/// x → block → … → block, then a norm if the blocks have theirs in front (pre). Position parameters that a
/// scheme has once for all layers are shared.
class TransformerStack : public Module {
 public:
  TransformerStack(Parent parent, Size layers, const BlockOptions& options, const BlockKind& kind);
  TransformerStack(Size layers, const BlockOptions& options, const BlockKind& kind)
      : TransformerStack(Parent{}, layers, options, kind) {}

  /// x (B, T, width) → (B, T, width). `memories`: what each block's cross-attention attends to, from
  /// attend_to(), or nothing.
  Tensor operator()(Tensor x, const Mask& mask = {}, std::span<const PreparedKV> memories = {}) const;
  /// The same for words that come after those in the cache.
  Tensor operator()(Tensor x, StackCache& cache, std::span<const PreparedKV> memories = {}) const;

  /// Another sequence (B, S, memory_width) made ready for every block, once.
  PoolVector<PreparedKV> attend_to(const Tensor& memory, const ValidLengths& lengths) const;
  /// An empty cache with room for so many words.
  StackCache cache(Size capacity) const;

  List<TransformerBlock> blocks;
  std::optional<Norm> norm;

 private:
  const PreparedKV* memory_of(std::span<const PreparedKV> memories, Size block) const;
};

}  // namespace tapestry
