// Functions that work element by element, powers, extremes and choices among them.
#pragma once

#include "core/tensor/tensor.hpp"
#include "core/tensor/values.hpp"

namespace tapestry {

/// exp, log and sqrt: eˣ, the natural logarithm, and √x.
Tensor exp(const Tensor& x, CallSite at = {});
Tensor log(const Tensor& x, CallSite at = {});
Tensor sqrt(const Tensor& x, CallSite at = {});
/// The derivative at 0 is taken as 0.
Tensor abs(const Tensor& x, CallSite at = {});
/// (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ)
Tensor tanh(const Tensor& x, CallSite at = {});
/// sin and cos of angles in radians.
Tensor sin(const Tensor& x, CallSite at = {});
Tensor cos(const Tensor& x, CallSite at = {});
/// The largest whole number that is not above x; its derivative is 0.
Tensor floor(const Tensor& x, CallSite at = {});
/// 1 / (1 + e⁻ˣ)
Tensor sigmoid(const Tensor& x, CallSite at = {});
/// max(x, 0); the derivative at 0 is taken as 0.
Tensor relu(const Tensor& x, CallSite at = {});
/// Which formula gelu() uses.
enum class Gelu { erf, tanh };
/// x Φ(x) (Hendrycks & Gimpel 2016), exactly or in their tanh form.
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf, CallSite at = {});
/// log(1 + eˣ)
Tensor softplus(const Tensor& x, CallSite at = {});
/// a where the mask is true, b elsewhere; all three broadcast. What stands in the places not taken is not
/// looked at.
Tensor where(const Mask& mask, const Tensor& a, const Tensor& b, CallSite at = {});

/// Element-wise a < b, as a mask; no gradient. Broadcasts.
Mask less(const Tensor& a, const Tensor& b, CallSite at = {});
/// Where a is this value, as a mask.
Mask equal(const Indices& a, std::int64_t value);

/// a raised to a number.
Tensor pow(const Tensor& a, double exponent, CallSite at = {});
/// Element-wise aᵇ. The derivative with respect to a is taken as 0 where b is 0, that with respect to b where
/// aᵇ is.
Tensor pow(const Tensor& a, const Tensor& b, CallSite at = {});
/// a − b·trunc(a / b), exactly, with the sign of a, as C's fmod and % have it.
Tensor fmod(const Tensor& a, const Tensor& b, CallSite at = {});
/// maximum, minimum: the larger, the smaller of two elements; a tie gives each half of the gradient.
/// Broadcasts.
Tensor maximum(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor minimum(const Tensor& a, const Tensor& b, CallSite at = {});
/// Elements outside [low, high] are moved to the nearer end and get no gradient; one
/// that lies on an end keeps all of its own.
Tensor clamp(const Tensor& x, double low, double high, CallSite at = {});

}  // namespace tapestry
