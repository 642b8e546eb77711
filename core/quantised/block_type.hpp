// Element types of weight matrices in GGUF files, and the sizes of their blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/simd/view.hpp"

namespace tapestry {

/// Storage formats of weights, with ggml's names. All but the first three store blocks of elements that share scales.
enum class BlockType : std::uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q6_k };

/// Returns the number of elements of a block: 1, 32 or 256.
Size block_elements(BlockType type);
/// Returns the number of bytes of a block.
Size block_bytes(BlockType type);
/// Returns ggml's name of the type, such as "F32" or "Q4_K".
std::string_view to_string(BlockType type);

}  // namespace tapestry
