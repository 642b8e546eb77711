// The Score interface: the step in which most attention mechanisms differ.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor/mask.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"

namespace tapestry {

/// Inputs of a score other than query and keys, and the state that a decoder carries from one query to the next.
struct ScoreState {
  /// Mask of the visible pairs, or none. Other pairs get no weight, so a score may skip them.
  Mask mask;
  /// Number of earlier queries.
  Size step = 0;
  /// Weights of the previous query (…, Tq, Tk); undefined at first.
  Tensor weights;
  /// Data that the score keeps from one call to the next.
  Tensor memory;
  /// Positions of all keys if they differ from the indices; otherwise empty. The queries are the last keys.
  std::vector<Size> positions = {};
};

/// Base class of all scores: derive from it, and give the class to ScoreFactory::of<S>().
class Score : public Module {
 public:
  using Module::Module;

  /// Prepares keys (…, Tk, d_k) once per sequence; the result may have any shape.
  virtual Tensor prepare(const Tensor& keys) const { return keys; }
  /// Returns scores (…, Tq, Tk) of query (…, Tq, d_q) and the result of prepare(). In self-attention with a cache, a
  /// row must depend on its own query alone, because the queries of earlier tokens are not available.
  virtual Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const = 0;
  /// Returns f if the score is f · (query · prepared key), which tiled attention can compute; otherwise nothing.
  virtual std::optional<double> dot_factor(const Tensor& /*query*/) const { return {}; }
  /// Returns true if scores depend on the weights of earlier queries, so that queries must come one at a time.
  virtual bool one_at_a_time() const { return false; }
};

/// Score from a callable (Q, K) → (…, Tq, Tk), with nothing to prepare and no parameters.
class FunctionScore : public Score {
 public:
  /// query (…, Tq, d_q) and keys (…, Tk, d_k) → scores (…, Tq, Tk)
  using Function = std::function<Tensor(const Tensor& query, const Tensor& keys)>;
  FunctionScore(Parent parent, Function function)
      : Score(std::move(parent)), function_(std::move(function)) {}

  Tensor score(const Tensor& query, const Tensor& keys, ScoreState&) const override {
    return function_(query, keys);
  }

 private:
  Function function_;
};

/// Factory of a score. Attention layers take a factory because a score must be constructed as a child of the layer.
class ScoreFactory {
 public:
  /// Wraps a callable (Q, K) → scores.
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&> ScoreFactory(F function)
      : ScoreFactory(of<FunctionScore>(FunctionScore::Function(std::move(function)))) {}

  /// Fails to compile, because `Other` is no function of query and keys.
  template <class Other>
  requires(std::is_class_v<Other> && !std::same_as<Other, ScoreFactory> &&
           !std::is_invocable_r_v<Tensor, const Other&, const Tensor&, const Tensor&>)
      ScoreFactory(const Other&) {
    static_assert(
        sizeof(Other) == 0,
        "a score must be a function (const Tensor& query, const Tensor& keys) that returns a Tensor, or "
        "a class derived from Score: ScoreFactory::of<MyScore>(arguments...)");
  }

  /// Returns a factory of scores of type S, constructed from (Parent, arguments…).
  template <class S, class... Args>
  static ScoreFactory of(Args... args) {
    constexpr bool kIsScore = std::derived_from<S, Score>;
    static_assert(kIsScore, "ScoreFactory::of<MyScore>: the class must derive from Score");
    static_assert(
        !kIsScore || !std::is_abstract_v<S>,
        "ScoreFactory::of<MyScore>: the class must override Tensor score(const Tensor& query, const Tensor& "
        "prepared, ScoreState& state) const");
    ScoreFactory maker;
    if constexpr (kIsScore && !std::is_abstract_v<S>)
      if constexpr (detail::can_construct<S, const Args&...>())
        maker.make_ = [args...](Parent parent) { return std::make_unique<S>(std::move(parent), args...); };
    return maker;
  }
  ModulePtr<Score> operator()(Parent parent) const { return make_(std::move(parent)); }
  /// Returns true if both make scores of the same class from arguments of the same types.
  bool is_like(const ScoreFactory& other) const { return make_.target_type() == other.make_.target_type(); }

 private:
  ScoreFactory() = default;
  std::function<ModulePtr<Score>(Parent)> make_;
};

}  // namespace tapestry
