// Driver of the matmul: cuts products into blocks that fit the caches, packs operands where it pays, and distributes
// the blocks over threads.
//
//     for columns of b, kNC at a time            packed b (kc × kNC) stays in the L3 cache
//       for k, kc at a time                      c holds the partial sums between rounds
//         for rows of a, a block at a time       the block (rows × kc) stays in L2
//           for columns, a tile at a time        b's panel (kc × tile) stays in L1
//             for rows, a tile at a time         registers: see tiles.hpp
//
// If all rows of a are one block, each share of b's columns is packed just before its use instead. On one thread a
// single row reads b in the order of its memory: see row.hpp.
//
// Every element of c adds its k terms one by one in increasing order, wherever the blocks are cut, so the cuts may
// depend on the number of threads. The dot path, which adds along lanes, is chosen from the whole product's shape
// before any cutting. Large products spend their time in the register tile (above nine tenths of the processor's
// peak), small ones in call overhead, and thin ones in reading b once.
#include "core/simd/matmul/matmul.hpp"

#include <algorithm>
#include <utility>

#include "core/simd/matmul/blocks.hpp"
#include "core/simd/matmul/dot.hpp"
#include "core/simd/matmul/pack.hpp"
#include "core/simd/matmul/row.hpp"
#include "core/simd/matmul/tiles.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kKC = 512, kNC = 4096;
constexpr Size kKCInPlace = 256;               // when b is not packed
constexpr Size kBlockBytes = Size{256} << 10;  // a block of a, in half of the L2 cache
constexpr Size kParallelWork = Size{1} << 17;  // multiply-adds that take about 2 µs
constexpr Size kShareBytes = Size{128} << 10;  // a share of b, packed by the thread that uses it, in L2

/// One product of the batch on one or several threads.
template <class T>
class Product {
 public:
  explicit Product(const Matmul<T>& x) : x_(x), dot_(suits_dot(x)) {
    const Size bytes = x.n * x.k * kBytes;
    const bool bad_stride = x.b_row * kBytes % 2048 == 0;
    pack_b_ =
        x.b_col != 1 || x.n < kL || (x.m >= 4 * kTileRows<T> && (bad_stride || bytes > (Size{128} << 10)));
    const Size most = pack_b_ ? kKC : kKCInPlace;
    kc_ = x.k <= most ? x.k : round_up(ceil_div(x.k, ceil_div(x.k, most)), 8);
    one_block_ = x.m * kc_ * kBytes <= kBlockBytes;
    // A transposed a costs a cache line for each k, so packing it pays off sooner.
    const bool transposed = x.a_col != 1;
    pack_a_ = x.m >= 64 && x.n >= (transposed ? 96 : 200) &&
              (transposed || !one_block_ || x.a_row * kBytes % 2048 == 0);
  }

  void run(const T* a, const T* b, T* c, bool parallel) const {
    if (dot_) {
      dot_product(x_, a, b, c, parallel);
    } else {
      run_tiles(a, b, c, parallel);
    }
  }

 private:
  static constexpr Size kL = kLanes<T>, kWide = kPanelColumns<T>, kBytes = static_cast<Size>(sizeof(T));

  /// A block of c and its operands.
  struct Block {
    const T* a;  // packed, or the block's first row and column of a
    const T* b;  // packed: the panel of the block's first column
    Size b_row;
    T* c;
    const T* start;
    Size start_row, start_col;
    Size rows, columns, k;
  };

  void run_tiles(const T* a, const T* b, T* c, bool parallel) const {
    for (Size j0 = 0; j0 < x_.n; j0 += kNC) {
      for (Size p0 = 0; p0 < x_.k; p0 += kc_) {
        Block all;
        all.rows = x_.m;
        all.columns = std::min(kNC, x_.n - j0);
        all.k = std::min(kc_, x_.k - p0);
        all.a = a + p0 * x_.a_col;
        all.b = b + p0 * x_.b_row + j0 * x_.b_col;
        all.b_row = x_.b_row;
        all.c = c + j0;
        all.start = kZeros<T>, all.start_row = all.start_col = 0;
        if (p0 > 0 || x_.accumulate) {
          all.start = all.c, all.start_row = x_.c_row, all.start_col = 1;
        } else if (x_.bias != nullptr) {
          all.start = x_.bias + j0, all.start_col = 1;
        }
        one_block_ ? run_shares(all, parallel) : run_blocks(all, parallel);
      }
    }
  }

