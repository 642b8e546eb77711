// What a score is: the step in which most attention mechanisms differ.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/tensor/values.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"

namespace tapestry {

/// What a score may look at beside query and keys, and what is carried from query to query when they come one
/// at a time.
struct ScoreState {
  /// The pairs that matter, or no mask. The other pairs get no weight, so a score may leave them out.
  Mask mask;
  /// Queries that came before.
  Size step = 0;
  /// Weights of the query before (…, Tq, Tk); none at first.
  Tensor weights;
  /// The score's own memory: what it puts here it finds here again.
  Tensor memory;
};

/// A score: derive from it, and give the class to ScoreFactory::of<S>().
class Score : public Module {
 public:
  using Module::Module;

  /// What the score wants to have ready, once a sequence: keys (…, Tk, d_k) → anything.
  virtual Tensor prepare(const Tensor& keys) const { return keys; }
  /// query (…, Tq, d_q), and what prepare() made of the keys → (…, Tq, Tk).
  virtual Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const = 0;
  /// f, if the score is f · query · prepared key: then it can run in tiles.
  virtual std::optional<double> dot_factor(const Tensor& /*query*/) const { return {}; }
  /// True where each query depends on the weights before: then several at once are refused.
  virtual bool one_at_a_time() const { return false; }
};

/// A callable (Q, K) → (…, Tq, Tk) as a score: nothing to prepare, nothing to learn.
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

/// A score yet to be made: what an attention layer is built from, since the score registers inside it.
class ScoreFactory {
 public:
  /// From a callable (Q, K) → scores.
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&> ScoreFactory(F function)
      : ScoreFactory(of<FunctionScore>(FunctionScore::Function(std::move(function)))) {}

  /// A score of type S, made from (Parent, arguments…).
  template <std::derived_from<Score> S, class... Args>
  static ScoreFactory of(Args... args) {
    ScoreFactory maker;
    maker.make_ = [args...](Parent parent) { return std::make_unique<S>(std::move(parent), args...); };
    return maker;
  }
  ModulePtr<Score> operator()(Parent parent) const { return make_(std::move(parent)); }

 private:
  ScoreFactory() = default;
  std::function<ModulePtr<Score>(Parent)> make_;
};

}  // namespace tapestry
