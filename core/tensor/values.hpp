// Values that are no tensors of numbers: token ids, masks, lengths. Types of their own, so that a mask cannot
// be passed for a score or an id for a length. They take no gradient and never change.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

namespace detail {

/// An immutable strided array; a handle, like Tensor.
template <class T>
class Array {
 public:
  Array() = default;
  Array(std::span<const T> values, const Dims& shape);

  bool defined() const { return static_cast<bool>(buffer_); }
  const Dims& shape() const { return shape_; }
  const Dims& strides() const { return stride_; }
  int rank() const { return shape_.rank(); }
  Size count() const { return shape_.count(); }
  /// Throws if there are no values.
  const T* data() const {
    if (!buffer_) [[unlikely]]
      refuse_access();
    return reinterpret_cast<const T*>(buffer_->data()) + offset_;
  }
  View<const T> view() const { return {data(), shape_, stride_}; }
  /// The memory behind the values, which keeps what is worked out from them. Throws if there are no values.
  Buffer& buffer() const {
    if (!buffer_) [[unlikely]]
      refuse_access();
    return *buffer_;
  }
  /// All values, in row-major order.
  std::vector<T> to_vector() const;

 protected:
  /// New memory, to be filled through the returned pointer.
  T* allocate(const Dims& shape);
  /// Takes on a shape of as many elements: without a copy if they lie one after the other.
  void take_shape(const Dims& shape);

  Ref<Buffer> buffer_;
  Dims shape_, stride_;
  Size offset_ = 0;

 private:
  [[noreturn]] static void refuse_access();
};

}  // namespace detail

/// Token ids, class labels, positions: whole numbers of any shape.
class Indices : public detail::Array<std::int64_t> {
 public:
  using Array::Array;
  Indices(std::initializer_list<std::int64_t> values)
      : Array(std::span(values.begin(), values.size()), {static_cast<Size>(values.size())}) {}
  /// Of a shape of as many elements; others throw Error.
  Indices(std::initializer_list<std::int64_t> values, const Dims& shape)
      : Array(std::span(values.begin(), values.size()), shape) {}

  /// The same ids under a shape of as many elements; others throw Error.
  Indices reshape(const Dims& shape) const;
  /// The same in row-major order, in memory without gaps; no copy if they lie so already.
  Indices contiguous() const { return reshape(shape_); }
  /// Columns [begin, end) of the last axis.
  Indices columns(Size begin, Size end) const;
  /// One column of the last axis; the axis goes.
  Indices column(Size index) const;
};

/// **true = may attend.** Any shape; broadcasts like a tensor. A Mask that was given no values stands for no
/// mask at all: everything is allowed.
class Mask : public detail::Array<bool> {
 public:
  using Array::Array;

  /// Rank-2 (rows, columns) from f(row, column).
  template <class F>
  static Mask from(Size rows, Size columns, F f) {
    Mask mask;
    bool* out = mask.allocate({rows, columns});
    for (Size i = 0; i < rows; ++i)
      for (Size j = 0; j < columns; ++j) *out++ = f(i, j);
    return mask;
  }
  /// Query i may attend to key j where j ≤ i + (keys − queries): the last query sees every key.
  static Mask causal(Size queries, Size keys);
  /// Query i may attend to keys i + (keys − queries) − before … i + (keys − queries) + after, as far as there
  /// are such keys: a window that slides along, and ends where causal() ends. window(n, n, 2, 0): itself and
  /// two before.
  static Mask window(Size queries, Size keys, Size before, Size after);
  /// Does not compile: a mask has many answers, a bool has one.
  template <std::same_as<bool> Bool>
  explicit operator Bool() const {
    static_assert(sizeof(Bool) == 0,
                  "a comparison of many numbers has many answers, so if, ?:, && and || cannot take it: use "
                  "select(condition, a, b), & and |");
    return false;
  }
  /// reshape(): under a shape of as many elements; unsqueeze(): with an axis of size 1 before `axis`. Views;
  /// what does not fit throws Error.
  Mask reshape(const Dims& shape) const;
  Mask unsqueeze(int axis) const;
  /// x as a view of `shape`, with stride 0 where it repeats; throws if it does not broadcast to it.
  View<const bool> broadcast(const Dims& shape, const char* op) const;
  /// For each element of `shape`, whether the mask is true at one of the places that it repeats to when it is
  /// broadcast to the mask: any({…, Tq, 1}) of a mask (…, Tq, Tk) tells which queries may see some key.
  /// Throws if the shape does not broadcast to the mask's.
  Mask any(const Dims& shape) const;
  /// Whether every element is true; so it is without any.
  bool all() const;
  /// The same as a mask: a view, without a copy.
  Mask expand(const Dims& shape, const char* op = __builtin_FUNCTION()) const;

  /// a & b: both must allow; a | b: either may allow; they broadcast. !a: the opposite; of no mask at all it
  /// throws.
  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);
  friend Mask operator!(const Mask& a);
};

/// How many keys are valid: one number for each batch row (B), or for each query (B, Tq).
class ValidLengths {
 public:
  ValidLengths() = default;
  explicit ValidLengths(std::vector<Size> lengths);
  ValidLengths(std::initializer_list<Size> lengths) : ValidLengths(std::vector<Size>(lengths)) {}
  ValidLengths(std::initializer_list<std::initializer_list<Size>> per_query);

  /// Whether lengths were given; without them all keys are valid.
  bool defined() const { return !lengths_.empty() || shape_.rank() > 0; }
  /// Whether there is one for each query; the shape() is then (B, Tq), and (B) otherwise.
  bool per_query() const { return shape_.rank() == 2; }
  const Dims& shape() const { return shape_; }
  Size operator[](Size i) const { return lengths_[static_cast<std::size_t>(i)]; }
  /// The largest of them; 0 without any.
  Size longest() const;

  /// (B, 1, keys), or (B, Tq, keys) for lengths per query: true for keys j < length. Lengths above `keys`
  /// throw.
  Mask mask(Size keys) const;

 private:
  std::vector<Size> lengths_;
  Dims shape_;
};

}  // namespace tapestry
