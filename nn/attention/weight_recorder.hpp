// Records the weights that attention layers compute.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

class Attention;

/// A guard that records the weights of an attention layer, and the window centres of local attention, while it is
/// alive. It does not change the model. If a layer has several recorders, each of them records all calls.
class WeightRecorder {
 public:
  explicit WeightRecorder(const Attention& attention);
  ~WeightRecorder();
  WeightRecorder(const WeightRecorder&) = delete;
  WeightRecorder& operator=(const WeightRecorder&) = delete;

  /// Returns the weights (…, Tq, Tk) of each call, detached from the tape.
  const std::vector<Tensor>& weights() const { return weights_; }
  /// Returns the window centres p_t (…, Tq) of each call, detached from the tape; empty for a layer without a window.
  const std::vector<Tensor>& positions() const { return positions_; }
  /// Deletes all records.
  void clear();

  /// Returns true if a recorder of this layer is alive. The layer must compute its weights in that case.
  static bool watches(const Attention& attention);
  /// Passes the weights of a call to every recorder of this layer. Several threads may call it at the same time.
  static void notify(const Attention& attention, const Tensor& weights, const Tensor& positions);

 private:
  const Attention& attention_;
  std::vector<Tensor> weights_, positions_;
};

}  // namespace tapestry
