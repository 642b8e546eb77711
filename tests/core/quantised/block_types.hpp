// All block types, which the tests of blocks and of matrices go through.
#pragma once

#include "core/quantised/blocks.hpp"

namespace tapestry {

inline constexpr BlockType kBlockTypes[] = {
    BlockType::f32,  BlockType::f16,  BlockType::bf16, BlockType::q8_0, BlockType::q4_0,
    BlockType::q4_1, BlockType::q5_0, BlockType::q5_1, BlockType::q4_k, BlockType::q6_k};

}  // namespace tapestry
