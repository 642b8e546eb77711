// The matmul's driver: cuts products into blocks that fit the caches, packs what pays, shares the blocks
// among threads.
//
//     for columns of b, kNC at a time            packed b (kc × kNC) stays in the L3 cache
//       for k, kc at a time                      c is kept in memory between rounds, exactly
//         for rows of a, a block at a time       the block (rows × kc) stays in L2
//           for columns, a tile at a time        b's panel (kc × tile) stays in L1
//             for rows, a tile at a time         registers: see matmul_tiles.hpp
//
// Every element of c adds its k terms one by one in rising order, wherever the blocks are cut, so threads may
// cut them as they like. The dot path, which adds along lanes, is chosen from the whole product's shape
// before any cutting. Large products spend their time in the register tile (above nine tenths of the
// processor's peak); small ones in starting it; thin ones in reading b once.
#include "core/simd/matmul.hpp"

#include <algorithm>
#include <utility>

#include "core/simd/matmul_pack.hpp"
#include "core/simd/matmul_tiles.hpp"
#include "core/simd/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

constexpr Size kKC = 512, kNC = 4096;
constexpr Size kBlockBytes = Size{256} << 10;    // a block of a, in half of the L2 cache
constexpr Size kParallelWork = Size{1} << 19;    // multiply-adds that take some 10 µs
constexpr Size kDotSide = 16, kDotCopySide = 4;  // the longest short side that the dot path takes
constexpr Size kDotDepth = 16;                   // and its least k

constexpr Size ceil_div(Size n, Size by) { return (n + by - 1) / by; }
constexpr Size round_up(Size n, Size step) { return ceil_div(n, step) * step; }

