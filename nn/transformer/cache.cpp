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

/// Copies x to the positions from `at` on. Before that, enlarges the store if its capacity is below `capacity`.
void write(Tensor& store, const Tensor& x, Size at, Size capacity) {
  if (!store.defined() || store.size(-2) < capacity) {
    Tensor larger = Tensor::uninitialised(detail::with_positions(x, capacity), x.dtype());
    if (store.defined()) {
      Tensor filled = places(larger, 0, at);
      assign(filled, places(store, 0, at));
    }
    store = larger;
  }
  detail::write_positions(store, at, x, 0, x.size(-2));
}

/// Copies the filled positions of row `from` of a store (B, heads…, capacity, d) to row `to` of another.
void copy_row(Tensor& target, Size to, const Tensor& source, Size from, Size filled) {
  dispatch(source.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Size head = std::max<Size>(1, source.size(-2) * source.size(-1)),
               row = source.count() / source.size(0);
    const T* in = source.data<T>() + from * row;
    T* out = target.mutable_data<T>() + to * row;
    for (Size at = 0; at < row; at += head) std::copy_n(in + at, filled * source.size(-1), out + at);
  });
}

/// Returns a store for another number of rows, without values.
Tensor with_rows(const Tensor& store, Size rows) {
  Dims shape = store.shape();
  shape[0] = rows;
  return Tensor::uninitialised(shape, store.dtype());
}

/// Makes row i of the store the former row rows[i], in place. First overwrites rows that no other row needs. Then only
/// cycles of rows remain; for each cycle, a copy of one row is kept apart.
void move_rows(Tensor& store, std::vector<Size> rows, Size filled) {
  const auto count = static_cast<Size>(rows.size());
  std::vector<Size> readers(static_cast<std::size_t>(store.size(0)), 0);
  const auto at = [](std::vector<Size>& list, Size i) -> Size& { return list[static_cast<std::size_t>(i)]; };
  for (Size i = 0; i < count; ++i) at(readers, at(rows, i)) += at(rows, i) != i;
  for (Size first = 0; first < count; ++first) {
    for (Size i = first; i < count && at(readers, i) == 0 && at(rows, i) != i;) {
      const Size from = std::exchange(at(rows, i), i);
      copy_row(store, i, store, from, filled);
      --at(readers, from);
      i = from;
    }
  }
  for (Size first = 0; first < count; ++first) {
    if (at(rows, first) == first) continue;
    Tensor apart = with_rows(store, 1);
    copy_row(apart, 0, store, first, filled);
    for (Size i = first; at(rows, i) != i;) {
      const Size from = std::exchange(at(rows, i), i);
      copy_row(store, i, from == first ? apart : store, from == first ? 0 : from, filled);
      i = from;
    }
  }
  store = slice(store, 0, 0, count);
}

/// Same, for any number of rows. More rows than before need new memory.
void keep_store_rows(Tensor& store, const std::vector<Size>& rows, Size filled) {
  const auto count = static_cast<Size>(rows.size());
  for (const Size row : rows)
    if (row < 0 || row >= store.size(0))
      fail("[cache] kept rows must be from 0 to {}, got {}", store.size(0) - 1, row);
  if (count <= store.size(0)) return move_rows(store, rows, filled);
  Tensor larger = with_rows(store, count);
  for (Size i = 0; i < count; ++i) copy_row(larger, i, store, rows[static_cast<std::size_t>(i)], filled);
  store = larger;
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
      data_(copy_of(other.data_, length_)),
      edits_(other.edits_),
      edited_(other.edited_) {
  for (const Tensor& part : other.state_) {
    Tensor copy = Tensor::uninitialised(part.shape(), part.dtype());
    assign(copy, part);
    state_.push_back(copy);
  }
}

void KeyValueCache::append(const Tensor& keys, const Tensor& values, const Tensor& data) {
  detail::check_no_tape();
  detail::check_pairs(keys, values.defined() ? values : keys);
  if (data.defined() && (data.rank() < 2 || data.size(-2) != keys.size(-2)))
    fail("[cache] data must be (batch, time, n) with one row for each key, got {} with keys {}",
         describe(data), describe(keys));
  if ((length_ > 0 || keys_.defined()) &&
      (!keys_.defined() || values.defined() != values_.defined() || data.defined() != data_.defined()))
    fail("[cache] each call must append the same parts (keys, values, data), got others than before");
  if (keys_.defined()) detail::check_same_rows(keys, keys_);
  if (values_.defined()) detail::check_same_rows(values, values_);
  if (data_.defined()) detail::check_same_rows(data, data_);
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

/// Notes a call that leaves only the first `unchanged` positions as they are.
void KeyValueCache::edit(Size unchanged) {
  while (!edited_.empty() && edited_.back().second >= unchanged) edited_.pop_back();
  edited_.emplace_back(++edits_, unchanged);
}

void KeyValueCache::rewind(Snapshot to) {
  const auto since =
      std::find_if(edited_.begin(), edited_.end(), [&](const auto& one) { return one.first > to.edits; });
  const Size unchanged = since == edited_.end() ? length_ : std::min(length_, since->second);
  if (to.length > unchanged)
    fail(
        "[cache] all positions of a snapshot must be unchanged to rewind to it, got {} unchanged of {}; call "
        "snapshot() again after reorder_rows(), keep_positions() and rewind(), or copy the cache",
        unchanged, to.length);
  if (to.length < length_) edit(to.length);
  length_ = to.length;
  state_ = std::move(to.state);
  if (length_ == 0) keys_ = values_ = data_ = Tensor();  // the next tokens may have another shape
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
  if (kept < length_) edit(length);
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
  if (length_ == 0) keys_ = values_ = data_ = Tensor();  // as in rewind()
}

void KeyValueCache::reorder_rows(const std::vector<Size>& rows) {
  for (Tensor* store : {&keys_, &values_, &data_})
    if (store->defined()) keep_store_rows(*store, rows, length_);
  edit(0);
  const Indices ids(rows, {static_cast<Size>(rows.size())});
  for (Tensor& part : state_) part = embedding(part, ids);
}

}  // namespace tapestry
