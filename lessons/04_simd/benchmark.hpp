// Times all programs that lesson 04 compares, in turns on one thread, and shows them in tables and pictures.
#pragma once

#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "lessons/04_simd/memory.hpp"
#include "lessons/04_simd/packing.hpp"
#include "lessons/kit/kit.hpp"

namespace tapestry::lesson04 {

/// The chapter's products c = a·b of n × n matrices. The first computes only the first `rows` rows. ("row strips" is in
/// benchmark.cpp.)
struct ProductFunctions {
  void (*three_loops)(const float* a, const float* b, float* c, Size n, Size rows);
  void (*reordered)(const float* a, const float* b, float* c, Size n);
  void (*blocked)(const float* a, const float* b, float* c, Size n, Packed& packed);
};

/// Multiply-adds in `count` independent chains, timed in operations.
struct Chains {
  int count;
  Timed timed;
};

/// The largest speed, and the smallest number of chains that nearly reaches it (see peak()).
struct Peak {
  double speed;
  int chains;
};

/// One version of the product, timed in operations.
struct Product {
  const char* name;
  double intensity;
  Timed timed;
};

/// Returns the operations per byte for a tile of rows × vectors of c, as the chapter counts them.
inline double tile_intensity(Size rows, Size vectors, Size lanes) {
  return 0.5 * static_cast<double>(rows * vectors * lanes) / static_cast<double>(vectors * lanes + rows);
}

struct Benchmark {
  /// `intensity` is that of the chapter's tile, in operations per byte loaded or stored.
  Benchmark(const ProductFunctions& functions, double intensity, const kit::Options& options);
  Benchmark(const Benchmark&) = delete;  // `products` stores its address

  /// Runs all programs `rounds` times. Then three_loops computes its whole product once, so that it can be checked.
  void run(Size rounds);
  Peak peak() const;
  /// Returns the best speed of "three loops", "reordered", "lanes by hand" (reordered, written with Vector), "row strips",
  /// "blocked" or "library".
  double speed_of(std::string_view name) const;

  Tensor a, b;
  std::vector<Tensor> c;  // the results, one for each product
  std::vector<Product> products;
  Chains one_lane;             // one chain in one lane
  std::vector<Chains> chains;  // a growing number of chains in all lanes
  Timed additions;             // one chain of additions in one lane, each counted as two operations
  Memory memory;

 private:
  void (*three_loops_)(const float* a, const float* b, float* c, Size n, Size rows);
  Packed packed_;
};

/// Computes 10 x + 1 for x = 0, 1, 2, … in the lanes of one register and prints it. Returns true if all are right.
bool show_lanes();

/// Prints the speed for each number of chains and draws chains.svg. Returns the peak.
double show_chains(const Benchmark& benchmark, const kit::Options& options, kit::Report& report);

/// Prints a row for each product, whether the compiler used the lanes in reordered, and the targets. All products must
/// be right up to rounding. Each of the n sums rounds once, so the error is at most n·2⁻²⁴·Σ|a||b|
/// (Higham 2002, section 3.1).
void show_products(const Benchmark& benchmark, kit::Report& report);

/// Prints the bandwidths, and how close three of the products come to their limits.
void show_limits(Benchmark& benchmark, kit::Report& report);

/// Draws roofline.svg.
void show_roofline(Benchmark& benchmark, const kit::Options& options);

}  // namespace tapestry::lesson04