  /// Runs a product in which all of a is one block: the columns of c are cut into shares, each with its part of b.
  void run_shares(Block all, bool parallel) const {
    const Scratch<T> packed_a(pack_a_ ? packed_a_size<T>(all.rows, all.k) : 0);
    if (pack_a_) {
      pack_a(all.a, x_.a_row, x_.a_col, all.rows, all.k, packed_a.data());
      all.a = packed_a.data();
    }
    // The divisions take longer than a small product, so uncut products skip them.
    const bool one_row = all.rows == 1 && !pack_b_ && !parallel;
    const bool whole = one_row || (!parallel && all.columns * all.k * kBytes <= kShareBytes);
    const Size share =
        whole ? all.columns
              : even_part(all.columns, kShareBytes / (all.k * kBytes), parallel ? thread_count() : 1, kWide);
    each(parallel, whole ? 1 : ceil_div(all.columns, share), [&](Size index) {
      Block block = part(all, 0, all.rows, index * share, share);
      const Scratch<T> packed_b(pack_b_ ? round_up(block.columns, kWide) * block.k : 0);
      if (pack_b_) {
        pack_panels(block.b, block.columns, block.k, packed_b.data(), false);
        block.b = packed_b.data();
      }
      run_block(block, one_row ? run_row(block) : 0);
    });
  }

  /// Runs a product with several blocks of a. Each task packs its block; b is packed before, as all tasks need it.
  void run_blocks(Block all, bool parallel) const {
    const Scratch<T> packed_b(pack_b_ ? round_up(all.columns, kWide) * all.k : 0);
    if (pack_b_) pack_panels(all.b, all.columns, all.k, packed_b.data(), parallel);
    const Grid grid = cut(all.columns, all.k, parallel);
    each(parallel, grid.row_blocks * grid.column_blocks, [&](Size index) {
      const Size j = index % grid.column_blocks * grid.columns;
      Block block = part(all, index / grid.column_blocks * grid.rows, grid.rows, j, grid.columns);
      if (pack_b_) block.b = packed_b.data() + j * all.k;
      const Scratch<T> packed_a(pack_a_ ? packed_a_size<T>(block.rows, block.k) : 0);
      if (pack_a_) {
        pack_a(block.a, x_.a_row, x_.a_col, block.rows, block.k, packed_a.data());
        block.a = packed_a.data();
      }
      run_block(block);
    });
  }

  /// Returns the length of the parts of n: at most `most`, equally many parts per thread, in whole steps.
  static Size even_part(Size n, Size most, Size threads, Size step) {
    return round_up(ceil_div(n, round_up(ceil_div(n, std::max(most, step)), threads)), step);
  }

  /// Returns rows [i, i + rows) and columns [j, j + columns) of `all`, clipped to its size.
  Block part(Block all, Size i, Size rows, Size j, Size columns) const {
    if (i > 0) all.a += i * x_.a_row;
    all.b += j * x_.b_col;
    all.c += i * x_.c_row + j;
    all.start += i * all.start_row + j * all.start_col;
    all.rows = std::min(rows, all.rows - i);
    all.columns = std::min(columns, all.columns - j);
    return all;
  }

  void pack_panels(const T* b, Size columns, Size k, T* to, bool parallel) const {
    const Size panels = ceil_div(columns, kWide);
    const Size group = std::max<Size>(1, 65536 / (k * kWide));
    each(parallel, ceil_div(panels, group), [&](Size chunk) {
      const Size first = chunk * group * kWide, last = std::min(columns, first + group * kWide);
      // A few whole rows at a time, since the hardware prefetches along rows.
      const Size step = x_.b_col == 1 ? 8 : k;
      for (Size p = 0; p < k; p += step) {
        const T* rows = b + p * x_.b_row;
        for (Size j = first; j < last; j += kWide)
          pack_b_panel(rows + j * x_.b_col, x_.b_row, x_.b_col, std::min(step, k - p),
                       std::min(kWide, columns - j), to + j * k + p * kWide);
      }
    });
  }

