// gradcheck: compares the derivative rules with central differences, and says where and how they differ.
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

struct GradcheckOptions {
  /// The difference that is allowed, relative to the gradient (or to a hundredth of the argument's largest
  /// one).
  double tolerance = 1e-5;
  /// The step of the differences, relative to max(1, |x|): about the cube root of f64's precision.
  double epsilon = 6e-6;
  /// Of the random cotangent and the random directions.
  std::uint64_t seed = 1;
  /// Arguments of up to this many elements are checked one by one, larger ones along random directions.
  Size elements = 200;
  int projections = 4;  // so many directions
  /// A gradient that is zero everywhere proves nothing and fails, unless it is what you expect.
  bool expect_zero = false;
  /// What is being checked, for the report; empty: the ops that ran.
  std::string name = {};
};

/// A place where the rule and the differences do not agree.
struct GradcheckPlace {
  std::string argument;              // "argument 1", or a leaf's name
  Dims shape;                        // of the argument
  std::vector<Size> index;           // of its worst element; empty where it was checked along directions
  double analytic = 0, numeric = 0;  // what the rule gives, and the differences
  double epsilon = 0;                // the step of the differences there
  std::string look_at;               // what may be wrong
};

/// What a check has found.
struct GradcheckResult {
  std::string name;  // what was checked, as in the options; or the ops that ran
  /// One for each argument with a wrong gradient, at its worst element.
  std::vector<GradcheckPlace> failures;
  /// Places where f has no derivative: the slopes from the left and from the right differ, and the rule's
  /// value lies between them. They are listed, and do not fail.
  std::vector<GradcheckPlace> kinks;
  /// How many elements and directions were compared.
  std::size_t compared = 0;

  /// ok(), and the same as a bool: no gradient is wrong.
  bool ok() const { return failures.empty(); }
  explicit operator bool() const { return ok(); }
  /// What was compared, what differs, and what to look at.
  std::string report() const;
};

/// The tensors that a check differentiates with respect to: one, a list in braces, or a vector.
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
    fail("[gradcheck] the function does not take {} tensors", xs.size());
}

/// Any callable of up to eight tensors, of a vector or of a span of them, in one form.
template <class F>
CheckedFunction as_checked(F f) {
  if constexpr (takes_any_number<F>(std::make_index_sequence<kMostArguments + 1>{}))
    return [f](std::span<const Tensor> xs) mutable { return call_with<0>(f, xs); };
  else if constexpr (std::is_invocable_r_v<Tensor, F&, std::span<const Tensor>>)
    return f;
  else
    return [f](std::span<const Tensor> xs) mutable { return f(std::vector<Tensor>(xs.begin(), xs.end())); };
}

GradcheckResult run_gradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                              const GradcheckInputs& leaves, const GradcheckOptions& options);
GradcheckResult run_gradgradcheck(const CheckedFunction& f, const GradcheckInputs& inputs,
                                  const GradcheckInputs& leaves, const GradcheckOptions& options);

}  // namespace detail

/// Checks the gradients of f with respect to its arguments, in f64 and with a random cotangent. f takes
/// tensors (up to eight), or a vector or span of them, and returns one. It must be a function of its
/// arguments; dropout is, since the random state is put back before each call.
template <class F>
GradcheckResult gradcheck(F f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(detail::as_checked(std::move(f)), inputs, {}, options);
}

/// The same, and with respect to leaves that f uses inside, such as the parameters of a module:
///     gradcheck([&](const Tensor& x) { return layer(x); }, x, {weight, bias});
/// Their values are moved during the check and put back.
template <class F>
GradcheckResult gradcheck(F f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
                          const GradcheckOptions& options = {}) {
  return detail::run_gradcheck(detail::as_checked(std::move(f)), inputs, leaves, options);
}

/// gradcheck of the gradient itself: x, dy ↦ ∂⟨dy, f(x)⟩/∂x, recorded with create_graph.
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
