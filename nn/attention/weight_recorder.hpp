// An observer of attention layers: records the weights that they compute.
#pragma once

#include <vector>

#include "core/tensor/tensor.hpp"

namespace tapestry {

class Attention;

/// Records the weights that an attention layer computes, and the positions of local attention, while it is
/// alive. The model is not changed. Several recorders on one layer each record everything.
class WeightRecorder {
 public:
  explicit WeightRecorder(const Attention& attention);
  ~WeightRecorder();
  WeightRecorder(const WeightRecorder&) = delete;
  WeightRecorder& operator=(const WeightRecorder&) = delete;

  /// Returns one (…, Tq, Tk) for each call, off the tape.
  const std::vector<Tensor>& weights() const { return weights_; }
  /// Returns one p_t (…, Tq) for each call of a layer with a window, off the tape.
  const std::vector<Tensor>& positions() const { return positions_; }
  /// Discards all records.
  void clear();

  /// Returns true if a recorder of this layer is alive. The layer then has to compute its weights.
  static bool watches(const Attention& attention);
  /// Gives every recorder of this layer the weights of a call. Any number of threads may call it at a time.
  static void notify(const Attention& attention, const Tensor& weights, const Tensor& positions);

 private:
  const Attention& attention_;
  std::vector<Tensor> weights_, positions_;
};

}  // namespace tapestry