  struct Grid {
    Size rows, columns, row_blocks, column_blocks;
  };

  /// Cuts c into blocks whose part of a fits the cache. Several threads get equally many blocks, cut along the longer
  /// side.
  Grid cut(Size columns, Size k, bool parallel) const {
    const Size threads = parallel ? thread_count() : 1;
    const bool cut_rows = x_.m >= columns;
    Grid grid;
    grid.rows = even_part(x_.m, kBlockBytes / (k * kBytes), cut_rows ? threads : 1, kTileRows<T>);
    grid.columns = even_part(columns, columns, cut_rows ? 1 : threads, kWide);
    grid.row_blocks = ceil_div(x_.m, grid.rows);
    grid.column_blocks = ceil_div(columns, grid.columns);
    return grid;
  }

  /// Runs the block's columns from j on.
  void run_block(const Block& block, Size j = 0) const {
    // Thin products read b in place, in wide tiles; packed panels have a fixed width.
    const Size widest = pack_b_ ? kTileVectors : TileTable<T>::widest(std::min<Size>(block.rows, 4));
    while (j < block.columns) {
      const Size left = block.columns - j;
      Size vectors = widest;
      if constexpr (kTileVectors == 2) {
        while (vectors > 1 && vectors * kL > left + (vectors == 2 ? kL - 1 : 0)) vectors /= 2;
      } else {
        vectors = std::min(widest, ceil_div(left, kL));  // halves of three would end within a panel
      }
      const Size columns = std::min(left, vectors * kL);
      run_column(block, j, vectors, columns);
      j += columns;
    }
  }

  /// Runs the whole pairs of vectors of a block of one row, with b in place, and returns the number of their columns.
  Size run_row(const Block& block) const {
    const Size columns = block.columns / kWide * kWide;
    if (columns <= kMaxTileVectors * kL) return 0;  // one tile reads whole rows, too
    if (block.start_col == 0) {
      std::fill_n(block.c, columns, T(0));
    } else if (block.start != block.c) {
      std::copy_n(block.start, columns, block.c);
    }
    add_row_product(block.a, x_.a_col, block.b, block.b_row, block.k, block.c, columns);
    return columns;
  }

  /// Runs all tiles at columns [j, j + columns) of the block, from top to bottom.
  void run_column(const Block& block, Size j, Size vectors, Size columns) const {
    TileStep<T> step;
    step.b = pack_b_ ? block.b + j * block.k : block.b + j;
    step.b_row = pack_b_ ? kWide : block.b_row;
    step.b_last = pack_b_ ? (vectors - 1) * kL : columns - kL;
    step.k = block.k;
    step.start_row = block.start_row;
    step.c_row = x_.c_row;
    for (Size i = 0, rows = 0; i < block.rows; i += rows) {
      rows = next_tile_rows<T>(block.rows - i);
      step.a = block.a + i * (pack_a_ ? block.k : x_.a_row);
      step.a_row = pack_a_ ? 1 : x_.a_row;
      step.a_col = pack_a_ ? rows : x_.a_col;
      step.start = block.start + i * block.start_row + j * block.start_col;
      step.c = block.c + i * x_.c_row + j;
      const auto tile = TileTable<T>::at(rows, vectors);
      columns == vectors* kL ? tile(step) : run_ragged(tile, step, rows, vectors, columns);
    }
  }

