#include "core/tensor/mask.hpp"

#include <algorithm>
#include <optional>

#include "core/tensor/broadcast.hpp"
#include "core/tensor/index.hpp"

namespace tapestry {

Mask Mask::causal(Size queries, Size keys) {
  return from(queries, keys, [shift = keys - queries](Size i, Size j) { return j <= i + shift; });
}

Mask Mask::window(Size queries, Size keys, Size before, Size after) {
  if (before < 0 || after < 0)
    fail("[window] before and after must be at least 0, got {} and {}", before, after);
  return from(queries, keys, [shift = keys - queries, before, after](Size i, Size j) {
    const Size distance = j - (i + shift);  // i + after may overflow
    return distance >= -before && distance <= after;
  });
}

Mask Mask::reshape(const Dims& shape) const {
  if (shape.count() != count())
    fail("[reshape] a mask of shape {} does not fill shape {}", to_string(shape_), to_string(shape));
  Mask result = *this;
  if (shape != shape_) result.take_shape(shape);
  return result;
}

Mask Mask::unsqueeze(int axis) const {
  Mask result = *this;
  const std::optional<int> place = new_axis_of(axis, rank());
  if (!place) fail("[unsqueeze] a mask of shape {} cannot get a new axis at {}", to_string(shape_), axis);
  result.shape_.insert(*place, 1);
  result.stride_.insert(*place, 0);
  return result;
}

View<const bool> Mask::broadcast(const Dims& shape, const char* op) const {
  static constexpr bool kAllowed = true;
  if (!broadcasts_to(shape_, shape))
    fail(
        "[{}] a mask of shape {} does not broadcast to scores of shape {}; put the batch axis first and "
        "the keys last",
        op, to_string(shape_), to_string(shape));
  return {defined() ? data() : &kAllowed, shape, broadcast_strides(shape_, stride_, shape)};
}

Mask Mask::expand(const Dims& shape, const char* op) const {
  Mask result = *this;
  result.stride_ = broadcast(shape, op).stride;
  result.shape_ = shape;
  return result;
}

namespace {

Dims shape_of_both(const Mask& a, const Mask& b, const char* op) {
  const auto [shape, clash] = joint_shape(a.shape(), b.shape());
  if (clash > 0)
    fail("[{}] masks of shapes {} and {} do not broadcast", op, to_string(a.shape()), to_string(b.shape()));
  return shape;
}

template <class F>
void combine(bool* out, const View<const bool>& a, const View<const bool>& b, F f) {
  detail::each_offset<2>(a.shape, {a.stride, b.stride},
                         [&](const auto& at) { *out++ = f(a.data[at[0]], b.data[at[1]]); });
}

}  // namespace

Mask Mask::any(const Dims& shape) const {
  if (!broadcasts_to(shape, shape_))
    fail("[any] sizes must be those of the mask {} or 1, got {}", to_string(shape_), to_string(shape));
  const bool* values = data();
  Mask result;
  bool* out = result.allocate(shape);
  std::fill_n(out, shape.count(), false);
  detail::each_offset<2>(shape_, {stride_, broadcast_strides(shape, result.stride_, shape_)},
                         [&](const auto& at) { out[at[1]] |= values[at[0]]; });
  return result;
}

bool Mask::all() const {
  const bool* values = data();
  bool all = true;
  detail::each_offset<1>(shape_, {stride_}, [&](const auto& at) { all &= values[at[0]]; });
  return all;
}

Mask operator&(const Mask& a, const Mask& b) {
  if (!a.defined() || !b.defined()) return a.defined() ? a : b;
  const Dims shape = shape_of_both(a, b, "&");
  Mask result;
  combine(result.allocate(shape), a.broadcast(shape, "&"), b.broadcast(shape, "&"),
          [](bool x, bool y) { return x && y; });
  return result;
}

Mask operator|(const Mask& a, const Mask& b) {
  if (!a.defined() || !b.defined()) return {};
  const Dims shape = shape_of_both(a, b, "|");
  Mask result;
  combine(result.allocate(shape), a.broadcast(shape, "|"), b.broadcast(shape, "|"),
          [](bool x, bool y) { return x || y; });
  return result;
}

Mask operator!(const Mask& a) {
  if (!a.defined()) fail("[!] cannot negate an undefined mask, which allows everything; give it values");
  Mask result;
  bool* out = result.allocate(a.shape_);
  detail::each_offset<1>(a.shape_, {a.stride_}, [&](const auto& at) { *out++ = !a.data()[at[0]]; });
  return result;
}

ValidLengths::ValidLengths(std::vector<Size> lengths)
    : lengths_(std::move(lengths)), shape_{static_cast<Size>(lengths_.size())} {
  for (Size length : lengths_)
    if (length < 0) fail("valid lengths must be at least 0, got {}", length);
}

ValidLengths::ValidLengths(std::initializer_list<std::initializer_list<Size>> per_query) {
  const std::size_t queries = per_query.size() ? per_query.begin()->size() : 0;
  for (const auto& row : per_query) {
    if (row.size() != queries)
      fail("valid lengths per query must have rows of equal sizes, got {} and {}", queries, row.size());
    lengths_.insert(lengths_.end(), row.begin(), row.end());
  }
  for (Size length : lengths_)
    if (length < 0) fail("valid lengths must be at least 0, got {}", length);
  shape_ = {static_cast<Size>(per_query.size()), static_cast<Size>(queries)};
}

Size ValidLengths::longest() const {
  return lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
}

Mask ValidLengths::mask(Size keys) const {
  if (longest() > keys)
    fail("[mask] valid lengths must not exceed the number of keys, got {} for {} keys", longest(), keys);
  const auto rows = static_cast<Size>(lengths_.size());
  const Mask flat = Mask::from(rows, keys, [this](Size i, Size j) { return j < (*this)[i]; });
  return flat.reshape({shape_[0], per_query() ? shape_[1] : 1, keys});
}

}  // namespace tapestry
