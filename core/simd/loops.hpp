// Loops over strided views: axes are merged where all operands allow it, and the two innermost are cut into tiles.
//
// Kernels see contiguous runs only. Contiguous operands are used in place. Others (broadcast, strided, transposed)
// are copied, in memory order, through a tile of kTile elements in the L1 cache. So each kernel has one loop, and the
// bits of a value never depend on its layout. Tiles depend on shapes and strides alone; groups of tiles are the chunks
// of the thread pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// Number of elements per chunk for cheap work (a microsecond or two).
inline constexpr Size kGrain = 8192;
/// Number of elements of a staged tile, per operand.
inline constexpr Size kTile = 1024;
/// Rows and columns of the tiles of a transposed operand.
inline constexpr Size kTransposeTile = 32;

template <class T>
inline bool is_dense(const View<T>& view) {
  return is_dense(view.shape, view.stride);
}

/// Loop nest over N operands. Axes of size 1 are dropped, and the rest are sorted by decreasing stride of the first
/// operand. Adjacent axes are merged if one stride covers both in every operand. Axes of size 1 fill it up to rank 2.
template <std::size_t N>
struct StridedLoop {
  int rank = 0;
  Size count = 1;
  std::array<Size, kMaxRank + 2> shape;
  std::array<std::array<Size, kMaxRank + 2>, N> stride;  // [operand][axis]

  Size rows() const { return shape[static_cast<std::size_t>(rank - 2)]; }
  Size columns() const { return shape[static_cast<std::size_t>(rank - 1)]; }
  Size row_stride(std::size_t operand) const { return stride[operand][static_cast<std::size_t>(rank - 2)]; }
  Size column_stride(std::size_t operand) const {
    return stride[operand][static_cast<std::size_t>(rank - 1)];
  }
  /// Product of the sizes of the axes before the two innermost.
  Size outer() const { return count == 0 ? 0 : count / (rows() * columns()); }

  /// Element offset of each operand at the `index`-th combination of the outer axes.
  std::array<Size, N> offsets(Size index) const {
    std::array<Size, N> at{};
    for (int axis = rank - 3; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      const Size i = index % shape[a];
      index /= shape[a];
      for (std::size_t k = 0; k < N; ++k) at[k] += i * stride[k][a];
    }
    return at;
  }
};

/// Builds the loop nest over `shape` from the strides of each operand.
template <std::size_t N>
StridedLoop<N> make_strided_loop(const Dims& shape, const std::array<const Dims*, N>& strides) {
  StridedLoop<N> loop;
  std::size_t rank = 0;
  const auto put = [&](std::size_t axis, Size size, const auto& stride_of) {
    loop.shape[axis] = size;
    for (std::size_t k = 0; k < N; ++k) loop.stride[k][axis] = stride_of(k);
  };
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Size size = shape[axis];
    loop.count *= size;
    if (size == 1) continue;
    // Insertion sort by the first operand's stride; equal strides keep their order.
    std::size_t place = rank;
    while (place > 0 && std::abs(loop.stride[0][place - 1]) < std::abs((*strides[0])[axis])) {
      put(place, loop.shape[place - 1], [&](std::size_t k) { return loop.stride[k][place - 1]; });
      --place;
    }
    put(place, size, [&](std::size_t k) { return (*strides[k])[axis]; });
    ++rank;
  }
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    bool merge = kept > 0;
    for (std::size_t k = 0; merge && k < N; ++k)
      merge = loop.stride[k][kept - 1] == loop.stride[k][axis] * loop.shape[axis];
    if (merge) {
      put(kept - 1, loop.shape[kept - 1] * loop.shape[axis],
          [&](std::size_t k) { return loop.stride[k][axis]; });
    } else {
      put(kept, loop.shape[axis], [&](std::size_t k) { return loop.stride[k][axis]; });
      ++kept;
    }
  }
  while (kept < 2) {  // prepend axes of size 1; without any axis, the last one is contiguous
    for (std::size_t axis = kept; axis > 0; --axis)
      put(axis, loop.shape[axis - 1], [&](std::size_t k) { return loop.stride[k][axis - 1]; });
    put(0, 1, [&](std::size_t) { return kept == 0 ? Size{1} : Size{0}; });
    ++kept;
  }
  loop.rank = static_cast<int>(kept);
  return loop;
}