  /// Runs a tile whose last vector is only partly in c, in a separate buffer. If b is in place, its last vector ends
  /// with its last column, so the first lanes repeat columns; if b is packed, the last lanes are padding.
  void run_ragged(typename TileTable<T>::Function tile, TileStep<T> step, Size rows, Size vectors,
                  Size columns) const {
    alignas(kBlockAlignment) T beside[static_cast<std::size_t>(kTileRows<T> * kMaxTileVectors * kL)];
    const Size wide = vectors * kL, whole = wide - kL, part = columns - whole, lane = pack_b_ ? 0 : kL - part;
    T* const c = step.c;
    for (Size i = 0; i < rows; ++i) {
      const T* from = step.start + i * step.start_row;
      T* to = beside + i * wide;
      std::copy_n(from, whole, to);
      store(to + whole, Lanes<T>(T(0)));
      std::copy_n(from + whole, part, to + whole + lane);
    }
    step.start = step.c = beside;
    step.start_row = step.c_row = wide;
    tile(step);
    for (Size i = 0; i < rows; ++i) {
      const T* from = beside + i * wide;
      T* to = c + i * x_.c_row;
      std::copy_n(from, whole, to);
      std::copy_n(from + whole + lane, part, to + whole);
    }
  }

  const Matmul<T>& x_;
  bool dot_, pack_a_, pack_b_, one_block_;
  Size kc_;
};

/// Simplifies a product: drops axes of size 1; turns a batch that shares b and steps evenly through a and c into more
/// rows; turns a matrix times one column into a row times a matrix if that has contiguous columns.
template <class T>
void simplify(Matmul<T>& x) {
  for (int axis = x.batch.rank() - 1; axis >= 0; --axis) {
    const bool inner = axis == x.batch.rank() - 1;
    const bool one_row = inner && x.m == 1 && x.b_batch[axis] == 0;
    const bool more_rows =
        inner && x.b_batch[axis] == 0 && x.a_batch[axis] == x.m * x.a_row && x.c_batch[axis] == x.m * x.c_row;
    if (x.batch[axis] != 1 && !one_row && !more_rows) continue;
    if (x.batch[axis] != 1) {
      if (one_row) x.a_row = x.a_batch[axis], x.c_row = x.c_batch[axis];
      x.m *= x.batch[axis];
    }
    for (Dims* dims : {&x.batch, &x.a_batch, &x.b_batch, &x.c_batch}) dims->erase(axis);
  }
  if (x.n == 1 && x.m > 1 && x.a_col != 1 && x.a_row == 1 && x.c_row == 1 && x.bias == nullptr) {
    std::swap(x.a, x.b);
    std::swap(x.a_batch, x.b_batch);
    std::swap(x.m, x.n);
    const Size b_row = x.a_col;
    x.a_col = x.b_row;
    x.b_row = b_row;
    x.a_row = x.b_col = 1;
  }
}

/// Fills c for k = 0, with the bias or 0.
template <class T>
void fill(const Matmul<T>& x, T* c) {
  for (Size i = 0; i < x.m; ++i) {
    for (Size j = 0; j < x.n; ++j) c[i * x.c_row + j] = x.bias != nullptr ? x.bias[j] : T(0);
  }
}

}  // namespace

template <class T>
void matmul(const Matmul<T>& product) {
  if (product.m == 0 || product.n == 0 || product.batch.count() == 0) return;
  Matmul<T> x = product;
  simplify(x);
  const Size items = x.batch.count();
  if (x.k == 0) {
    for (Size item = 0; item < items && !x.accumulate; ++item) {
      fill(x, x.c + offset_of(item, x.batch, x.c_batch));
    }
    return;
  }
  const Product<T> one(x);
  const auto run = [&](Size item, bool parallel) {
    one.run(x.a + offset_of(item, x.batch, x.a_batch), x.b + offset_of(item, x.batch, x.b_batch),
            x.c + offset_of(item, x.batch, x.c_batch), parallel);
  };
  const Size work = x.m * x.n * x.k;
  const bool parallel = thread_count() > 1 && work * items >= kParallelWork;
  if (!parallel || items == 1 || (items < 4 * thread_count() && work >= 4 * kParallelWork)) {
    for (Size item = 0; item < items; ++item) run(item, parallel);
  } else {
    const Size group = std::clamp<Size>(kParallelWork / work, 1, ceil_div(items, thread_count()));
    parallel_ranges(items, group, [&](Size begin, Size end) {
      for (Size item = begin; item < end; ++item) run(item, false);
    });
  }
}

template void matmul(const Matmul<float>&);
template void matmul(const Matmul<double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
