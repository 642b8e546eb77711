// How a model learns of order, which attention alone does not see: positions are added to what comes in, or
// told to attention for each pair of query and key. A scheme fills the one slot for either.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/attention/score_mod.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"

namespace tapestry {

/// Positions that are added to the words.
class InputPositions : public Module {
 public:
  using Module::Module;
  /// x (…, T, width), words at the places first … first + T − 1, counted from 0 → x with their positions.
  virtual Tensor operator()(const Tensor& x, Size first) const = 0;
};

/// Positions that attention is told of, pair by pair. Each part may do nothing. Queries and keys are
/// (B, heads…, T, d), with one or more axes for the heads; of Tq queries and Tk keys the last query stands at
/// the last key's place.
class PairPositions : public Module {
 public:
  using Module::Module;
  /// The heads that it was made for: attention refuses others. None: any number will do.
  virtual std::optional<Size> heads() const { return {}; }
  /// Queries or keys at the places first … first + T − 1, before they are compared.
  virtual Tensor rotate(const Tensor& x, Size /*first*/) const { return x; }
  /// What is added to the scores (B, heads…, Tq, Tk); broadcasts to them. `query` as the score sees it.
  virtual Tensor score(const Tensor& /*query*/, Size /*keys*/) const { return {}; }
  /// What is added to the contexts (B, heads…, Tq, d_v), from the weights (B, heads…, Tq, Tk).
  virtual Tensor context(const Tensor& /*weights*/) const { return {}; }
  /// What is done to the scores, as tiled attention takes it; for schemes that need neither query nor weights
  /// it is all they have to say. A ScoreMod that is not defined does nothing; none: tiles cannot do it.
  virtual std::optional<ScoreMod> as_score_mod(Size /*queries*/, Size /*keys*/) const { return {}; }
  /// From now on the same parameters as another layer's, where the scheme has them once for all layers.
  virtual void share(const PairPositions& /*other*/) {}
};

/// What a scheme has to know of the attention that it serves.
struct PairShape {
  /// The product of the axes between batch and time; 1 where there are none.
  Size heads = 1;
  /// d_k and d_v, of one head.
  Size head_width = 0, value_width = 0;
  /// No query sees a later key.
  bool causal = false;
};

/// A scheme yet to be made: either function may be missing. To write one, derive from InputPositions or
/// PairPositions and return such a pair of functions:
///     PositionScheme my_attention() {
///       return {.pairs = [](Parent parent, const PairShape& shape) {
///         return std::make_unique<MyPositions>(std::move(parent), shape);
///       }};
///     }
struct PositionScheme {
  std::function<ModulePtr<InputPositions>(Parent, Size width)> input = {};       // added to words
  std::function<ModulePtr<PairPositions>(Parent, const PairShape&)> pairs = {};  // told to attention
};

/// Order is not told at all.
inline PositionScheme no_positions() { return {}; }

}  // namespace tapestry
