// Learning-rate schedules. They are pure functions of the step number, so a resumed run needs no other state.
//
//     const Schedule rate = then(warm_up(400), 400, cosine_decay(10000 - 400));
//     adam.step(rate(t));
#pragma once

#include <functional>

#include "core/simd/view.hpp"

namespace tapestry {

/// Factor on the learning rate at update t = 1, 2, …. Every schedule below throws Error for t < 1, and its maker throws
/// Error for a number of steps or a period below 1.
using Schedule = std::function<double(Size t)>;

/// Constant factor 1.
Schedule constant_rate();
/// Step decay: γ^⌊(t − 1) / period⌋.
Schedule step_decay(Size period, double gamma);
/// Linear warm-up: min(1, t / steps).
Schedule warm_up(Size steps);
/// Cosine decay from 1 to `floor`: floor + (1 − floor) (1 + cos π p) / 2 with p = min(1, t / steps) (Loshchilov &
/// Hutter 2017, without restarts).
Schedule cosine_decay(Size steps, double floor = 0);
/// Linear warm-up, then inverse square root decay: min(t / warm_up_steps, √(warm_up_steps / t)) (after Vaswani et al.
/// 2017, equation 3, scaled to a peak of 1).
Schedule inverse_square_root(Size warm_up_steps);
/// Uses `first` for the first `steps` updates, then `second`, whose t starts at 1 again.
Schedule then(Schedule first, Size steps, Schedule second);

}  // namespace tapestry
