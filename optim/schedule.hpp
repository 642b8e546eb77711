// Learning-rate schedules: pure functions of the step, so that a resumed run needs nothing but the step's
// number.
//
//     const Schedule rate = then(warm_up(400), 400, cosine_decay(10000 - 400));
//     adam.step(rate(t));
#pragma once

#include <functional>

#include "core/simd/view.hpp"

namespace tapestry {

/// The factor on the learning rate at update t = 1, 2, …; throws for t < 1.
using Schedule = std::function<double(Size t)>;

/// 1
Schedule constant_rate();
/// γ^⌊(t − 1) / period⌋
Schedule step_decay(Size period, double gamma);
/// min(1, t / steps)
Schedule warm_up(Size steps);
/// floor + (1 − floor) (1 + cos π p) / 2 with p = min(1, t / steps) (Loshchilov & Hutter 2017, without
/// restarts).
Schedule cosine_decay(Size steps, double floor = 0);
/// min(t / warm_up, √(warm_up / t)) (after Vaswani et al. 2017, equation 3, scaled to a peak of 1).
Schedule inverse_square_root(Size warm_up_steps);
/// `first` for the first `steps` updates, then `second`, whose own t starts at 1.
Schedule then(Schedule first, Size steps, Schedule second);

}  // namespace tapestry
