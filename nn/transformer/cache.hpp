// The KV cache: keys and values of the words so far, so that each further word costs one query.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// One layer's keys and values, with room for `capacity` places from the first word on; when they are full
/// the room doubles. Grouped heads stay grouped. For use without a tape. A copy has memory of its own: two
/// texts may branch from one prompt.
class KeyValueCache {
 public:
  explicit KeyValueCache(Size capacity) : capacity_(capacity) {}
  KeyValueCache(const KeyValueCache& other);
  KeyValueCache(KeyValueCache&& other) noexcept = default;
  KeyValueCache& operator=(const KeyValueCache& other) { return *this = KeyValueCache(other); }
  KeyValueCache& operator=(KeyValueCache&& other) noexcept = default;
  ~KeyValueCache() = default;

  /// Places that are filled.
  Size length() const { return length_; }
  /// Writes keys (B, heads…, T, d_k) and values (B, heads…, T, d_v) behind the others. Another batch or
  /// width than before throws.
  void append(const Tensor& keys, const Tensor& values);
  /// All keys() and values() so far: (B, heads…, length, d), views of this cache's memory.
  Tensor keys() const;
  Tensor values() const;
  /// From now on row i is what row rows[i] was: hypotheses of a search fork, finished ones leave.
  void keep_rows(const std::vector<Size>& rows);

 private:
  Size capacity_ = 0, length_ = 0;
  Tensor keys_, values_;  // (B, heads…, capacity, d)
};

}  // namespace tapestry
