// Types, sizes and names in GGUF files, as the reader and the writer check them.
#include "core/io/gguf_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/io/text.hpp"

namespace tapestry::detail {

namespace {

constexpr std::array<std::string_view, kGgufValueTypes> kValueTypes{
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

/// The types that ggml has at present; the numbers between them belonged to types that it has removed.
constexpr std::array<GgufTensorType, 34> kTensorTypes{{{0, "F32", 1, 4, BlockType::f32},
                                                       {1, "F16", 1, 2, BlockType::f16},
                                                       {2, "Q4_0", 32, 18, BlockType::q4_0},
                                                       {3, "Q4_1", 32, 20, BlockType::q4_1},
                                                       {6, "Q5_0", 32, 22, BlockType::q5_0},
                                                       {7, "Q5_1", 32, 24, BlockType::q5_1},
                                                       {8, "Q8_0", 32, 34, BlockType::q8_0},
                                                       {9, "Q8_1", 32, 40, {}},
                                                       {10, "Q2_K", 256, 84, {}},
                                                       {11, "Q3_K", 256, 110, {}},
                                                       {12, "Q4_K", 256, 144, BlockType::q4_k},
                                                       {13, "Q5_K", 256, 176, {}},
                                                       {14, "Q6_K", 256, 210, BlockType::q6_k},
                                                       {15, "Q8_K", 256, 292, {}},
                                                       {16, "IQ2_XXS", 256, 66, {}},
                                                       {17, "IQ2_XS", 256, 74, {}},
                                                       {18, "IQ3_XXS", 256, 98, {}},
                                                       {19, "IQ1_S", 256, 50, {}},
                                                       {20, "IQ4_NL", 32, 18, {}},
                                                       {21, "IQ3_S", 256, 110, {}},
                                                       {22, "IQ2_S", 256, 82, {}},
                                                       {23, "IQ4_XS", 256, 136, {}},
                                                       {24, "I8", 1, 1, {}},
                                                       {25, "I16", 1, 2, {}},
                                                       {26, "I32", 1, 4, {}},
                                                       {27, "I64", 1, 8, {}},
                                                       {28, "F64", 1, 8, {}},
                                                       {29, "IQ1_M", 256, 56, {}},
                                                       {30, "BF16", 1, 2, BlockType::bf16},
                                                       {34, "TQ1_0", 256, 54, {}},
                                                       {35, "TQ2_0", 256, 66, {}},
                                                       {39, "MXFP4", 32, 17, {}},
                                                       {40, "NVFP4", 64, 36, {}},
                                                       {41, "Q1_0", 128, 18, {}}}};

}  // namespace

std::string_view gguf_value_type_name(std::size_t type) { return kValueTypes[type]; }

const GgufTensorType* gguf_tensor_type(std::uint32_t number) {
  const auto* place = std::find_if(kTensorTypes.begin(), kTensorTypes.end(),
                                   [&](const GgufTensorType& type) { return type.number == number; });
  return place == kTensorTypes.end() ? nullptr : place;
}

const GgufTensorType& gguf_tensor_type(BlockType type) {
  return *std::find_if(kTensorTypes.begin(), kTensorTypes.end(),
                       [&](const GgufTensorType& one) { return one.type == type; });
}

std::variant<std::uint64_t, std::string> gguf_tensor_bytes(const Dims& shape, const GgufTensorType& type) {
  // An axis of size 0 must not hide an overflow, because strides are products of the other sizes.
  Size product = type.bytes;
  bool overflows = false, empty = false;
  for (const Size size : shape) {
    if (size < 0) return fmt::format("must have sizes of at least 0, got ({})", fmt::join(shape, ","));
    empty = empty || size == 0;
    if (size != 0) overflows = overflows || __builtin_mul_overflow(product, size, &product);
  }
  if (overflows) return fmt::format("has shape ({}), whose product overflows", fmt::join(shape, ","));
  const Size row = shape.empty() ? 1 : shape.back();
  if (row % type.elements != 0)
    return fmt::format("of type {} must have rows of a multiple of {} elements, got shape ({})", type.name,
                       type.elements, fmt::join(shape, ","));
  return empty ? 0 : static_cast<std::uint64_t>(product / type.elements);
}

std::variant<std::uint64_t, std::string> gguf_alignment(const GgufMetadata& metadata) {
  const auto place = metadata.find(kGgufAlignmentKey);
  if (place == metadata.end()) return kGgufAlignment;
  const auto* given = std::get_if<std::uint32_t>(&place->second);
  if (!given)
    return fmt::format("{} must be a u32, got type {}", kGgufAlignmentKey,
                       gguf_value_type_name(place->second.index()));
  if (*given == 0 || (*given & (*given - 1)) != 0)
    return fmt::format("{} must be a power of two, got {}", kGgufAlignmentKey, *given);
  return std::uint64_t{*given};
}

bool is_gguf_name(std::string_view name, std::size_t longest) {
  return !name.empty() && name.size() <= longest && is_utf8(name) &&
         name.find('\0') == std::string_view::npos;
}

}  // namespace tapestry::detail
