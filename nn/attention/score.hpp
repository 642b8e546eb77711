// What a score is: the one part in which attention mechanisms differ.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/tensor/values.hpp"
#include "nn/module.hpp"

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

/// A score is a module with two functions. `prepare(keys)` runs once a sequence: keys (…, Tk, d_k) → whatever
/// the score wants to have ready. `score(query, prepared, state)`: query (…, Tq, d_q) → (…, Tq, Tk). A score
/// whose queries must come one at a time, since each depends on the weights before, says so with a third:
/// `bool one_at_a_time() const`. One that is a factor times query · prepared key tells the factor, so that it
/// can run in tiles: `double dot_factor(const Tensor& query) const`.
template <class S>
concept Score = std::derived_from<S, Module> && std::constructible_from<S, const S&> &&
    requires(const S& s, const Tensor& x, ScoreState& state) {
  { s.prepare(x) } -> std::convertible_to<Tensor>;
  { s.score(x, x, state) } -> std::convertible_to<Tensor>;
};

/// Any score behind one type: the pipeline is compiled once, and a model can choose its score at run time.
class AnyScore {
 public:
  template <Score S>
  explicit AnyScore(std::unique_ptr<S> score) : held_(std::make_unique<Holder<S>>(std::move(score))) {}
  /// As for modules: works inside clone() only.
  AnyScore(const AnyScore& other) : held_(other.held_->copy()) {}
  AnyScore(AnyScore&&) noexcept = default;
  AnyScore& operator=(const AnyScore&) = delete;

  Tensor prepare(const Tensor& keys) const { return held_->prepare(keys); }
  Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const {
    return held_->score(query, prepared, state);
  }
  /// True where several queries at once are refused.
  bool one_at_a_time() const { return held_->one_at_a_time(); }
  /// f, if the score is f · query · prepared key.
  std::optional<double> dot_factor(const Tensor& query) const { return held_->dot_factor(query); }
  /// The score itself, or null if it is of another type.
  template <Score S>
  const S* as() const {
    return dynamic_cast<const S*>(held_->module());
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual std::unique_ptr<Base> copy() const = 0;
    virtual const Module* module() const = 0;
    virtual Tensor prepare(const Tensor& keys) const = 0;
    virtual Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const = 0;
    virtual bool one_at_a_time() const = 0;
    virtual std::optional<double> dot_factor(const Tensor& query) const = 0;
  };
  template <Score S>
  struct Holder final : Base {
    explicit Holder(std::unique_ptr<S> held) : score_(std::move(held)) {}
    std::unique_ptr<Base> copy() const override {
      return std::make_unique<Holder>(std::make_unique<S>(*score_));
    }
    const Module* module() const override { return score_.get(); }
    Tensor prepare(const Tensor& keys) const override { return score_->prepare(keys); }
    Tensor score(const Tensor& query, const Tensor& prepared, ScoreState& state) const override {
      return score_->score(query, prepared, state);
    }
    bool one_at_a_time() const override {
      if constexpr (requires { score_->one_at_a_time(); }) return score_->one_at_a_time();
      return false;
    }
    std::optional<double> dot_factor(const Tensor& query) const override {
      if constexpr (requires { score_->dot_factor(query); }) return score_->dot_factor(query);
      return {};
    }
    std::unique_ptr<S> score_;
  };

  std::unique_ptr<Base> held_;
};

/// A callable (Q, K) → (…, Tq, Tk) as a score: nothing to prepare, nothing to learn.
class FunctionScore : public Module {
 public:
  using Function = std::function<Tensor(const Tensor& query, const Tensor& keys)>;
  FunctionScore(Place place, Function function) : Module(std::move(place)), function_(std::move(function)) {}

  Tensor prepare(const Tensor& keys) const { return keys; }
  Tensor score(const Tensor& query, const Tensor& keys, ScoreState&) const { return function_(query, keys); }

 private:
  Function function_;
};

/// A score yet to be made: what an attention layer is built from, since the score registers inside it.
class ScoreMaker {
 public:
  /// From a callable (Q, K) → scores.
  template <class F>
  requires std::is_invocable_r_v<Tensor, const F&, const Tensor&, const Tensor&> ScoreMaker(F function)
      : ScoreMaker(of<FunctionScore>(FunctionScore::Function(std::move(function)))) {}

  /// A score of type S, made from (Place, arguments…).
  template <Score S, class... Args>
  static ScoreMaker of(Args... args) {
    ScoreMaker maker;
    maker.make_ = [args...](Place place) { return AnyScore(std::make_unique<S>(std::move(place), args...)); };
    return maker;
  }
  AnyScore operator()(Place place) const { return make_(std::move(place)); }

 private:
  ScoreMaker() = default;
  std::function<AnyScore(Place)> make_;
};

}  // namespace tapestry
