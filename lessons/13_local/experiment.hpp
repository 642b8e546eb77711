// Adding neighbours, and undoing a doubling, with windows of several kinds: the model, its training, what it
// gets right, and pictures of its windows.
#pragma once

#include <functional>
#include <vector>

#include "lessons/kit/kit.hpp"
#include "nn/attention/attention.hpp"

namespace tapestry::lesson13 {

/// States (2, 4, 5), f64 and leaves, whose positions are all a tenth of a place or more from the next
/// window's edge; for a whole D the edges are at whole p.
Tensor states_off_the_edges(const std::function<Tensor(const Tensor& states)>& positions, std::uint64_t seed);

struct Counted {
  double symbols = 0, rows = 0;  ///< per cent right, over all lengths alike
};

/// The sum of three neighbours, with local-m: D = 0, 1, 2, and no window. Prints a row for each, and draws
/// neighbours.svg, and for D = 1 local_m.svg and window_local_m.json.
std::vector<Counted> add_neighbours(const kit::Options& options);

/// A doubled text, D = 2.
struct Doubled {
  Counted monotonic, predictive;
  double furthest = 0;  ///< of all p_t of local-p from 2t + ½, in a text of 16 letters
};
/// Trains with local-m and with local-p, and draws positions.svg, local_p.svg and window_local_p.json.
Doubled undo_doubling(const kit::Options& options);

}  // namespace tapestry::lesson13
