// The KV cache: keys and values of the tokens so far, so that each new token costs one query.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// Keys and values of one layer, with initial room for `capacity` positions; the room doubles when it is
/// full. Grouped heads stay grouped. For use without a tape. A copy has its own memory, so that two texts can
/// branch from one prompt.
class KeyValueCache {
 public:
  explicit KeyValueCache(Size capacity) : capacity_(capacity) {}
  KeyValueCache(const KeyValueCache& other);
  KeyValueCache(KeyValueCache&& other) noexcept = default;
  KeyValueCache& operator=(const KeyValueCache& other) { return *this = KeyValueCache(other); }
  KeyValueCache& operator=(KeyValueCache&& other) noexcept = default;
  ~KeyValueCache() = default;

  /// Returns the number of filled positions.
  Size length() const { return length_; }
  /// Appends keys (B, heads…, T, d_k) and values (B, heads…, T, d_v). Throws if the batch, heads, width or
  /// type differs from before, or if a tape is active.
  void append(const Tensor& keys, const Tensor& values);
  /// keys() and values() return all so far, (B, heads…, length, d), as views of this cache's memory.
  Tensor keys() const;
  Tensor values() const;
  /// Makes row i the former row rows[i], for a search that copies and drops hypotheses.
  void keep_rows(const std::vector<Size>& rows);

 private:
  Size capacity_ = 0, length_ = 0;
  Tensor keys_, values_;  // (B, heads…, capacity, d)
};

}  // namespace tapestry
