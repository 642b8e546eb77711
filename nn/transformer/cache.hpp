// The KV cache stores the keys and values of the tokens so far. So for each new token, a layer computes only one query,
// one key and one value. A layer without keys and values stores its inputs in the cache, or a state of constant size.
#pragma once

#include <utility>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Keys and values of one layer, or its state. Use the cache without a tape, because it does not pass on gradients. A
/// copy has its own memory, so that two texts can continue the same prompt.
class KeyValueCache {
 public:
  /// Constructs an empty cache for `capacity` positions. When they do not suffice, the capacity is doubled. The first
  /// append() allocates the memory, because the shapes are not known before.
  explicit KeyValueCache(Size capacity) : capacity_(capacity) {}
  KeyValueCache(const KeyValueCache& other);
  KeyValueCache(KeyValueCache&& other) noexcept = default;
  KeyValueCache& operator=(const KeyValueCache& other) { return *this = KeyValueCache(other); }
  KeyValueCache& operator=(KeyValueCache&& other) noexcept = default;
  ~KeyValueCache() = default;

  /// Returns the number of filled positions.
  Size length() const { return length_; }
  /// Appends T positions: keys (B, heads…, T, d_k), values (B, heads…, T, d_v) and data (B, T, n), n other numbers for
  /// each token. Grouped heads have two axes. A layer may omit values and data. Throws Error if a part has fewer than
  /// two axes, if parts differ in T, if the batch, heads, width or type differs from before, if other parts are given
  /// than before, or if a tape is active. The cache is then unchanged.
  void append(const Tensor& keys, const Tensor& values = {}, const Tensor& data = {});
  /// keys(), values() and data() return all filled positions, (B, heads…, length, d) and (B, length, n), as views of
  /// this cache's memory. A part that was never appended is undefined.
  Tensor keys() const;
  Tensor values() const;
  Tensor data() const;
  /// Replaces the state, tensors (B, …), of a layer whose state has constant size, such as a recurrent one. The new
  /// state includes `added` more tokens, so length() grows by `added`. Throws Error if a tape is active.
  void set_state(std::vector<Tensor> state, Size added);
  /// Returns the state; empty before the first token.
  const std::vector<Tensor>& state() const { return state_; }
  /// A point to which rewind() can return: all that append() and set_state() change.
  struct Snapshot {
    Size length;                // filled positions
    std::vector<Tensor> state;  // as state()
    Size edits = 0;             // earlier calls that moved or removed positions; rewind() compares it
  };
  /// Returns the present length and state, for rewind().
  Snapshot snapshot() const { return {length_, state_, edits_}; }
  /// Undoes every append() and set_state() since snapshot() of this cache was called. You may rewind to a snapshot
  /// several times. Throws Error if the positions of the snapshot have changed since: if reorder_rows() was called, if
  /// keep_positions() moved or removed one of them, or if rewind() returned to an earlier snapshot. A snapshot of the
  /// empty cache always fits.
  void rewind(Snapshot to);
  /// Keeps the first `length` positions and the positions in `more`, in this order, and removes all others. The kept
  /// positions move together in memory, so earlier results of keys(), values() and data() change. Throws Error unless
  /// length ≤ more[0] < more[1] < … < length(). Also throws if a tape is active, or if a token would be removed and
  /// there is a state, because a state cannot forget a token.
  ///
  /// A kept key keeps the position that it was computed for, for example its rotary angle. So if keys move, pass the
  /// positions of all keys with the next tokens (`positions` of TransformerBlock). Otherwise the next tokens count from
  /// length() on. If no positions are kept, the next tokens may have another shape.
  void keep_positions(Size length, const std::vector<Size>& more = {});
  /// Replaces each batch row i by the former row rows[i], so that a beam search can copy and drop hypotheses. Unless
  /// there are more rows than before, they are moved in place, so earlier results of keys(), values() and data()
  /// change. Throws Error if a row does not exist.
  void reorder_rows(const std::vector<Size>& rows);

 private:
  void edit(Size unchanged);

  Size capacity_ = 0, length_ = 0;
  Tensor keys_, values_, data_;  // (B, heads…, capacity, d)
  std::vector<Tensor> state_;
  // Edits are calls that move or remove positions. Each pair of `edited_` has the number of an edit and the number of
  // first positions that this and all later edits left unchanged. Both increase from pair to pair.
  Size edits_ = 0;
  std::vector<std::pair<Size, Size>> edited_;
};

}  // namespace tapestry
