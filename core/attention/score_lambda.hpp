// Attention scores written as lambdas. They run inside the tiled kernel and are differentiated automatically:
//
//     const ScoreMod alibi = score_mod(
//         [](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i - at.j); }, learned(slopes));
//     Tensor y = attend(q, k, v, {.mask = BlockMask::causal(n, n), .score_mod = alibi});
//
// A second kind computes the score from query and key, as a sum over their U components, called units:
//
//     // s = Σ_u v_u tanh(q_u + k_u) (Bahdanau, Cho & Bengio 2015)
//     const PairScore additive = pair_score([](auto q, auto k, auto v) { return v * tanh(q + k); }, learned(v));
//     Tensor y = attend(q, k, values, {.pair_score = additive});
//
// The first kind takes the scaled score s, its position `at`, and a reader for each further argument, and
// returns the new score. It runs on three number types: SIMD lanes, dual numbers for the derivative, and whole
// tensors (Symbol) for the reference. So its parameters are auto, and it branches with select(condition, a, b).
// It may use + - * /, % and fmod (the remainder has the sign of the first operand, as in C), abs, floor, exp,
// log, sqrt, pow, sin, cos, tanh, sigmoid, relu, softplus, silu, min, max and comparisons. All of them behave as in
// core/ops: min and max give each of two equal numbers half of the gradient, and abs has derivative 0 at 0.
#pragma once

#include <array>
#include <concepts>
#include <tuple>
#include <utility>

#include "core/attention/learned.hpp"
#include "core/attention/pair_score.hpp"
#include "core/attention/score_mistakes.hpp"
#include "core/attention/score_mod.hpp"
#include "core/attention/symbol.hpp"
#include "core/ops/views.hpp"
#include "core/simd/attention/pair_tiles.hpp"
#include "core/simd/attention/score_tiles.hpp"
#include "core/tensor/indices.hpp"
#include "core/tensor/mask.hpp"

namespace tapestry {

namespace detail {

/// Maps each argument to its index among the sources; learned sources come first.
template <std::size_t N>
struct SourceOrder {
  std::array<std::size_t, N> source{};
  std::size_t learned = 0;
};

template <class... Args>
constexpr SourceOrder<sizeof...(Args)> source_order() {
  SourceOrder<sizeof...(Args)> order;
  constexpr std::array<bool, sizeof...(Args)> is_learned{std::same_as<Args, Learned>...};
  for (const bool one : is_learned) order.learned += one ? 1 : 0;
  std::size_t learned = 0, constant = order.learned;
  for (std::size_t i = 0; i < sizeof...(Args); ++i) order.source[i] = is_learned[i] ? learned++ : constant++;
  return order;
}

inline Tensor source_of(const Learned& argument) { return argument.tensor; }
/// Returns the detached constant. Throws if it requires a gradient, since it would get none.
Tensor source_of(const Tensor& argument);
/// Converts integers to f64, exact up to 2^53; f32 kernels represent them exactly up to 2^24.
inline Tensor source_of(const Indices& argument) {
  const std::vector<std::int64_t> ids = argument.to_vector();
  return tensor(std::vector<double>(ids.begin(), ids.end()), argument.shape(), DType::f64);
}

/// Reads a table at all pairs at once, for the reference.
struct SymbolReader {
  const Tensor& table;
  const Dims& scores;
  const Mask& live;
  template <class... I>
  Symbol operator()(const I&... index) const {
    if (static_cast<int>(sizeof...(I)) != table.rank())
      fail("[score_mod] a table {} is read with {} indices: give one for each axis", describe(table),
           sizeof...(I));
    return Symbol::read(table, {Symbol(index)...}, scores, live);
  }
  template <class I>
  Symbol operator[](const I&) const {
    static_assert(sizeof(I) == 0, "a reader must be called with one index for each axis: slope(at.h)");
    return Symbol(0);
  }
};

/// Returns a lambda's result in the shape of the scores. Throws if a finite unmasked score became NaN or +∞.
Tensor changed_scores(const Tensor& scores, const Symbol& result, const Mask& live);
/// Sums a lambda's result over the units: (B, H, Tq, Tk, U) → (B, H, Tq, Tk).
Tensor summed_units(const Tensor& query, const Tensor& key, const Symbol& units, const Mask& live);

template <class F, class... Args>
inline constexpr bool kTakes = std::is_invocable_v<const F&, const Symbol&, const simd::At<Symbol, Symbol>&,
                                                   std::conditional_t<true, SymbolReader, Args>...>;

/// Returns true if F takes q, k and N weights, or, with kPlaces, q, k, at and N weights.
template <class F, std::size_t N, bool kPlaces>
constexpr bool takes_units() {
  return []<std::size_t... W>(std::index_sequence<W...>) {
    using Number = Symbol;
    if constexpr (kPlaces)
      return std::is_invocable_v<const F&, const Symbol&, const Symbol&, const simd::At<Symbol, Symbol>&,
                                 std::conditional_t<W == W, Number, Number>...>;
    else
      return std::is_invocable_v<const F&, const Symbol&, const Symbol&,
                                 std::conditional_t<W == W, Number, Number>...>;
  }
  (std::make_index_sequence<N>{});
}

/// Returns the indices (b, h, i, j) of scores of rank 4, with `behind` trailing axes of size 1.
inline simd::At<Symbol, Symbol> places_of(const Dims& sizes, DType dtype, int behind = 0) {
  const auto along = [&](int axis) {
    Dims shape = Dims::filled(4 + behind, 1);
    shape[axis] = sizes[axis];
    return Symbol::from(reshape(arange(0, static_cast<double>(sizes[axis]), 1, dtype), shape));
  };
  return {along(0), along(1), along(2), along(3)};
}

/// Implementation of score_mod() for a lambda F with N readers.
template <class F, std::size_t N>
class LambdaScore final : public ScoreMod::Impl {
 public:
  LambdaScore(F f, const SourceOrder<N>& order) : f_(std::move(f)), order_(order) {}

