// A cache of constant size: keys and values of the last positions, in a ring.
#pragma once

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Keys and values of the last `window` positions of one layer. Position p is stored in slot p mod window, where it
/// replaces position p − window. Attention is a sum over keys, so their order does not change its result; positions
/// must be in the keys already, as rotary positions are. For use without a tape. It can be moved and not copied.
class RollingCache {
 public:
  /// Throws unless the window is at least 1.
  explicit RollingCache(Size window);
  RollingCache(RollingCache&&) noexcept = default;
  RollingCache& operator=(RollingCache&&) noexcept = default;
  RollingCache(const RollingCache&) = delete;
  RollingCache& operator=(const RollingCache&) = delete;
  ~RollingCache() = default;

  /// Appends keys (…, T, d_k) and values (…, T, d_v). Append one token at a time if each of T queries must see a
  /// full window. Throws if keys and values differ in T, if another axis or the type differs from before, or if a
  /// tape is active.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions appended so far, those that were replaced included.
  Size length() const { return length_; }
  /// keys() and values() return the stored positions (…, min(length, window), d) in the order of the slots, as views
  /// of this cache's memory; undefined before the first append().
  Tensor keys() const { return filled(keys_); }
  Tensor values() const { return filled(values_); }
  /// Returns the bytes of both rings, which are allocated by the first append().
  Size bytes() const;

 private:
  Tensor filled(const Tensor& ring) const;

  Size window_, length_ = 0;
  Tensor keys_, values_;  // (…, window, d)
};

}  // namespace tapestry
