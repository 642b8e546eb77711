// Position schemes. Attention ignores the order of the tokens. So a scheme adds position vectors to the input, or gives
// attention position information for each pair of query and key.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/attention/score_mod.hpp"
#include "nn/module.hpp"
#include "nn/module_ptr.hpp"

namespace tapestry {

/// Module that adds position vectors to the input of a model.
class InputPositions : public Module {
 public:
  using Module::Module;
  /// Returns x (…, T, width) plus the vectors of positions first … first + T − 1. Positions are counted from 0.
  virtual Tensor operator()(const Tensor& x, Size first) const = 0;
};

/// Module that gives attention position information for each pair of query and key. A scheme overrides the methods that
/// it needs; by default, they do nothing. Queries and keys are (B, heads…, T, d), with one or more axes for the heads.
/// With Tq queries and Tk keys, the last query is at the position of the last key.
class PairPositions : public Module {
 public:
  using Module::Module;
  /// Returns the number of heads that the scheme was made for. Attention throws Error for any other number. No value
  /// means that any number works.
  virtual std::optional<Size> heads() const { return {}; }
  /// Transforms queries or keys (B, heads…, T, d) at positions first … first + T − 1, before they are compared.
  virtual Tensor rotate(const Tensor& x, Size /*first*/) const { return x; }
  /// Transforms queries only, for schemes that treat queries and keys differently. Calls rotate() by default.
  virtual Tensor rotate_queries(const Tensor& x, Size first) const { return rotate(x, first); }
  /// Transforms keys only. Calls rotate() by default.
  virtual Tensor rotate_keys(const Tensor& x, Size first) const { return rotate(x, first); }
  /// Returns a term that broadcasts to the scores (B, heads…, Tq, Tk) and is added to them. An undefined tensor adds
  /// nothing. `query` is the transformed query, and `keys` is Tk.
  virtual Tensor score(const Tensor& /*query*/, Size /*keys*/) const { return {}; }
  /// Returns a term that is computed from the weights (B, heads…, Tq, Tk) and added to the contexts
  /// (B, heads…, Tq, d_v). An undefined tensor adds nothing.
  virtual Tensor context(const Tensor& /*weights*/) const { return {}; }
  /// Returns the change of the scores as a ScoreMod, which tiled attention can apply. An undefined ScoreMod changes
  /// nothing. No value means that tiles do not support the scheme. A scheme whose scores depend only on the positions
  /// needs to override only this method.
  virtual std::optional<ScoreMod> as_score_mod(Size /*queries*/, Size /*keys*/) const { return {}; }
  /// Ties the parameters to those of another layer, for schemes whose layers all use the same parameters.
  virtual void share(const PairPositions& /*other*/) {}
};

/// Shape of the attention layer that a scheme is made for.
struct PairShape {
  /// Number of heads: the product of the axes between batch and time, or 1 if there are none.
  Size heads = 1;
  /// Widths d_k and d_v of one head.
  Size head_width = 0, value_width = 0;
  /// True if no query sees a later key.
  bool causal = false;
};

/// Factories of the modules of a scheme. Either can be empty. To write a scheme, derive a class from InputPositions or
/// PairPositions, and return a factory of this class:
///     PositionScheme my_positions() {
///       return {.pairs = [](Parent parent, const PairShape& shape) {
///         return std::make_unique<MyPositions>(std::move(parent), shape);
///       }};
///     }
struct PositionScheme {
  std::function<ModulePtr<InputPositions>(Parent, Size width)> input = {};       // added to the input
  std::function<ModulePtr<PairPositions>(Parent, const PairShape&)> pairs = {};  // used by attention
};

/// Returns a scheme that gives no position information.
inline PositionScheme no_positions() { return {}; }

}  // namespace tapestry
