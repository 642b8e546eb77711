// How the tape learns which tensors a rule keeps: what its closure copies while it is being stored.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// While one lives, copies of tensors on this thread are noted in `into`: how the tape learns what a rule
/// captured.
class Tensor::SavedTensorCapture {
 public:
  explicit SavedTensorCapture(std::vector<Saved>& into) { capture_ = &into; }
  ~SavedTensorCapture() { capture_ = nullptr; }
  SavedTensorCapture(const SavedTensorCapture&) = delete;
  SavedTensorCapture& operator=(const SavedTensorCapture&) = delete;
};

}  // namespace tapestry
