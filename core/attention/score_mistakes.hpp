// Operators that reject mistakes in a score's lambda with one readable compile error.
#pragma once

#include <concepts>

#include "core/attention/symbol.hpp"
#include "core/simd/attention/dual.hpp"

namespace tapestry {

namespace detail {

template <class X>
inline constexpr bool kIsScoreNumber = std::same_as<X, Symbol>;
template <class T>
inline constexpr bool kIsScoreNumber<simd::Lanes<T>> = true;
template <class T>
inline constexpr bool kIsScoreNumber<simd::Dual<T>> = true;

template <class A, class B>
concept ScoreAndTensor = (kIsScoreNumber<A> && std::derived_from<B, Tensor>) ||
                         (std::derived_from<A, Tensor> && kIsScoreNumber<B>);

template <class A, class B>
A refuse_tensor(const A& a, const B&) {
  static_assert(sizeof(A) == 0,
                "a score's lambda must not compute with tensors that it captured; pass the tensor to "
                "score_mod, as learned(tensor) or as a constant, and read it with indices: w(at.h)");
  return a;
}

}  // namespace detail

/// Rejects a + b, a - b, a * b, a / b and a % b of a score's number and a captured tensor at compile time. The
/// message says to pass the tensor to score_mod().
template <class A, class B>
requires detail::ScoreAndTensor<A, B>
auto operator+(const A& a, const B& b) { return detail::refuse_tensor(a, b); }
template <class A, class B>
requires detail::ScoreAndTensor<A, B>
auto operator-(const A& a, const B& b) { return detail::refuse_tensor(a, b); }
template <class A, class B>
requires detail::ScoreAndTensor<A, B>
auto operator*(const A& a, const B& b) { return detail::refuse_tensor(a, b); }
template <class A, class B>
requires detail::ScoreAndTensor<A, B>
auto operator/(const A& a, const B& b) { return detail::refuse_tensor(a, b); }
template <class A, class B>
requires detail::ScoreAndTensor<A, B>
auto operator%(const A& a, const B& b) { return detail::refuse_tensor(a, b); }

}  // namespace tapestry