/// Calls tile(offsets, row, rows, column, columns) for tiles of at most tile_rows × tile_columns that cover the whole
/// loop. A tile begins at (row, column) of the two innermost axes; `offsets` are the operands' offsets at its index on
/// the outer axes. Runs in parallel, in chunks of about `grain` elements.
template <std::size_t N, class F>
void for_each_tile(const StridedLoop<N>& loop, Size tile_rows, Size tile_columns, Size grain, const F& tile) {
  if (loop.count == 0) return;
  const Size row_tiles = chunks_for(loop.rows(), tile_rows),
             column_tiles = chunks_for(loop.columns(), tile_columns);
  const Size tiles = loop.outer() * row_tiles * column_tiles;
  const Size elements = std::min(tile_rows, loop.rows()) * std::min(tile_columns, loop.columns());
  parallel_ranges(tiles, std::max(Size{1}, grain / elements), [&](Size begin, Size end) {
    for (Size index = begin; index < end; ++index) {
      const Size column = index % column_tiles * tile_columns;
      const Size row = index / column_tiles % row_tiles * tile_rows;
      tile(loop.offsets(index / (column_tiles * row_tiles)), row, std::min(tile_rows, loop.rows() - row),
           column, std::min(tile_columns, loop.columns() - column));
    }
  });
}

/// Copies a tile, to[r·to_row + c·to_column] = from[r·from_row + c·from_column], in the order of `from`'s memory.
template <class T>
inline void copy_tile(T* to, Size to_row, Size to_column, const T* from, Size from_row, Size from_column,
                      Size rows, Size columns) {
  if (to_column == 1 && from_column == 1) {
    for (Size r = 0; r < rows; ++r)
      std::memcpy(to + r * to_row, from + r * from_row, static_cast<std::size_t>(columns) * sizeof(T));
  } else if (to_column == 1 && from_column == 0) {
    for (Size r = 0; r < rows; ++r) std::fill_n(to + r * to_row, columns, from[r * from_row]);
  } else if (std::abs(from_row) < std::abs(from_column) && rows > 1) {
    for (Size c = 0; c < columns; ++c)
      for (Size r = 0; r < rows; ++r) to[r * to_row + c * to_column] = from[r * from_row + c * from_column];
  } else {
    for (Size r = 0; r < rows; ++r)
      for (Size c = 0; c < columns; ++c)
        to[r * to_row + c * to_column] = from[r * from_row + c * from_column];
  }
}

namespace internal {

/// Type-erased body, so that the loops below are compiled once per element type and not once per body, at the cost of
/// an indirect call per run.
template <class Out, class... In>
class Erased {
 public:
  template <class Body>
  explicit Erased(const Body& body)
      : body_(&body), call_([](const void* self, Size n, Out* out, const In*... in) {
          (*static_cast<const Body*>(self))(n, out, in...);
        }) {}
  void operator()(Size n, Out* out, const In*... in) const { call_(body_, n, out, in...); }

