// Records the tensors that a rule captures: the tensors that are copied while its closure is stored.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A guard that appends every tensor copied on this thread to `into`. The tape uses it to find the tensors that a rule
/// captures.
class Tensor::SavedTensorCapture {
 public:
  explicit SavedTensorCapture(std::vector<Saved>& into) { capture_ = &into; }
  ~SavedTensorCapture() { capture_ = nullptr; }
  SavedTensorCapture(const SavedTensorCapture&) = delete;
  SavedTensorCapture& operator=(const SavedTensorCapture&) = delete;
};

}  // namespace tapestry
