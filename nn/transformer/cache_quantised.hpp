// A cache of 8-bit keys and values, with one scale for each row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Keys and values of one layer in 8 bits. A row is the key or the value of one head at one position, d numbers x.
/// It is stored as integers round(x / s) in [−127, 127] and the scale s = max |x| / 127, in f32. So each number that
/// is read differs from x by at most s / 2, and a row takes d + 4 bytes. For use without a tape.
class QuantisedCache {
 public:
  /// Appends keys (…, T, d_k) and values (…, T, d_v). Throws if keys and values differ in T, if another axis or the
  /// type differs from before, if a number is not finite, or if a tape is active.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions.
  Size length() const { return keys_.positions; }
  /// keys() and values() return all positions (…, length, d), computed from the integers in the type that was
  /// appended; undefined before the first append().
  Tensor keys() const { return keys_.read(); }
  Tensor values() const { return values_.read(); }
  /// Returns the bytes of all integers and scales.
  Size bytes() const { return keys_.bytes() + values_.bytes(); }

 private:
  struct Rows {
    void append(const Tensor& x);
    Tensor read() const;
    Size bytes() const;

    Tensor like;  // an empty tensor (…, 0, d) with the shape and type of all
    Size positions = 0;
    std::vector<std::int8_t> numbers;  // (positions, …, d): a new position is appended at the end
    std::vector<float> scales;         // (positions, …)
  };
  Rows keys_, values_;
};

}  // namespace tapestry