template <class F>
void each(bool parallel, Size chunks, const F& body) {
  if (parallel) return parallel_for(chunks, body);
  for (Size chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

/// One product of the batch on one or several threads.
template <class T>
class Product {
 public:
  explicit Product(const Matmul<T>& x)
      : x_(x),
        start_(x.accumulate        ? Start::kC
               : x.bias != nullptr ? Start::kBias
                                   : Start::kZero) {
    const bool a_runs = x.a_col == 1, b_runs = x.b_row == 1 || x.k == 1;
    const Size side = std::min(x.m, x.n);
    dot_ = x.k >= kDotDepth && ((a_runs && b_runs && side <= kDotSide) || (a_runs && x.n <= kDotCopySide) ||
                                (b_runs && x.m <= kDotCopySide));
    const Size bytes = x.n * x.k * static_cast<Size>(sizeof(T));
    const bool bad_stride = x.b_row * static_cast<Size>(sizeof(T)) % 2048 == 0;
    pack_b_ = x.b_col != 1 || x.n < kLanes<T> ||
              (x.m >= 4 * kTileRows<T> && (bad_stride || bytes > (Size{128} << 10)));
    pack_a_ = x.n >= 200 && x.m >= 64;
    kc_ = x.k <= kKC ? x.k : round_up(ceil_div(x.k, ceil_div(x.k, kKC)), 8);
  }

  void run(const T* a, const T* b, T* c, bool parallel) const {
    if (dot_) {
      run_dot(a, b, c, parallel);
    } else {
      run_tiles(a, b, c, parallel);
    }
  }

 private:
  static constexpr Size kL = kLanes<T>, kWide = kPanelColumns<T>;

  /// A block of c and what it is made of.
  struct Block {
    const T* a;
    Size a_row, a_col;
    bool a_packed;
    const T* b;  // packed: the panel of the block's first column
    Size b_row;
    T* c;
    const T* bias;
    Size rows, columns, k;
    Start start;
  };

  void run_tiles(const T* a, const T* b, T* c, bool parallel) const {
    const Scratch<T> packed_b(pack_b_ ? round_up(std::min(x_.n, kNC), kWide) * kc_ : 0);
    for (Size j0 = 0; j0 < x_.n; j0 += kNC) {
      const Size columns = std::min(kNC, x_.n - j0);
      for (Size p0 = 0; p0 < x_.k; p0 += kc_) {
        const Size k = std::min(kc_, x_.k - p0);
        const T* b_here = b + p0 * x_.b_row + j0 * x_.b_col;
        if (pack_b_) pack_panels(b_here, columns, k, packed_b.data(), parallel);
        const Start start = p0 == 0 ? start_ : Start::kC;
        const Grid grid = cut(columns, k, parallel);
        each(parallel, grid.row_blocks * grid.column_blocks, [&](Size index) {
          const Size i = index / grid.column_blocks * grid.rows,
                     j = index % grid.column_blocks * grid.columns;
          Block block;
          block.rows = std::min(grid.rows, x_.m - i);
          block.columns = std::min(grid.columns, columns - j);
          block.k = k;
          block.b = pack_b_ ? packed_b.data() + j * k : b_here + j;
          block.b_row = pack_b_ ? kWide : x_.b_row;
          block.c = c + i * x_.c_row + j0 + j;
          block.bias = x_.bias == nullptr ? nullptr : x_.bias + j0 + j;
          block.start = start;
          block.a = a + i * x_.a_row + p0 * x_.a_col;
          block.a_row = x_.a_row;
          block.a_col = x_.a_col;
          block.a_packed = pack_a_;
          const Scratch<T> packed_a(pack_a_ ? block.rows * k : 0);
          if (pack_a_) {
            pack_a(block.a, x_.a_row, x_.a_col, block.rows, k, packed_a.data());
            block.a = packed_a.data();
          }
          run_block(block);
        });
      }
    }
  }

  void pack_panels(const T* b, Size columns, Size k, T* to, bool parallel) const {
    const Size panels = ceil_div(columns, kWide);
    const Size group = std::max<Size>(1, 16384 / (k * kWide));
    each(parallel, ceil_div(panels, group), [&](Size chunk) {
      for (Size panel = chunk * group; panel < std::min(panels, (chunk + 1) * group); ++panel) {
        const Size j = panel * kWide;
        pack_b_panel(b + j * x_.b_col, x_.b_row, x_.b_col, k, std::min(kWide, columns - j), to + j * k);
      }
    });
  }

  struct Grid {
    Size rows, columns, row_blocks, column_blocks;
  };

  /// Blocks of a that fit the cache; for several threads, as many blocks for each, cut across the longer
  /// side.
  Grid cut(Size columns, Size k, bool parallel) const {
    const Size threads = parallel ? thread_count() : 1;
    const bool cut_rows = x_.m >= columns;
    const Size cached =
        std::max<Size>(kTileRows<T>, kBlockBytes / (std::max<Size>(k, 1) * static_cast<Size>(sizeof(T))));
    const Size row_blocks = round_up(ceil_div(x_.m, cached), cut_rows ? threads : 1);
    const Size column_blocks = cut_rows ? 1 : threads;
    Grid grid;
    grid.rows = round_up(ceil_div(x_.m, row_blocks), kTileRows<T>);
    grid.columns = round_up(ceil_div(columns, column_blocks), kWide);
    grid.row_blocks = ceil_div(x_.m, grid.rows);
    grid.column_blocks = ceil_div(columns, grid.columns);
    return grid;
  }

  void run_block(const Block& block) const {
    // Thin products read b in place, in wide tiles; packed panels have their one width.
    const Size widest = pack_b_ ? kTileVectors : TileTable<T>::widest(std::min<Size>(block.rows, 4));
    for (Size j = 0; j < block.columns;) {
      const Size left = block.columns - j;
      Size vectors = widest;
      while (vectors > 1 && vectors * kL > left + (vectors == 2 ? kL - 1 : 0)) vectors /= 2;
      const Size columns = std::min(left, vectors * kL);
      TileStep<T> step;
      step.b = pack_b_ ? block.b + j * block.k : block.b + j;
      step.b_row = block.b_row;
      step.b_last = pack_b_ ? (vectors - 1) * kL : columns - kL;
      step.k = block.k;
      step.c_row = x_.c_row;
      step.bias = block.start == Start::kBias ? block.bias + j : nullptr;
      step.start = block.start;
      run_column(block, step, j, vectors, columns);
      j += columns;
    }
  }

  /// All tiles under each other at columns [j, j + columns) of the block.
  void run_column(const Block& block, TileStep<T> step, Size j, Size vectors, Size columns) const {
    const bool whole = columns == vectors * kL;
    step.a_row = block.a_packed ? 1 : block.a_row;
    for (Size i = 0, rows = 0; i < block.rows; i += rows) {
      rows = next_tile_rows<T>(block.rows - i);
      step.a = block.a_packed ? block.a + i * block.k : block.a + i * block.a_row;
      step.a_col = block.a_packed ? rows : block.a_col;
      step.c = block.c + i * x_.c_row + j;
      const auto tile = TileTable<T>::at(rows, vectors);
      whole ? tile(step) : run_ragged(tile, step, rows, vectors, columns);
    }
  }

  /// A tile whose last vector is only partly c's: computed beside c. In place, b's last vector is the one
  /// that ends with its last column, so its first lanes repeat columns; packed, its last lanes are padding.
  void run_ragged(typename TileTable<T>::Function tile, TileStep<T> step, Size rows, Size vectors,
                  Size columns) const {
    alignas(kBlockAlignment) T beside[static_cast<std::size_t>(kTileRows<T> * kMaxTileVectors * kL)];
    const Size whole = (vectors - 1) * kL, part = columns - whole;
    const Size lane = pack_b_ ? 0 : kL - part;
    T* const c = step.c;
    for (Size i = 0; i < rows; ++i) {
      const T* from = step.start == Start::kBias ? step.bias : c + i * x_.c_row;
      T* to = beside + i * vectors * kL;
      if (step.start == Start::kZero) from = nullptr;
      for (Size v = 0; v < vectors; ++v)
        store(to + v * kL, from != nullptr && v + 1 < vectors ? load(from + v * kL) : Batch<T>(T(0)));
      if (from != nullptr) std::copy_n(from + whole, part, to + whole + lane);
    }
    step.c = beside;
    step.c_row = vectors * kL;
    step.start = Start::kC;
    tile(step);
    for (Size i = 0; i < rows; ++i) {
      const T* from = beside + i * vectors * kL;
      T* to = c + i * x_.c_row;
      for (Size v = 0; v + 1 < vectors; ++v) store(to + v * kL, load(from + v * kL));
      std::copy_n(from + whole + lane, part, to + whole);
    }
  }

  void run_dot(const T* a, const T* b, T* c, bool parallel) const {
    // The short operand is copied when it does not run along k.
    const bool copy_a = x_.a_col != 1, copy_b = x_.b_row != 1;
    const Scratch<T> copy(copy_a ? x_.m * x_.k : copy_b ? x_.n * x_.k : 0);
    Size a_row = x_.a_row, b_col = x_.b_col;
    if (copy_a) {
      for (Size i = 0; i < x_.m; ++i) {
        for (Size p = 0; p < x_.k; ++p) copy.data()[i * x_.k + p] = a[i * x_.a_row + p * x_.a_col];
      }
      a = copy.data(), a_row = x_.k;
    } else if (copy_b) {
      for (Size j = 0; j < x_.n; ++j) {
        for (Size p = 0; p < x_.k; ++p) copy.data()[j * x_.k + p] = b[p * x_.b_row + j * x_.b_col];
      }
      b = copy.data(), b_col = x_.k;
    }
    DotStep<T> all{a, a_row, b,     b_col, x_.k, c, x_.c_row, 1, start_ == Start::kBias ? x_.bias : nullptr,
                   0, 1,     start_};
    Size rows = x_.m, columns = x_.n;
    if (rows > columns) {
      std::swap(all.a, all.b);
      std::swap(all.a_row, all.b_row);
      std::swap(all.c_row, all.c_col);
      std::swap(all.bias_row, all.bias_col);
      std::swap(rows, columns);
    }
    // A group of the long operand's rows stays in L1 while the short one's pass by.
    Size group = std::max<Size>(kDotColumnsOfOne, 16384 / (x_.k * static_cast<Size>(sizeof(T))));
    if (parallel) group = std::min(group, ceil_div(columns, thread_count()));
    group = round_up(group, kDotColumnsOfOne);
    each(parallel, ceil_div(columns, group), [&](Size chunk) {
      DotStep<T> step = all;
      const Size j = chunk * group;
      step.b += j * all.b_row;
      step.c += j * all.c_col;
      if (step.bias != nullptr) step.bias += j * all.bias_col;
      for (Size i = 0; i < rows; i += kDotRows) {
        dot_strip<T>(step, std::min(kDotRows, rows - i), std::min(group, columns - j));
        step.a += kDotRows * all.a_row;
        step.c += kDotRows * all.c_row;
        if (step.bias != nullptr) step.bias += kDotRows * all.bias_row;
      }
    });
  }

  Matmul<T> x_;
  Start start_;
  bool dot_, pack_a_, pack_b_;
  Size kc_;
};

/// Axes of size 1 go; a batch that shares b and steps evenly through a and c becomes more rows; a matrix
/// times one column becomes a row times a matrix where that has the contiguous columns.
template <class T>
Matmul<T> simplify(Matmul<T> x) {
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
  return x;
}

/// The element offset of batch item `index`.
Size batch_offset(const Dims& shape, const Dims& stride, Size index) {
  Size offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += index % shape[axis] * stride[axis];
    index /= shape[axis];
  }
  return offset;
}

/// c without any terms.
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
  const Matmul<T> x = simplify(product);
  const Size items = x.batch.count();
  if (x.k == 0) {
    for (Size item = 0; item < items && !x.accumulate; ++item) {
      fill(x, x.c + batch_offset(x.batch, x.c_batch, item));
    }
    return;
  }
  const Product<T> one(x);
  const auto run = [&](Size item, bool parallel) {
    one.run(x.a + batch_offset(x.batch, x.a_batch, item), x.b + batch_offset(x.batch, x.b_batch, item),
            x.c + batch_offset(x.batch, x.c_batch, item), parallel);
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
