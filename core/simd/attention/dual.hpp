// Dual numbers on lanes: a value and its slope, so that one formula also gives its derivative.
//
// With x = {x, 1} and constants c = {c, 0}, f(x) = {f(x), f'(x)}: each operation below is one rule of
// differentiation (Griewank & Walther 2008, chapter 3). Where a slope jumps, the rules match core/ops: min and max
// give half the slope to each of two equal numbers, and abs has slope 0 at 0.
#pragma once

#include <type_traits>

#include "core/simd/math.hpp"
#include "core/simd/runtime/arch.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// max(x, 0) and x / (1 + e^−x) on lanes, for the lambdas of scores. NaN stays NaN.
template <class T>
inline Lanes<T> relu(Lanes<T> x) {
  return max(Lanes<T>(T(0)), x);
}
template <class T>
inline Lanes<T> silu(Lanes<T> x) {
  return x * sigmoid(x);
}

/// A value and its derivative.
template <class T>
struct Dual {
  using Value = Lanes<T>;
  Value value, slope;

  Dual(Value value_in, Value slope_in) : value(value_in), slope(slope_in) {}
  /// A constant, with slope 0.
  Dual(Value constant) : value(constant), slope(T(0)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Dual(Number constant) : Dual(Value(constant)) {}

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, fma(a.slope, b.value, a.value * b.slope)};
  }
  friend Dual operator/(Dual a, Dual b) {
    const Value ratio = a.value / b.value;
    return {ratio, (a.slope - ratio * b.slope) / b.value};
  }
  friend Dual operator-(Dual a) { return {-a.value, -a.slope}; }

  Dual& operator+=(Dual other) { return *this = *this + other; }
  Dual& operator-=(Dual other) { return *this = *this - other; }
  Dual& operator*=(Dual other) { return *this = *this * other; }
  Dual& operator/=(Dual other) { return *this = *this / other; }

  friend LanesBool<T> operator<(Dual a, Dual b) { return a.value < b.value; }
  friend LanesBool<T> operator<=(Dual a, Dual b) { return a.value <= b.value; }
  friend LanesBool<T> operator>(Dual a, Dual b) { return a.value > b.value; }
  friend LanesBool<T> operator>=(Dual a, Dual b) { return a.value >= b.value; }
  friend LanesBool<T> operator==(Dual a, Dual b) { return a.value == b.value; }
  friend LanesBool<T> operator!=(Dual a, Dual b) { return a.value != b.value; }

  friend Dual select(LanesBool<T> condition, Dual yes, Dual no) {
    return {select(condition, yes.value, no.value), select(condition, yes.slope, no.slope)};
  }
  friend Dual select(bool condition, Dual yes, Dual no) { return condition ? yes : no; }
  friend Dual min(Dual a, Dual b) { return select(a.value == b.value, half(a, b), select(b < a, b, a)); }
  friend Dual max(Dual a, Dual b) { return select(a.value == b.value, half(a, b), select(b > a, b, a)); }
  friend Dual abs(Dual a) {
    const Value zero(T(0));
    return select(a.value == zero, Dual(zero), select(a.value < zero, -a, a));
  }
  friend Dual exp(Dual a) {
    const Value y = exp(a.value);
    return {y, a.slope * y};
  }
  friend Dual log(Dual a) { return {log(a.value), a.slope / a.value}; }
  friend Dual sqrt(Dual a) {
    const Value y = sqrt(a.value);
    return {y, a.slope / (y + y)};
  }
  friend Dual tanh(Dual a) {
    const Value y = tanh(a.value);
    return {y, a.slope * (Value(T(1)) - y * y)};
  }
  friend Dual sigmoid(Dual a) {
    const Value y = sigmoid(a.value);
    return {y, a.slope * y * (Value(T(1)) - y)};
  }
  friend Dual relu(Dual a) { return {relu(a.value), select(a.value > Value(T(0)), a.slope, Value(T(0)))}; }
  friend Dual softplus(Dual a) { return {softplus(a.value), a.slope * sigmoid(a.value)}; }
  friend Dual silu(Dual a) {
    const Value s = sigmoid(a.value);
    return {a.value * s, a.slope * s * fma(a.value, Value(T(1)) - s, Value(T(1)))};
  }
  friend Dual sin(Dual a) { return {sin(a.value), a.slope * cos(a.value)}; }
  friend Dual cos(Dual a) { return {cos(a.value), -a.slope * sin(a.value)}; }
  friend Dual floor(Dual a) { return {floor(a.value), Value(T(0))}; }
  friend Dual fmod(Dual a, Dual b) {
    return {fmod(a.value, b.value), fma(-trunc_div(a.value, b.value), b.slope, a.slope)};
  }
  friend Dual operator%(Dual a, Dual b) { return fmod(a, b); }
  friend Dual pow(Dual a, Dual b) {
    const Value y = pow(a.value, b.value);
    return {y, pow_slope(a.value, b.value, a.slope) + pow_exponent_slope(a.value, y, b.slope)};
  }
  /// Power with one exponent for all lanes; small integer exponents use products.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  friend Dual pow(Dual a, Number n) {
    const auto exponent = static_cast<double>(n);
    if (exponent == 0) return Dual(Value(T(1)));
    return {pow(a.value, exponent), a.slope * (Value(T(exponent)) * pow(a.value, exponent - 1))};
  }

 private:
  /// Returns min or max of equal a and b, with half of each slope.
  static Dual half(Dual a, Dual b) { return {a.value, (a.slope + b.slope) * Value(T(0.5))}; }
};

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
