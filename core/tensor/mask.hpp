// Masks, and valid lengths, which can be converted to masks. Separate types prevent you from passing a mask as a score
// or an id as a length.
#pragma once

#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/tensor/array.hpp"

namespace tapestry {

class Mask;
/// A type with a function mask() without arguments, such as BlockMask.
template <class Pairs>
concept MakesMask = requires(const Pairs& pairs) {
  { pairs.mask() } -> std::same_as<Mask>;
};

/// Boolean mask: **true = may attend.** Any shape; broadcasts like a tensor. An undefined Mask (without values) allows
/// everything.
class Mask : public detail::Array<bool> {
 public:
  using Array::Array;
  /// Fails to compile: a BlockMask must be converted with its mask().
  template <MakesMask Pairs>
  Mask(const Pairs&) {
    static_assert(sizeof(Pairs) == 0,
                  "a layer's mask must be a Mask: pass tiles.mask(), or use Mask::from(queries, keys, f)");
  }

  /// Returns a mask (rows, columns) with the values f(row, column).
  template <class F>
  static Mask from(Size rows, Size columns, F f) {
    constexpr bool kIsRule = std::is_invocable_r_v<bool, F&, Size, Size>;
    static_assert(
        kIsRule,
        "Mask::from: the lambda must take the indices (Size i, Size j) of query and key, and return bool");
    Mask mask;
    bool* out = mask.allocate({rows, columns});
    if constexpr (kIsRule)
      for (Size i = 0; i < rows; ++i)
        for (Size j = 0; j < columns; ++j) *out++ = f(i, j);
    return mask;
  }
  /// Causal mask: query i may attend to key j if j ≤ i + (keys − queries). The last query sees every key.
  static Mask causal(Size queries, Size keys);
  /// Sliding window: with p = i + (keys − queries), query i may attend to the existing keys p − before … p + after. It
  /// is aligned with causal(): window(n, n, 2, 0) allows the key at i and the two before it. Throws Error for negative
  /// `before` or `after`.
  static Mask window(Size queries, Size keys, Size before, Size after);
  /// Fails to compile: a mask has a bool for each element, so it cannot be used as a condition of `if`.
  template <std::same_as<bool> Bool>
  explicit operator Bool() const {
    static_assert(sizeof(Bool) == 0,
                  "a comparison has one bool for each element and cannot be used in if, ?:, && or ||; use "
                  "select(condition, a, b), & and |");
    return false;
  }
  /// reshape() changes the shape; unsqueeze() inserts an axis of size 1 before `axis`. Both avoid a copy if they can,
  /// and throw Error for a number of elements or an axis that does not fit.
  Mask reshape(const Dims& shape) const;
  Mask unsqueeze(int axis) const;
  /// Returns a view of `shape`, with stride 0 on repeated axes. Throws Error if the mask does not broadcast to it.
  View<const bool> broadcast(const Dims& shape, const char* op) const;
  /// Reduces the mask to `shape` by a logical or. For a mask (…, Tq, Tk), any({…, Tq, 1}) is true for the queries that
  /// may attend to at least one key. Throws Error unless `shape` broadcasts to the mask's shape.
  Mask any(const Dims& shape) const;
  /// Returns true if every element is true, or if there is none.
  bool all() const;
  /// Returns broadcast() as a mask, without a copy.
  Mask expand(const Dims& shape, const char* op = __builtin_FUNCTION()) const;

  /// a & b, a | b and !a: logical and, or and not. Shapes broadcast; others throw Error. An undefined mask counts as
  /// all true, except that ! throws Error for it.
  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);
  friend Mask operator!(const Mask& a);
};

/// Numbers of valid keys: one for each batch row (B), or one for each query (B, Tq). Negative ones throw Error.
class ValidLengths {
 public:
  ValidLengths() = default;
  explicit ValidLengths(std::vector<Size> lengths);
  ValidLengths(std::initializer_list<Size> lengths) : ValidLengths(std::vector<Size>(lengths)) {}
  ValidLengths(std::initializer_list<std::initializer_list<Size>> per_query);

  /// Returns true if lengths were given; without them all keys are valid.
  bool defined() const { return !lengths_.empty() || shape_.rank() > 0; }
  /// Returns true if there is one length for each query. shape() is then (B, Tq), otherwise (B).
  bool per_query() const { return shape_.rank() == 2; }
  const Dims& shape() const { return shape_; }
  Size operator[](Size i) const { return lengths_[static_cast<std::size_t>(i)]; }
  /// Returns the largest length, or 0 if there is none.
  Size longest() const;

  /// Returns the mask (B, 1, keys), or (B, Tq, keys) for lengths per query: true for keys j < length. Throws Error for
  /// lengths above `keys`.
  Mask mask(Size keys) const;

 private:
  std::vector<Size> lengths_;
  Dims shape_;
};

}  // namespace tapestry
