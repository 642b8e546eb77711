// KV cache of constant size: a ring buffer with the keys and values of the last positions.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Keys and values of the last `window` positions of one layer. Position p is stored in slot p mod window, where it
/// replaces position p − window.
///
/// The result of attention does not depend on the order of the keys, because it is a sum over keys. So the position
/// information must be part of the keys, as with rotary positions.
///
/// Use the cache without a tape, because it stores values only. It is movable, not copyable.
class RollingCache {
 public:
  /// Starts an empty cache. Throws Error unless the window is at least 1.
  explicit RollingCache(Size window);
  RollingCache(RollingCache&&) noexcept = default;
  RollingCache& operator=(RollingCache&&) noexcept = default;
  RollingCache(const RollingCache&) = delete;
  RollingCache& operator=(const RollingCache&) = delete;
  ~RollingCache() = default;

  /// Appends keys (…, T, d_k) and values (…, T, d_v). If T tokens are appended at once, they replace keys that the
  /// first of these tokens should still see. So append one token at a time if each query must see a full window.
  /// Throws Error if keys or values have fewer than two axes, if they differ in T, if another axis or the type differs
  /// from before, or if a tape is active.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions appended so far, including replaced ones. So it can exceed the window.
  Size length() const { return length_; }
  /// keys() and values() return the stored positions (…, min(length, window), d) in the order of the slots. They are
  /// views of this cache's memory, which the next append() may overwrite. They are undefined before the first append().
  Tensor keys() const { return filled(keys_); }
  Tensor values() const { return filled(values_); }
  /// Returns the size of both ring buffers in bytes. It is 0 before the first append(), which allocates them.
  Size bytes() const;

 private:
  Tensor filled(const Tensor& ring) const;

  Size window_, length_ = 0;
  Tensor keys_, values_;  // (…, window, d)
};

}  // namespace tapestry
