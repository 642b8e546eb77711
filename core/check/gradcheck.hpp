// gradcheck: compares analytic gradients with central differences, and reports where and how they differ.
//
//     auto check = gradcheck([](const Tensor& a, const Tensor& b) { return matmul(a, tanh(b)); }, {a, b});
//     if (!check.ok()) fmt::print("{}", check.report());
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

/// Options of gradcheck() and gradgradcheck().
struct GradcheckOptions {
  /// Allowed relative error. An element, or a random direction in a large argument, passes if
  ///     |analytic − numeric| ≤ tolerance · max(|analytic|, |numeric|, floor) + noise
  /// For an element, `floor` is 1/100 of the largest |analytic| of the argument; for a direction, the norm of the
  /// argument's gradient. `noise` is an estimate of the rounding error of the differences.
  double tolerance = 1e-5;
  /// Step of the differences, relative to max(1, |x|). The default is about the cube root of f64's machine epsilon.
  double epsilon = 6e-6;
  /// Seed of the random gradient of f's result (the cotangent) and of the random directions.
  std::uint64_t seed = 1;
  /// Arguments with more elements are checked along random directions, others element by element.
  Size elements = 200;
  int projections = 4;  // number of random directions for each larger argument
  /// If true, a gradient that is zero everywhere passes. By default it fails, because comparing zeros proves nothing.
  bool expect_zero = false;
  /// Name of the checked function in the report. If empty, the report names the ops that ran.
  std::string name = {};
};

/// An element or a direction in the report: a failure, or a kink (a point at which f has no derivative).
struct GradcheckEntry {
  std::string argument;              // "argument 1", or a leaf's name
  Dims shape;                        // shape of the argument
  std::vector<Size> index;           // index of the element; empty for a direction or the whole argument
  double analytic = 0, numeric = 0;  // derivative from the backward rule and from the differences
  double epsilon = 0;                // step of the differences
  std::string look_at;               // likely cause; for a kink, the slopes from the left and the right
};

/// Result of gradcheck() or gradgradcheck().
struct GradcheckResult {
  std::string name;  // the name from the options, or the ops that ran
  /// Wrong gradients. An argument that is checked element by element is listed once, at its worst element.
  std::vector<GradcheckEntry> failures;
  /// Elements at which f has no derivative: the slopes on the left and on the right differ, and the analytic gradient
  /// is between them. Kinks are not failures. But the check fails if all elements of an argument are kinks, or if it
  /// finds 20 kinks along the random directions of a larger argument.
  std::vector<GradcheckEntry> kinks;
  /// Number of elements and directions compared.
  std::size_t compared = 0;

  /// Returns true if there are no failures. The conversion to bool returns the same.
  bool ok() const { return failures.empty(); }
  explicit operator bool() const { return ok(); }
  /// Returns the number of comparisons, the failures and their likely causes, as text.
  std::string report() const;
};

/// The tensors with respect to which f is differentiated: one tensor, a braced list, or a vector.
struct GradcheckInputs {
  GradcheckInputs() = default;
  GradcheckInputs(const Tensor& x) : list{x} {}
  GradcheckInputs(std::initializer_list<Tensor> xs) : list(xs) {}
  GradcheckInputs(std::vector<Tensor> xs) : list(std::move(xs)) {}

  std::vector<Tensor> list;  // in the order of f's arguments
};

namespace detail {

using CheckedFunction = std::function<Tensor(std::span<const Tensor>)>;

inline constexpr std::size_t kMostArguments = 8;

template <class F, std::size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_r_v<Tensor, F&, std::enable_if_t<I + 1 != 0, const Tensor&>...>;
}
template <class F, std::size_t... N>
constexpr bool takes_any_number(std::index_sequence<N...>) {
  return (takes_tensors<F>(std::make_index_sequence<N>{}) || ...);
}
template <class F, std::size_t... I>
Tensor spread(F& f, [[maybe_unused]] std::span<const Tensor> xs, std::index_sequence<I...>) {
  return f(xs[I]...);
}
template <std::size_t N, class F>
Tensor call_with(F& f, std::span<const Tensor> xs) {
  if constexpr (takes_tensors<F>(std::make_index_sequence<N>{}))
    if (xs.size() == N) return spread(f, xs, std::make_index_sequence<N>{});
  if constexpr (N < kMostArguments)
    return call_with<N + 1>(f, xs);
  else
    fail("[gradcheck] f must take as many tensors as there are inputs, got {} inputs", xs.size());
}

/// Converts f to a CheckedFunction. f takes up to eight tensors, or one vector or span of tensors.
template <class F>
CheckedFunction as_checked(F f) {
  constexpr bool kIsLayer = requires { f.parameters(); };
  constexpr bool kTakesTensors = takes_any_number<F>(std::make_index_sequence<kMostArguments + 1>{});
  constexpr bool kTakesSpan = std::is_invocable_r_v<Tensor, F&, std::span<const Tensor>>;
  constexpr bool kTakesList = std::is_invocable_r_v<Tensor, F&, std::vector<Tensor>>;
  static_assert(
      !kIsLayer,
      "gradcheck: a layer must be called in a lambda, since it cannot be copied: gradcheck([&](const Tensor& "
      "x) { return layer(x); }, x, layer.parameters())");
  static_assert(
      kIsLayer || kTakesTensors || kTakesSpan || kTakesList,
      "gradcheck: f must take up to eight (const Tensor& x, ...), or one std::vector<Tensor>, and return a "
      "Tensor");
  if constexpr (kIsLayer)
    return {};  // avoids further errors after the assertion's
  else if constexpr (kTakesTensors)
    return [f](std::span<const Tensor> xs) mutable { return call_with<0>(f, xs); };
  else if constexpr (kTakesSpan)
    return f;
  else if constexpr (kTakesList)
    return [f](std::span<const Tensor> xs) mutable { return f(std::vector<Tensor>(xs.begin(), xs.end())); };
  else
    return {};
}

GradcheckResult run_gradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                              const GradcheckInputs& leaves, const GradcheckOptions& options);
GradcheckResult run_gradgradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                                  const GradcheckInputs& leaves, const GradcheckOptions& options);

}  // namespace detail

/// Checks the gradients of f with respect to its arguments, in f64. f takes up to eight tensors, or one vector or span
/// of tensors, and returns one tensor. Its result must depend only on its arguments, the leaves passed to the check,
/// and random_state(), which is restored before each call, so f may use dropout. Throws Error if there is nothing to
/// check, or if an input or the result is not f64.
template <class F>
GradcheckResult gradcheck(F f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(detail::as_checked(std::move(f)), inputs, {}, options);
}

/// Checks the gradients with respect to the inputs and to leaves that f uses, such as the parameters of a module:
///     gradcheck([&](const Tensor& x) { return layer(x); }, x, {weight, bias});
/// The values of the leaves change during the check and are restored. Throws Error for a frozen leaf.
template <class F>
GradcheckResult gradcheck(F f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
                          const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(detail::as_checked(std::move(f)), inputs, leaves, options);
}

/// Checks second derivatives: runs gradcheck on the function (x, dy) ↦ ∂⟨dy, f(x)⟩/∂x, recorded with create_graph.
template <class F>
GradcheckResult gradgradcheck(F f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradgradcheck(detail::as_checked(std::move(f)), inputs, {}, options);
}
template <class F>
GradcheckResult gradgradcheck(F f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
                              const GradcheckOptions& options = {}) {
  return detail::run_gradgradcheck(detail::as_checked(std::move(f)), inputs, leaves, options);
}

}  // namespace tapestry