 private:
  const void* body_;
  void (*call_)(const void*, Size, Out*, const In*...);
};

template <class Out, class... In, std::size_t... I>
[[gnu::noinline]] void run_nest(Size grain, const Erased<Out, In...>& body, Out* out,
                                const StridedLoop<sizeof...(In) + 1>& loop, std::index_sequence<I...>,
                                const In*... in) {
  constexpr std::size_t kOperands = sizeof...(In) + 1;
  constexpr Size kShortRow = 64;
  const Size columns = loop.columns();
  std::array<bool, kOperands> staged{};
  bool any_staged = false, transposed = false;
  // Short rows: whole tiles are staged and passed to the body in one call.
  const bool flat = columns < kShortRow && loop.rows() > 1;
  for (std::size_t k = 0; k < kOperands; ++k) {
    staged[k] = loop.column_stride(k) != 1 || (flat && loop.row_stride(k) != columns);
    any_staged = any_staged || staged[k];
    transposed = transposed || (loop.rows() > 1 && std::abs(loop.column_stride(k)) >
                                                       std::max(Size{1}, std::abs(loop.row_stride(k))));
  }
  Size tile_rows = std::max(Size{1}, grain / columns), tile_columns = grain;
  if (any_staged) {
    tile_columns = flat ? columns : transposed ? kTransposeTile : loop.rows() == 1 ? kTile : kTile / 8;
    tile_rows = transposed && !flat ? kTransposeTile : kTile / std::min(columns, tile_columns);
  }

  for_each_tile(
      loop, tile_rows, tile_columns, grain,
      [&](const std::array<Size, kOperands>& offsets, Size row, Size rows, Size column, Size width) {
        alignas(64) std::byte stages[sizeof...(In) + 1][kTile * 8];
        // Returns a pointer to an input's tile, staged or in place, and stores its row stride in `step`.
        std::array<Size, kOperands> step{};
        [[maybe_unused]] const auto place = [&]<class X>(std::size_t k, const X* base,
                                                         std::byte* stage) -> const X* {
          static_assert(sizeof(X) <= 8);
          base += offsets[k] + row * loop.row_stride(k) + column * loop.column_stride(k);
          step[k] = loop.row_stride(k);
          if (!staged[k]) return base;
          X* tile = reinterpret_cast<X*>(stage);
          copy_tile(tile, width, Size{1}, base, loop.row_stride(k), loop.column_stride(k), rows, width);
          step[k] = width;
          return tile;
        };
        std::tuple<const In*...> from{place(I + 1, in, stages[I + 1])...};
        Out* const target = out + offsets[0] + row * loop.row_stride(0) + column * loop.column_stride(0);
        Out* const out_tile = reinterpret_cast<Out*>(stages[0]);
        Out* const to = staged[0] ? out_tile : target;
        step[0] = staged[0] ? width : loop.row_stride(0);
        if (flat)
          body(rows * width, to, std::get<I>(from)...);
        else
          for (Size r = 0; r < rows; ++r)
            body(width, to + r * step[0], std::get<I>(from) + r * step[I + 1]...);
        if (staged[0])
          copy_tile(target, loop.row_stride(0), loop.column_stride(0), static_cast<const Out*>(out_tile),
                    width, Size{1}, rows, width);
      });
}

}  // namespace internal

/// Calls body(n, Out* out, const In*... in) on runs of `count` elements that are contiguous in all operands. Runs in
/// parallel, in chunks of about `grain` elements.
template <class Body, class Out, class... In>
inline void for_each_run(Size grain, const Body& body, Size count, Out* out, In*... in) {
  if (count > grain)
    parallel_ranges(count, grain,
                    [&](Size begin, Size end) { body(end - begin, out + begin, in + begin...); });
  else if (count > 0)
    body(count, out, in...);
}

/// Calls body(n, Out* out, const In*... in) on contiguous runs that together cover every element once. All views have
/// out's shape. An input may share memory with out only if both have the same strides. Runs in parallel, in chunks of
/// about `grain` elements.
template <class Body, class Out, class... In>
void for_each_run(Size grain, const Body& body, const View<Out>& out, const View<In>&... in) {
  if (is_dense(out) && (is_dense(in) && ...))
    return for_each_run(grain, body, out.shape.count(), out.data, in.data...);
  const auto loop = make_strided_loop<sizeof...(In) + 1>(out.shape, {&out.stride, &in.stride...});
  if (loop.count == 0) return;
  internal::run_nest<Out, std::remove_const_t<In>...>(
      grain, internal::Erased<Out, std::remove_const_t<In>...>(body), out.data, loop,
      std::index_sequence_for<In...>{}, in.data...);
}

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
