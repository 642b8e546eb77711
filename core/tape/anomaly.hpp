// Finds the op that made a NaN.
#pragma once

namespace tapestry {

/// While one lives, every value, every gradient and every sum of gradients on this thread is checked; the
/// first op that makes a NaN throws, with its inputs and the line that called it.
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
