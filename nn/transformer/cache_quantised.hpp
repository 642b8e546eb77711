// KV cache that stores keys and values in 8 bits, with one scale for each row.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Keys and values of one layer in 8 bits. A *row* is the key or the value of one head at one position, a vector of d
/// numbers x. The cache stores a row as a scale s = max |x| / 127 in f32 and d integers round(x / s), which are from
/// −127 to 127. So a row takes d + 4 bytes, and each number that is read differs from x by at most about s / 2. Use the
/// cache without a tape, because it stores values only.
class QuantisedCache {
 public:
  /// Appends keys (…, T, d_k) and values (…, T, d_v). Throws Error if keys or values have fewer than two axes, if they
  /// differ in T, if another axis or the type differs from before, if a number is not finite in f32, or if a tape is
  /// active.
  void append(const Tensor& keys, const Tensor& values);
  /// Returns the number of positions.
  Size length() const { return keys_.positions; }
  /// keys() and values() return all positions (…, length, d), computed from the integers and the scales. They have the
  /// type of the appended tensors, and are undefined before the first append().
  Tensor keys() const { return keys_.read(); }
  Tensor values() const { return values_.read(); }
  /// Returns the size of all integers and scales in bytes.
  Size bytes() const { return keys_.bytes() + values_.bytes(); }

 private:
  struct Rows {
    void append(const Tensor& x);
    Tensor read() const;
    Size bytes() const;

    Tensor like;  // an empty tensor (…, 0, d), which stores the other axes and the type
    Size positions = 0;
    std::vector<std::int8_t> numbers;  // (positions, …, d): a new position is appended at the end
    std::vector<float> scales;         // (positions, …)
  };
  Rows keys_, values_;
};

}  // namespace tapestry
