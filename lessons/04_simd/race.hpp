// All that lesson 04 compares: it takes turns on one thread, and is shown in tables and pictures.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/04_simd/memory.hpp"
#include "lessons/04_simd/packing.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson04 {

/// The chapter's products c = a·b of n × n matrices; the first does the first `rows` of them only.
struct Products {
  void (*three_loops)(const float* a, const float* b, float* c, Size n, Size rows);
  void (*reordered)(const float* a, const float* b, float* c, Size n);
  void (*batches)(const float* a, const float* b, float* c, Size n);
  void (*blocked)(const float* a, const float* b, float* c, Size n, Packed& packed);
};

/// Operations for each byte that they load or store.
struct Intensities {
  double batches, blocked, core;
};

/// Multiply-adds in so many chains, in operations.
struct Chains {
  int count;
  Timed timed;
};

/// run(steps, factor, term) does so many steps in `count` chains; V is float or Vector.
template <class V>
Chains chains(int count, float (*run)(Size steps, float factor, float term)) {
  constexpr Size kSteps = 20'000, kWidth = static_cast<Size>(sizeof(V) / sizeof(float));
  return {count,
          {2e-9 * static_cast<double>(kSteps * count * kWidth), [=] { seen = run(kSteps, half, 1.0F); }}};
}

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

struct Race {
  Race(const Products& products, const Intensities& intensities, const kit::Options& options);
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
  Chains one_lane = {};             // one chain in one lane: the chapter sets it
  std::vector<Chains> chains = {};  // more and more of them in all lanes, too
  Timed additions;  // one chain in one lane, each counted as two: the product was made beforehand
  Memory memory;

 private:
  void (*three_loops_)(const float* a, const float* b, float* c, Size n, Size rows);
  Packed packed_;
};

/// The first lanes of x and y, in two rows.
void print_lanes(const std::vector<float>& x, const std::vector<float>& y);

/// chains.svg, and a line for each number of chains.
void show_chains(const std::vector<Chains>& chains, double peak, const kit::Options& options);

/// A line for each product, and whether the compiler found the lanes of reordered. Returns whether all are
/// right but for rounding: each of the n sums rounds once, so the error is at most n·2⁻²⁴·Σ|a||b| (Higham
/// 2002, section 3.1).
bool show_products(const Race& race, kit::Report& report);

/// The bandwidths, and what share of its limit each of three products reaches.
void show_limits(Race& race, kit::Report& report);

/// roofline.svg.
void show_roofline(Race& race, const kit::Options& options);

}  // namespace tapestry::lesson04
