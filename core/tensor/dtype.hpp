// The two element types of a tensor, chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tapestry {

/// f32 to train, f64 to check gradients.
enum class DType : std::uint8_t { f32, f64 };

/// Bytes of one element.
constexpr std::size_t bytes_of(DType dtype) { return dtype == DType::f32 ? sizeof(float) : sizeof(double); }

/// "f32" or "f64"
constexpr const char* name_of(DType dtype) { return dtype == DType::f32 ? "f32" : "f64"; }

/// The DType of float, or of double.
template <class T>
inline constexpr DType kDType = std::is_same_v<T, float> ? DType::f32 : DType::f64;

/// Calls f(T{}) with T = float or double: the one place where a run-time type becomes a template's.
///     dispatch(x.dtype(), [&](auto zero) { using T = decltype(zero); … x.data<T>() … });
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  return f(double{});
}

}  // namespace tapestry
