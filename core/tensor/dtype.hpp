// DType: the element type of a tensor, f32 or f64, chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tapestry {

/// Element type: f32 for training, f64 for gradient checks.
enum class DType : std::uint8_t { f32, f64 };

/// Returns the size of one element in bytes.
constexpr std::size_t bytes_of(DType dtype) { return dtype == DType::f32 ? sizeof(float) : sizeof(double); }

/// Returns "f32" or "f64".
constexpr const char* name_of(DType dtype) { return dtype == DType::f32 ? "f32" : "f64"; }

/// DType of the C++ type T: float or double.
template <class T>
inline constexpr DType kDType = std::is_same_v<T, float> ? DType::f32 : DType::f64;

/// Calls f(T{}) with T = float or double, which turns a run-time dtype into a template argument.
///     dispatch(x.dtype(), [&](auto zero) { using T = decltype(zero); … x.data<T>() … });
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  return f(double{});
}

}  // namespace tapestry
