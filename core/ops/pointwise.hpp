// Element-wise functions: activations, powers, comparisons, minimum, maximum and where.
//
// Every function of tensors has a last parameter `at`: the file and line of the call, for error messages. Leave it
// out; the compiler fills it in.
#pragma once

#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"
#include "core/tensor/tensor.hpp"

namespace tapestry {

/// exp, log and sqrt return eˣ, the natural logarithm and √x.
Tensor exp(const Tensor& x, CallSite at = {});
Tensor log(const Tensor& x, CallSite at = {});
Tensor sqrt(const Tensor& x, CallSite at = {});
/// Absolute value; the derivative at 0 is taken as 0.
Tensor abs(const Tensor& x, CallSite at = {});
/// (eˣ − e⁻ˣ) / (eˣ + e⁻ˣ)
Tensor tanh(const Tensor& x, CallSite at = {});
/// sin and cos take angles in radians.
Tensor sin(const Tensor& x, CallSite at = {});
Tensor cos(const Tensor& x, CallSite at = {});
/// Largest integer that is at most x; its derivative is 0.
Tensor floor(const Tensor& x, CallSite at = {});
/// 1 / (1 + e⁻ˣ)
Tensor sigmoid(const Tensor& x, CallSite at = {});
/// max(x, 0); the derivative at 0 is taken as 0.
Tensor relu(const Tensor& x, CallSite at = {});
/// Formula of gelu(): exact, with the error function erf, or the approximation with tanh.
enum class Gelu { erf, tanh };
/// x Φ(x), where Φ is the cumulative distribution function of the standard normal distribution (Hendrycks & Gimpel
/// 2016). Gelu::tanh is the approximation of that paper.
Tensor gelu(const Tensor& x, Gelu form = Gelu::erf, CallSite at = {});
/// log(1 + eˣ)
Tensor softplus(const Tensor& x, CallSite at = {});
/// x / (1 + e⁻ˣ), also called swish (Ramachandran, Zoph & Le 2017).
Tensor silu(const Tensor& x, CallSite at = {});
/// x where x > 0, alpha·(eˣ − 1) elsewhere (Clevert, Unterthiner & Hochreiter 2016, equation 15).
Tensor elu(const Tensor& x, double alpha = 1, CallSite at = {});
/// −log(1 + e⁻ˣ), accurate in both tails.
Tensor log_sigmoid(const Tensor& x, CallSite at = {});
/// Returns a where the mask is true, b elsewhere; all three broadcast. Elements that are not selected affect neither
/// the result nor the gradients, even if they are NaN.
Tensor where(const Mask& mask, const Tensor& a, const Tensor& b, CallSite at = {});

/// less, less_equal, greater, greater_equal and equal return the masks a < b, a ≤ b, a > b, a ≥ b and a = b, element
/// by element. They have no gradient, and are false where either element is NaN. Shapes broadcast.
Mask less(const Tensor& a, const Tensor& b, CallSite at = {});
Mask less_equal(const Tensor& a, const Tensor& b, CallSite at = {});
Mask greater(const Tensor& a, const Tensor& b, CallSite at = {});
Mask greater_equal(const Tensor& a, const Tensor& b, CallSite at = {});
Mask equal(const Tensor& a, const Tensor& b, CallSite at = {});
/// Returns the mask a == value, element by element.
Mask equal(const Indices& a, std::int64_t value);

/// Raises each element of a to the power `exponent`. The derivative is 0 if the exponent is 0.
Tensor pow(const Tensor& a, double exponent, CallSite at = {});
/// Raises each element of a to the power of the element of b; shapes broadcast. Where b is 0, the derivative with
/// respect to a is taken as 0. Where aᵇ is 0, the derivative with respect to b is taken as 0.
Tensor pow(const Tensor& a, const Tensor& b, CallSite at = {});
/// Remainder a − b·trunc(a / b), as in C's fmod: the result is exact and has the sign of a. Shapes broadcast.
Tensor fmod(const Tensor& a, const Tensor& b, CallSite at = {});
/// maximum and minimum return the larger and the smaller of two elements, or NaN if either is NaN. If both are
/// equal, each gets half of the gradient. Shapes broadcast.
Tensor maximum(const Tensor& a, const Tensor& b, CallSite at = {});
Tensor minimum(const Tensor& a, const Tensor& b, CallSite at = {});
/// Limits elements to [low, high]; NaN stays NaN. Elements outside the limits get gradient 0, and elements equal to a
/// limit get the full gradient. Throws Error unless low ≤ high.
Tensor clamp(const Tensor& x, double low, double high, CallSite at = {});

}  // namespace tapestry
