#include "nn/transformer/cache.hpp"

#include <algorithm>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"

namespace tapestry {

namespace {

/// Returns positions [begin, end) of the time axis.
Tensor places(const Tensor& x, Size begin, Size end) { return slice(x, -2, begin, end); }

/// Copies x to the positions from `at` on; first enlarges the store if its capacity is below `capacity`.
void write(Tensor& store, const Tensor& x, Size at, Size capacity) {
  Dims room = x.shape();
  room[x.rank() - 2] = capacity;
  if (!store.defined() || store.size(-2) < capacity) {
    Tensor larger = Tensor::uninitialised(room, x.dtype());
    if (store.defined()) {
      Tensor filled = places(larger, 0, at);
      assign(filled, places(store, 0, at));
    }
    store = larger;
  }
  if (store.shape() != room || store.dtype() != x.dtype())
    fail("[cache] batch, heads, width and type must stay the same, got {} after {}", describe(x),
         describe(store));
  Tensor target = places(store, at, at + x.size(-2));
  assign(target, x);
}

/// Returns a copy with its own memory. Only the filled positions are copied.
Tensor copy_of(const Tensor& store, Size filled) {
  if (!store.defined()) return store;
  Tensor copy = Tensor::uninitialised(store.shape(), store.dtype());
  Tensor target = places(copy, 0, filled);
  assign(target, places(store, 0, filled));
  return copy;
}

}  // namespace

KeyValueCache::KeyValueCache(const KeyValueCache& other)
    : capacity_(other.capacity_),
      length_(other.length_),
      keys_(copy_of(other.keys_, length_)),
      values_(copy_of(other.values_, length_)) {}

void KeyValueCache::append(const Tensor& keys, const Tensor& values) {
  if (Tape::active()) fail("[cache] a cache must be used without a tape; end the tape's scope first");
  const Size added = keys.size(-2);
  while (length_ + added > capacity_) capacity_ = std::max<Size>(1, 2 * capacity_);
  write(keys_, keys, length_, capacity_);
  write(values_, values, length_, capacity_);
  length_ += added;
}

Tensor KeyValueCache::keys() const { return places(keys_, 0, length_); }
Tensor KeyValueCache::values() const { return places(values_, 0, length_); }

void KeyValueCache::keep_rows(const std::vector<Size>& rows) {
  const Indices ids(rows, {static_cast<Size>(rows.size())});
  for (Tensor* store : {&keys_, &values_})
    if (store->defined()) *store = embedding(*store, ids);
}

}  // namespace tapestry
