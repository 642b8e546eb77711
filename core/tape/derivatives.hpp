// Derivatives as functions: products with the Jacobian from either side, the Jacobian itself, Hessian–vector
// products. Each opens its own tape, so none is to be called while one is recording.
#pragma once

#include <functional>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// A function of one tensor, made of ops.
using TensorFunction = std::function<Tensor(const Tensor&)>;

/// vᵀ J, where J = ∂f/∂x: one backward pass. v has the shape of f(x); the result that of x.
Tensor vjp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// J v: how f(x) changes when x moves along v. v has the shape of x; the result that of f(x). Two sweeps: uᵀJ
/// is linear in u, and its derivative along v is J v (J. Townsend, "A new trick for calculating Jacobian
/// vector products", 2017).
Tensor jvp(const TensorFunction& f, const Tensor& x, const Tensor& v);

/// The whole Jacobian: the shape of f(x), then that of x (together at most six axes); one pass for each
/// element of f(x).
Tensor jacobian(const TensorFunction& f, const Tensor& x);

/// H v, where H is the matrix of second derivatives of a scalar f (B. Pearlmutter, "Fast exact multiplication
/// by the Hessian", 1994); v and the result have the shape of x.
Tensor hessian_vector(const TensorFunction& f, const Tensor& x, const Tensor& v);

}  // namespace tapestry
