// The public description of a recorded op.
#pragma once

#include <cstddef>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Description of one recorded op, see Tape::node().
struct NodeInfo {
  /// An argument: leaf `index` of Tape::leaves(), or the result of node `index`.
  struct Input {
    bool is_leaf;       // true for a leaf
    std::size_t index;  // among the leaves or the nodes
    bool operator==(const Input&) const = default;
  };
  const char* op;             // name of the op
  CallSite at;                // line that called the op
  Dims shape;                 // of the result
  DType dtype;                // of the result
  std::size_t saved_bytes;    // size of the buffers that its rules captured
  std::vector<Input> inputs;  // the arguments that get a gradient
};

}  // namespace tapestry