  std::unique_ptr<simd::TileScore<float>> on_tiles(float, const std::vector<Tensor>& sources) const override {
    return make<float>(sources);
  }
  std::unique_ptr<simd::TileScore<double>> on_tiles(double,
                                                    const std::vector<Tensor>& sources) const override {
    return make<double>(sources);
  }

  Tensor by_ops(const Tensor& scores, const std::vector<Tensor>& sources, const Mask& live) const override {
    const simd::At<Symbol, Symbol> at = places_of(scores.shape(), scores.dtype());
    std::vector<Tensor> typed;
    for (const Tensor& source : sources)
      typed.push_back(source.dtype() == scores.dtype() ? source : source.to(scores.dtype()));
    const Symbol result = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return Symbol(
          f_(Symbol::from(scores), at, SymbolReader{typed[order_.source[I]], scores.shape(), live}...));
    }
    (std::make_index_sequence<N>{});
    return changed_scores(scores, result, live);
  }

 private:
  template <class T>
  std::unique_ptr<simd::TileScore<T>> make(const std::vector<Tensor>& sources) const {
    std::array<simd::Source<T>, N> tables;
    for (std::size_t i = 0; i < N; ++i) {
      const Tensor& source = sources[order_.source[i]];
      tables[i] = {source.data<T>(), source.shape(), -1};
    }
    // The gradients of the learned sources are concatenated in one buffer.
    Size first = 0;
    for (std::size_t learned = 0; learned < order_.learned; ++learned)
      for (std::size_t i = 0; i < N; ++i)
        if (order_.source[i] == learned) {
          tables[i].learned = first;
          first += tables[i].shape.count();
        }
    return std::make_unique<simd::LambdaTiles<T, F, N>>(f_, tables, first);
  }

  F f_;
  SourceOrder<N> order_;
};

/// Implementation of pair_score() for a lambda F with N weights. With kPlaces, F also takes the pair's position.
template <class F, std::size_t N, bool kPlaces>
class LambdaPairScore final : public PairScore::Impl {
 public:
  explicit LambdaPairScore(F f) : f_(std::move(f)) {}

  std::unique_ptr<simd::TilePairs<float>> on_tiles(float, const Tensor* weights, Size width) const override {
    return make<float>(weights, width);
  }
  std::unique_ptr<simd::TilePairs<double>> on_tiles(double, const Tensor* weights,
                                                    Size width) const override {
    return make<double>(weights, width);
  }
  Tensor by_ops(const Tensor& query, const Tensor& key, const Tensor* weights,
                const Mask& live) const override {
    const Symbol q = Symbol::from(unsqueeze(query, -2)), k = Symbol::from(unsqueeze(key, -3));
    const auto weight = [&](std::size_t i) {
      const Tensor& w = weights[i];
      return Symbol::from(w.rank() == 2 ? reshape(w, {w.size(0), 1, 1, w.size(1)}) : w);
    };
    const Symbol units = [&]<std::size_t... W>(std::index_sequence<W...>) {
      if constexpr (kPlaces) {
        const Dims sizes{query.size(0), query.size(1), query.size(2), key.size(2)};
        return Symbol(f_(q, k, places_of(sizes, query.dtype(), 1), weight(W)...));
      } else {
        return Symbol(f_(q, k, weight(W)...));
      }
    }
    (std::make_index_sequence<N>{});
    return summed_units(query, key, units, live);
  }

