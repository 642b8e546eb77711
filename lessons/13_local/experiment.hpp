// Trains models with several windows on two tasks, adding neighbours and undoing a doubling. Measures how many
// answers are right, and draws the windows.
#pragma once

#include <functional>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry::lesson13 {

/// Draws states (2, 4, 5), as f64 leaves. Every position computed from them is at least a tenth of a place from
/// the nearest p at which a key enters or leaves the window. For a whole number D, these p are the whole
/// numbers.
Tensor states_off_the_edges(const std::function<Tensor(const Tensor& states)>& positions, std::uint64_t seed);

struct Counted {
  double symbols = 0, rows = 0;  ///< correct ones in per cent; every length counts equally
};

/// Trains models to add three neighbours, with local-m for D = 0, 1 and 2, and without a window. Prints a row
/// for each model and draws neighbours.svg. For D = 1, also writes local_m.svg and window_local_m.json.
std::vector<Counted> add_neighbours(const kit::Options& options);

/// Results of undoing a doubling with D = 2.
struct Doubled {
  Counted monotonic, predictive;
  double furthest = 0;  ///< largest distance of a p_t in local-p from 2t + ½, in a sequence of 16 letters
};
/// Trains with local-m and with local-p. Writes positions.svg, local_p.svg and window_local_p.json.
Doubled undo_doubling(const kit::Options& options);

}  // namespace tapestry::lesson13
