// Position schemes. Attention alone ignores order, so a scheme adds positions to the input, or gives
// attention position information for each pair of query and key.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/attention/score_mod.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"

namespace tapestry {

/// Positions that are added to the input.
class InputPositions : public Module {
 public:
  using Module::Module;
  /// x (…, T, width) at positions first … first + T − 1, counted from 0 → x with its positions added.
  virtual Tensor operator()(const Tensor& x, Size first) const = 0;
};

/// Position information for attention, pair by pair. Each method may do nothing. Queries and keys are
/// (B, heads…, T, d), with one or more axes for the heads. With Tq queries and Tk keys, the last query is at
/// the position of the last key.
class PairPositions : public Module {
 public:
  using Module::Module;
  /// Returns the number of heads that it was made for; attention refuses others. No value: any number works.
  virtual std::optional<Size> heads() const { return {}; }
  /// Transforms queries or keys at positions first … first + T − 1, before they are compared.
  virtual Tensor rotate(const Tensor& x, Size /*first*/) const { return x; }
  /// Transforms queries only, for schemes that treat queries and keys differently. Calls rotate() by default.
  virtual Tensor rotate_queries(const Tensor& x, Size first) const { return rotate(x, first); }
  /// Transforms keys only. Calls rotate() by default.
  virtual Tensor rotate_keys(const Tensor& x, Size first) const { return rotate(x, first); }
  /// Returns a term that is added to the scores (B, heads…, Tq, Tk) and broadcasts to them; undefined: none.
  /// `query` is as the score receives it.
  virtual Tensor score(const Tensor& /*query*/, Size /*keys*/) const { return {}; }
  /// Returns a term that is added to the contexts (B, heads…, Tq, d_v), from the weights (B, heads…, Tq, Tk);
  /// undefined: none.
  virtual Tensor context(const Tensor& /*weights*/) const { return {}; }
  /// Returns the change of the scores as a ScoreMod for tiled attention; no value: tiles do not support it.
  /// An undefined ScoreMod changes nothing. A scheme that needs neither query nor weights has only this.
  virtual std::optional<ScoreMod> as_score_mod(Size /*queries*/, Size /*keys*/) const { return {}; }
  /// Ties the parameters to those of another layer, for schemes with one set for all layers.
  virtual void share(const PairPositions& /*other*/) {}
};

/// Shape of the attention that a scheme serves.
struct PairShape {
  /// Product of the axes between batch and time; 1 if there are none.
  Size heads = 1;
  /// d_k and d_v of one head.
  Size head_width = 0, value_width = 0;
  /// No query sees a later key.
  bool causal = false;
};

/// Factories of a scheme; either may be missing. To write one, derive from InputPositions or PairPositions
/// and return such a pair of functions:
///     PositionScheme my_attention() {
///       return {.pairs = [](Parent parent, const PairShape& shape) {
///         return std::make_unique<MyPositions>(std::move(parent), shape);
///       }};
///     }
struct PositionScheme {
  std::function<ModulePtr<InputPositions>(Parent, Size width)> input = {};       // added to the input
  std::function<ModulePtr<PairPositions>(Parent, const PairShape&)> pairs = {};  // used by attention
};

/// Returns the scheme without position information.
inline PositionScheme no_positions() { return {}; }

}  // namespace tapestry