 private:
  template <class T>
  std::unique_ptr<simd::TilePairs<T>> make(const Tensor* weights, Size width) const {
    std::array<simd::UnitWeight<T>, N> units;
    Size learned = 0;
    for (std::size_t i = 0; i < N; ++i) {
      units[i] = {weights[i].template data<T>(), weights[i].rank() == 2 ? width : 0, learned};
      learned += weights[i].count();
    }
    return std::make_unique<simd::LambdaPairs<T, F, N, kPlaces>>(f_, units, width, learned);
  }

  F f_;
};

/// Builds the ScoreMod, with the arguments sorted into learned and constant tensors.
template <class F, class... Args>
ScoreMod lambda_score(F f, const Args&... args) {
  constexpr auto order = source_order<Args...>();
  std::vector<Tensor> learned(order.learned), constants(sizeof...(Args) - order.learned);
  [[maybe_unused]] std::size_t i = 0;
  [[maybe_unused]] const auto place = [&](const Tensor& source) {
    const std::size_t at = order.source[i++];
    (at < order.learned ? learned[at] : constants[at - order.learned]) = source;
  };
  (place(source_of(args)), ...);
  return ScoreMod(std::make_shared<LambdaScore<F, sizeof...(Args)>>(std::move(f), order), std::move(learned),
                  std::move(constants));
}

}  // namespace detail

/// Builds a score from a lambda (s, at, readers…) → new score. at.b and at.h are the indices of batch row and
/// head, at.i and at.j those of query and key. Each further argument becomes a reader, which the lambda calls with
/// one index per axis. An argument learned(w) is trained. A Tensor or Indices is constant; a Tensor that requires a
/// gradient throws Error. Values that the lambda captures are constant, too. This cannot be checked: a captured
/// number w.at({0}) is not trained. At an unmasked pair, an index that is out of range or not an integer throws when
/// the score runs, even in a branch that select() does not take. attend() lists the other guarantees.
template <class F, class... Args>
ScoreMod score_mod(F f, const Args&... args) {
  constexpr bool kSources =
      (... && (std::same_as<Args, Learned> || std::same_as<Args, Tensor> || std::same_as<Args, Indices>));
  static_assert(
      kSources,
      "score_mod: each argument after the lambda must be learned(w) for a Parameter or variable, or a "
      "constant Tensor or Indices; capture a plain number in the lambda");
  static_assert(
      !kSources || detail::kTakes<F, Args...>,
      "score_mod: the lambda must take s, at, and a reader for each table or learned(...) after it; "
      "call functions without std::, as in tanh(s), and use select(condition, a, b) instead of if and "
      "?:, since it runs on many pairs at once");
  if constexpr (kSources && detail::kTakes<F, Args...>)
    return detail::lambda_score(std::move(f), args...);
  else
    return {};  // avoids further errors after the assertion's
}

/// Builds a score of query and key from a lambda (q, k, weights…) for one unit: s_ij = Σ_u f(q_iu, k_ju, w_u …).
/// Each weight is passed as learned(tensor), with shape (U) or (heads, U). A lambda (q, k, at, weights…) also gets
/// the position of the pair, as with score_mod().
template <class F, class... Weights>
PairScore pair_score(F f, const Weights&... weights) {
  constexpr std::size_t kWeights = sizeof...(Weights);
  constexpr bool kLearned = (... && std::same_as<Weights, Learned>);
  static_assert(kLearned, "pair_score: each argument after the lambda must be a learned weight: learned(w)");
  if constexpr (!kLearned)
    return {};  // avoids further errors after the assertion's
  else if constexpr (detail::takes_units<F, kWeights, false>())
    return PairScore(std::make_shared<detail::LambdaPairScore<F, kWeights, false>>(std::move(f)),
                     std::vector<Tensor>{weights.tensor...});
  else if constexpr (detail::takes_units<F, kWeights, true>())
    return PairScore(std::make_shared<detail::LambdaPairScore<F, kWeights, true>>(std::move(f)),
                     std::vector<Tensor>{weights.tensor...});
  else
    static_assert(sizeof(F) == 0,
                  "pair_score: the lambda must take q, k, then optionally at for the position, and a "
                  "number for each learned(...) after it; call functions without std::, as in tanh(q)");
}

}  // namespace tapestry
