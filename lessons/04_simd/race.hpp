// All that lesson 04 compares: it takes turns on one thread, and is shown in tables and pictures.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/04_simd/memory.hpp"
#include "lessons/04_simd/packing.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson04 {

/// The chapter's products c = a·b of n × n matrices; the first does the first `rows` of them only. ("batches" is in
/// race.cpp.)
struct Products {
  void (*three_loops)(const float* a, const float* b, float* c, Size n, Size rows);
  void (*reordered)(const float* a, const float* b, float* c, Size n);
  void (*blocked)(const float* a, const float* b, float* c, Size n, Packed& packed);
};

/// Multiply-adds in so many chains, in operations.
struct Chains {
  int count;
  Timed timed;
};

/// The largest speed, and the fewest chains that (nearly, see peak()) reach it.
struct Peak {
  double speed;
  int chains;
};

/// One of the products in the race, in operations.
struct Runner {
  const char* name;
  double intensity;
  Timed timed;
};

/// Operations for each byte of a tile of rows × vectors of c, as the chapter counts them.
inline double tile_intensity(Size rows, Size vectors, Size lanes) {
  return 0.5 * static_cast<double>(rows * vectors * lanes) / static_cast<double>(vectors * lanes + rows);
}

struct Race {
  /// `intensity`: of the chapter's tile, operations for each byte that it loads or stores.
  Race(const Products& products, double intensity, const kit::Options& options);
  Race(const Race&) = delete;  // what runs holds its address

  /// So many rounds; then three_loops does all of its product, once, to be checked.
  void run(Size rounds);
  Peak peak() const;
  /// The best speed of "three loops", "reordered", "lanes by hand" (reordered, written with Vector),
  /// "batches", "blocked" or "core's".
  double of(std::string_view name) const;

  Tensor a, b;
  std::vector<Tensor> c;  // what the runners computed
  std::vector<Runner> runners;
  Chains one_lane;             // one chain in one lane
  std::vector<Chains> chains;  // more and more of them in all lanes
  Timed additions;             // one chain in one lane, each counted as two: the product was made beforehand
  Memory memory;

 private:
  void (*three_loops_)(const float* a, const float* b, float* c, Size n, Size rows);
  Packed packed_;
};

/// 10 x + 1 for x = 0, 1, 2, … in the lanes of one register, printed; whether each lane has its own.
bool show_lanes();

/// chains.svg, a line for each number of chains, and their figures. Returns the peak.
double show_chains(const Race& race, const kit::Options& options, kit::Report& report);

/// A line for each product, whether the compiler found the lanes of reordered, and the targets. All must be right but
/// for rounding: each of the n sums rounds once, so the error is at most n·2⁻²⁴·Σ|a||b| (Higham 2002, section 3.1).
void show_products(const Race& race, kit::Report& report);

/// The bandwidths, and what share of its limit each of three products reaches.
void show_limits(Race& race, kit::Report& report);

/// roofline.svg.
void show_roofline(Race& race, const kit::Options& options);

}  // namespace tapestry::lesson04
