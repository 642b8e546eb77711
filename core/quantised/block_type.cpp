#include "core/quantised/block_type.hpp"

#include <array>
#include <cstddef>

namespace tapestry {
namespace {

struct Format {
  std::string_view name;
  Size elements, bytes;
};

/// One row for each BlockType, in its order.
constexpr std::array<Format, 10> kFormats{{{"F32", 1, 4},
                                           {"F16", 1, 2},
                                           {"BF16", 1, 2},
                                           {"Q8_0", 32, 34},
                                           {"Q4_0", 32, 18},
                                           {"Q4_1", 32, 20},
                                           {"Q5_0", 32, 22},
                                           {"Q5_1", 32, 24},
                                           {"Q4_K", 256, 144},
                                           {"Q6_K", 256, 210}}};

const Format& format_of(BlockType type) { return kFormats[static_cast<std::size_t>(type)]; }

}  // namespace

Size block_elements(BlockType type) { return format_of(type).elements; }
Size block_bytes(BlockType type) { return format_of(type).bytes; }
std::string_view to_string(BlockType type) { return format_of(type).name; }

}  // namespace tapestry
