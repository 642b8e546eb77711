#include "nn/transformer/cache.hpp"

#include <algorithm>
#include <utility>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"
#include "nn/transformer/cache_store.hpp"

namespace tapestry {

namespace {

/// Returns positions [begin, end) of the time axis.
Tensor places(const Tensor& x, Size begin, Size end) { return slice(x, -2, begin, end); }

/// Copies x to the positions from `at` on; first enlarges the store if its capacity is below `capacity`.
void write(Tensor& store, const Tensor& x, Size at, Size capacity) {
  if (!store.defined() || store.size(-2) < capacity) {
    Tensor larger = Tensor::uninitialised(detail::with_positions(x, capacity), x.dtype());
    if (store.defined()) {
      Tensor filled = places(larger, 0, at);
      assign(filled, places(store, 0, at));
    }
    store = larger;
  }
  detail::check_same_rows(x, store);
  detail::write_positions(store, at, x, 0, x.size(-2));
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
      values_(copy_of(other.values_, length_)),
      data_(copy_of(other.data_, length_)) {
  for (const Tensor& part : other.state_) {
    Tensor copy = Tensor::uninitialised(part.shape(), part.dtype());
    assign(copy, part);
    state_.push_back(copy);
  }
}

void KeyValueCache::append(const Tensor& keys, const Tensor& values, const Tensor& data) {
  detail::check_no_tape();
  if (length_ > 0 &&
      (!keys_.defined() || values.defined() != values_.defined() || data.defined() != data_.defined()))
    fail("[cache] each call must append the same parts (keys, values, data), got others than before");
  const Size added = keys.size(-2);
  while (length_ + added > capacity_) capacity_ = std::max<Size>(1, 2 * capacity_);
  write(keys_, keys, length_, capacity_);
  if (values.defined()) write(values_, values, length_, capacity_);
  if (data.defined()) write(data_, data, length_, capacity_);
  length_ += added;
}

Tensor KeyValueCache::keys() const { return keys_.defined() ? places(keys_, 0, length_) : keys_; }
Tensor KeyValueCache::values() const { return values_.defined() ? places(values_, 0, length_) : values_; }
Tensor KeyValueCache::data() const { return data_.defined() ? places(data_, 0, length_) : data_; }

void KeyValueCache::set_state(std::vector<Tensor> state, Size added) {
  detail::check_no_tape();
  state_ = std::move(state);
  length_ += added;
}

void KeyValueCache::keep_positions(Size length, const std::vector<Size>& more) {
  detail::check_no_tape();
  Size last = length - 1;
  for (const Size position : more) {
    if (length < 0 || position <= last || position >= length_)
      fail("[cache] kept positions must increase, from {} on and below the length {}, got {} after {}",
           length, length_, position, last);
    last = position;
  }
  if (length < 0 || length > length_)
    fail("[cache] length must be from 0 to the number of positions, {}, got {}", length_, length);
  const Size kept = length + static_cast<Size>(more.size());
  if (!state_.empty() && kept != length_)
    fail(
        "[cache] a state of constant size cannot forget, got {} of {} positions to keep; copy the cache first",
        kept, length_);
  Size to = length;
  for (const Size from : more) {
    for (const Tensor* store : {&keys_, &values_, &data_}) {
      if (!store->defined() || from == to) continue;
      Tensor target = places(*store, to, to + 1);
      assign(target, places(*store, from, from + 1));
    }
    ++to;
  }
  length_ = kept;
}

void KeyValueCache::keep_rows(const std::vector<Size>& rows) {
  const Indices ids(rows, {static_cast<Size>(rows.size())});
  for (Tensor* store : {&keys_, &values_, &data_})
    if (store->defined()) *store = embedding(*store, ids);
  for (Tensor& part : state_) part = embedding(part, ids);
}

}  // namespace tapestry
