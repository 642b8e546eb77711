// A formula's numbers as whole tensors: the same lambda that runs on SIMD lanes and on duals runs on these,
// op by op, and is then the reference for both.
#pragma once

#include <type_traits>
#include <vector>

#include "core/create.hpp"
#include "core/ops/arithmetic.hpp"
#include "core/ops/pointwise.hpp"

namespace tapestry {

struct Symbol {
  Tensor tensor;
  bool number = false;  ///< a plain number, which takes the type of what stands beside it

  Symbol(Tensor tensor_in) : tensor(std::move(tensor_in)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Symbol(Number value)
      : tensor(scalar(static_cast<double>(value), DType::f64)), number(true) {}

  /// This one in the type of the other.
  Tensor beside(const Symbol& other) const {
    return number && !other.number ? tensor.to(other.tensor.dtype()) : tensor;
  }

  friend Symbol operator+(const Symbol& a, const Symbol& b) { return add(a.beside(b), b.beside(a)); }
  friend Symbol operator-(const Symbol& a, const Symbol& b) { return sub(a.beside(b), b.beside(a)); }
  friend Symbol operator*(const Symbol& a, const Symbol& b) { return mul(a.beside(b), b.beside(a)); }
  friend Symbol operator/(const Symbol& a, const Symbol& b) { return div(a.beside(b), b.beside(a)); }
  friend Symbol operator-(const Symbol& a) { return neg(a.tensor); }

  Symbol& operator+=(const Symbol& other) { return *this = *this + other; }
  Symbol& operator-=(const Symbol& other) { return *this = *this - other; }
  Symbol& operator*=(const Symbol& other) { return *this = *this * other; }
  Symbol& operator/=(const Symbol& other) { return *this = *this / other; }

  friend Mask operator<(const Symbol& a, const Symbol& b) { return less(a.beside(b), b.beside(a)); }
  friend Mask operator>(const Symbol& a, const Symbol& b) { return b < a; }
  friend Mask operator<=(const Symbol& a, const Symbol& b) { return !(b < a); }
  friend Mask operator>=(const Symbol& a, const Symbol& b) { return !(a < b); }
  friend Mask operator==(const Symbol& a, const Symbol& b) { return (a <= b) & (b <= a); }
  friend Mask operator!=(const Symbol& a, const Symbol& b) { return !(a == b); }

  friend Symbol select(const Mask& condition, const Symbol& yes, const Symbol& no) {
    return where(condition, yes.beside(no), no.beside(yes));
  }
  friend Symbol min(const Symbol& a, const Symbol& b) { return minimum(a.beside(b), b.beside(a)); }
  friend Symbol max(const Symbol& a, const Symbol& b) { return maximum(a.beside(b), b.beside(a)); }
  friend Symbol abs(const Symbol& a) { return abs(a.tensor); }
  friend Symbol exp(const Symbol& a) { return exp(a.tensor); }
  friend Symbol log(const Symbol& a) { return log(a.tensor); }
  friend Symbol sqrt(const Symbol& a) { return sqrt(a.tensor); }
  friend Symbol tanh(const Symbol& a) { return tanh(a.tensor); }
  friend Symbol sigmoid(const Symbol& a) { return sigmoid(a.tensor); }
  friend Symbol sin(const Symbol& a) { return sin(a.tensor); }
  friend Symbol cos(const Symbol& a) { return cos(a.tensor); }
  friend Symbol floor(const Symbol& a) { return floor(a.tensor); }
  friend Symbol fmod(const Symbol& a, const Symbol& b) { return fmod(a.beside(b), b.beside(a)); }
  friend Symbol operator%(const Symbol& a, const Symbol& b) { return fmod(a, b); }
  friend Symbol pow(const Symbol& a, const Symbol& b) {
    return b.number ? pow(a.tensor, b.tensor.item()) : pow(a.beside(b), b.tensor);
  }
};

/// table[index…], the indices broadcast against each other; those outside are moved to the nearest place.
Symbol read(const Tensor& table, const std::vector<Symbol>& index);

}  // namespace tapestry
