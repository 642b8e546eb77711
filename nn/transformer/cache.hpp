// The KV cache: keys and values of the tokens so far, so that each new token costs one query. A layer of another
// kind stores its inputs there, or a state of constant size.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

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
  /// Appends keys (B, heads…, T, d_k), values (B, heads…, T, d_v) and numbers of each token (B, T, n). A layer
  /// may use only the first of them. Throws if the batch, heads, width or type differs from before, or if a tape
  /// is active.
  void append(const Tensor& keys, const Tensor& values = {}, const Tensor& data = {});
  /// keys(), values() and data() return all so far, (B, heads…, length, d), as views of this cache's memory;
  /// undefined if none were appended.
  Tensor keys() const;
  Tensor values() const;
  Tensor data() const;
  /// Replaces the state of a layer whose memory has constant size, tensors (B, …), after `added` more tokens.
  /// Throws if a tape is active.
  void set_state(std::vector<Tensor> state, Size added);
  /// Returns the state; empty before the first token.
  const std::vector<Tensor>& state() const { return state_; }
  /// The parts of a cache that append() and set_state() change.
  struct Mark {
    Size length;                // filled positions
    std::vector<Tensor> state;  // as state()
  };
  /// Returns where the cache is now, for go_back().
  Mark mark() const { return {length_, state_}; }
  /// Undoes each append() and set_state() since mark().
  void go_back(Mark mark);
  /// Keeps the first `length` positions, then those in `more`, in this order, and forgets all others. Views change
  /// with it. Throws unless length ≤ more[0] < more[1] < … < length(), and if a state of constant size would
  /// have to forget.
  void keep_positions(Size length, const std::vector<Size>& more = {});
  /// Makes row i the former row rows[i], for a search that copies and drops hypotheses. Up to as many rows as before
  /// are moved in place, so views change with them. Throws if there is no such row.
  void keep_rows(const std::vector<Size>& rows);

 private:
  Size capacity_ = 0, length_ = 0;
  Tensor keys_, values_, data_;  // (B, heads…, capacity, d)
  std::vector<Tensor> state_;
};

}  // namespace tapestry
