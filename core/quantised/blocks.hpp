// Conversion between f32 and ggml's block formats. blocks.cpp draws each layout.
#pragma once

#include <cstddef>
#include <span>

#include "core/quantised/block_type.hpp"

namespace tapestry {

/// Converts the blocks in `bytes` to f32, bit for bit as ggml does. Throws Error unless `bytes` consists of whole
/// blocks with as many elements as `floats`.
void dequantise_blocks(BlockType type, std::span<const std::byte> bytes, std::span<float> floats);

/// Rounds `floats` to the nearest levels of their blocks, bit for bit as ggml's reference does. Supports q8_0, q4_0
/// and q4_1. Throws Error for other types, and for sizes that dequantise_blocks() refuses.
void quantise_blocks(BlockType type, std::span<const float> floats, std::span<std::byte> bytes);

}  // namespace tapestry
