// What a tape tells of each op that it has recorded.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// One recorded op, as seen from outside.
struct NodeInfo {
  /// What an argument was computed by, node `index`; or which of leaves() it is.
  struct Input {
    bool is_leaf;
    std::size_t index;
    bool operator==(const Input&) const = default;
  };
  const char* op;             // its name
  CallSite at;                // where it was called
  Dims shape;                 // of its result
  DType dtype;                // of its result
  std::size_t saved_bytes;    // of the buffers that its rules captured
  std::vector<Input> inputs;  // those that get a gradient
};

}  // namespace tapestry
