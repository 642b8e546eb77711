#include "nn/transformer/stack.hpp"

namespace tapestry {

void StackCache::reorder_rows(const std::vector<Size>& rows) {
  for (KeyValueCache& layer : layers) layer.reorder_rows(rows);
}

void StackCache::keep_positions(Size length, const std::vector<Size>& more) {
  for (KeyValueCache& layer : layers) layer.keep_positions(length, more);
}

TransformerStack::TransformerStack(Parent parent, Size layers, const BlockOptions& options,
                                   const BlockKind& kind)
    : Module(std::move(parent)), blocks{{*this, "blocks"}, layers, options, kind} {
  if (layers < 1) fail("[stack{}] layers must be at least 1, got {}", in_quotes(), layers);
  if (options.norm_position == NormPosition::pre)
    norm.emplace(Parent{*this, "norm"}, options.norm, options.width, options.epsilon);
  for (Size i = 1; i < layers; ++i) {
    if (blocks[i].custom_self)
      blocks[i].custom_self->share(*blocks[0].custom_self);
    else if (ModulePtr<PairPositions>& positions = blocks[i].self->attention.positions())
      positions->share(*blocks[0].self->attention.positions());
  }
}

const PreparedKV* TransformerStack::memory_of(std::span<const PreparedKV> memories, Size block) const {
  if (memories.empty()) return nullptr;
  if (static_cast<Size>(memories.size()) != blocks.size())
    fail("[stack{}] there must be one memory for each block, got {} blocks and {} memories; use attend_to()",
         in_quotes(), blocks.size(), memories.size());
  return &memories[static_cast<std::size_t>(block)];
}

Tensor TransformerStack::operator()(Tensor x, const Mask& mask, std::span<const PreparedKV> memories) const {
  for (Size i = 0; i < blocks.size(); ++i) x = blocks[i](x, mask, memory_of(memories, i));
  return norm ? (*norm)(x) : x;
}

Tensor TransformerStack::operator()(Tensor x, StackCache& cache, std::span<const PreparedKV> memories,
                                    const Mask& mask, const std::vector<Size>& positions) const {
  if (static_cast<Size>(cache.layers.size()) != blocks.size())
    fail("[stack{}] the cache must have one layer for each block, got {} blocks and {} layers; use cache()",
         in_quotes(), blocks.size(), cache.layers.size());
  std::vector<KeyValueCache::Snapshot> before;
  for (const KeyValueCache& layer : cache.layers) before.push_back(layer.snapshot());
  try {
    for (Size i = 0; i < blocks.size(); ++i)
      x = blocks[i](x, cache.layers[static_cast<std::size_t>(i)], memory_of(memories, i), mask, positions);
  } catch (...) {
    for (std::size_t i = 0; i < before.size(); ++i) cache.layers[i].rewind(std::move(before[i]));
    throw;
  }
  return norm ? (*norm)(x) : x;
}

PoolVector<PreparedKV> TransformerStack::attend_to(const Tensor& memory, const ValidLengths& lengths) const {
  PoolVector<PreparedKV> memories;
  for (const TransformerBlock& block : blocks) {
    if (!block.cross)
      fail("[stack{}] blocks must have cross-attention; set BlockKind::memory_width", in_quotes());
    memories.push_back(block.cross->prepare(memory, memory, lengths));
  }
  return memories;
}

StackCache TransformerStack::cache(Size capacity) const {
  return {std::vector<KeyValueCache>(static_cast<std::size_t>(blocks.size()), KeyValueCache(capacity))};
}

}  // namespace tapestry
