// Derivatives as functions: vector–Jacobian and Jacobian–vector products, the Jacobian itself, and Hessian–vector
// products. Each function opens its own tape, so it throws if a tape is alive on this thread.
#pragma once

#include <functional>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A function of one tensor, made of ops.
using TensorFunction = std::function<Tensor(const Tensor&)>;

/// Returns vᵀ J, where J = ∂f/∂x, with one backward pass. v has the shape of f(x); the result has the shape of x.
Tensor vjp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// Returns J v, the derivative of f(x) along v. v has the shape of x; the result has the shape of f(x). Uses two
/// backward passes: uᵀJ is linear in u, and the gradient of ⟨uᵀJ, v⟩ with respect to u is J v (J. Townsend, "A new
/// trick for calculating Jacobian vector products", 2017).
Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// Returns the whole Jacobian. Its shape is the shape of f(x) followed by the shape of x, with at most six axes
/// together. Runs one backward pass for each element of f(x).
Tensor jacobian(const TensorFunction& f, const Tensor& x);

/// Returns H v, where H is the matrix of second derivatives of a scalar f (B. Pearlmutter, "Fast exact multiplication
/// by the Hessian", 1994). v and the result have the shape of x.
Tensor hessian_vector(const TensorFunction& f, const Tensor& x, const Tensor& v);

}  // namespace tapestry
