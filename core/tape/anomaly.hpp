// Anomaly mode: finds the op that produced a NaN.
#pragma once

namespace tapestry {

/// A guard that checks every value, every gradient and every sum of gradients on this thread while it is alive. The
/// first op that produces a NaN throws. For a value, the error names the op's inputs and the line that called the op.
/// An op that only moves values, as reshape() and concat() do, does not throw: the NaN may belong to a masked key.
class AnomalyMode {
 public:
  AnomalyMode();
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

 private:
  bool before_;
};

}  // namespace tapestry
