// copy, fill, convert, comparisons and select on strided views.
#include "core/simd/elementwise.hpp"

#include <algorithm>

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

template <class T>
void fill(const View<T>& out, std::type_identity_t<T> value) {
  for_each_run(
      kGrain, [value](Size n, T* to) { std::fill_n(to, n, value); }, out);
}

template <class T>
void copy(const View<T>& out, const View<const std::type_identity_t<T>>& in) {
  if (is_dense(out) && is_dense(in)) {
    parallel_ranges(out.shape.count(), kGrain, [&](Size begin, Size end) {
      std::memcpy(out.data + begin, in.data + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    });
    return;
  }
  const auto loop = make_strided_loop<2>(out.shape, {&out.stride, &in.stride});
  if (loop.count == 0) return;
  const bool transposed = std::abs(loop.row_stride(1)) < std::abs(loop.column_stride(1)) && loop.rows() > 1;
  const Size tile_rows = transposed ? kTransposeTile : std::max(Size{1}, kTile / loop.columns());
  for_each_tile(
      loop, tile_rows, transposed ? kTransposeTile : kGrain, kGrain,
      [&](const std::array<Size, 2>& offsets, Size row, Size rows, Size column, Size columns) {
        T* to = out.data + offsets[0] + row * loop.row_stride(0) + column * loop.column_stride(0);
        const T* from = in.data + offsets[1] + row * loop.row_stride(1) + column * loop.column_stride(1);
        if (transposed && loop.column_stride(0) == 1) {
          // Staged through L1: rows a power of two apart would evict each other from the cache.
          T tile[kTransposeTile * kTransposeTile];
          copy_tile(tile, columns, Size{1}, from, loop.row_stride(1), loop.column_stride(1), rows, columns);
          from = tile;
          copy_tile(to, loop.row_stride(0), Size{1}, from, columns, Size{1}, rows, columns);
        } else {
          copy_tile(to, loop.row_stride(0), loop.column_stride(0), from, loop.row_stride(1),
                    loop.column_stride(1), rows, columns);
        }
      });
}

template <class To, class From>
void convert(const View<To>& out, const View<const From>& in) {
  for_each_run(
      kGrain,
      [](Size n, To* to, const From* from) {
        for (Size i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
      },
      out, in);
}

template <class T>
void select(const View<T>& out, const View<const bool>& condition,
            const View<const std::type_identity_t<T>>& yes, const View<const std::type_identity_t<T>>& no) {
  for_each_run(
      kGrain,
      [](Size n, T* to, const bool* which, const T* a, const T* b) {
        constexpr Size kStep = kLanes<T>, kTogether = 256;
        for (Size start = 0; start < n; start += kTogether) {
          T keep[kTogether];  // the condition as 1 and 0: compilers widen bytes well in a separate loop
          const Size end = std::min(n, start + kTogether);
          for (Size i = start; i < end; ++i) keep[i - start] = static_cast<T>(which[i]);
          Size i = start;
          for (; i + kStep <= end; i += kStep) {
            const Lanes<T> kept = load(static_cast<const T*>(keep) + (i - start));
            store(to + i, select(kept > Lanes<T>(T(0)), load(a + i), load(b + i)));
          }
          if (const Size rest = end - i; rest > 0) {
            const Lanes<T> kept = load_n(static_cast<const T*>(keep) + (i - start), rest);
            store_n(to + i, select(kept > Lanes<T>(T(0)), load_n(a + i, rest), load_n(b + i, rest)), rest);
          }
        }
      },
      out, condition, yes, no);
}

namespace {

template <class T, class F>
void compare(const View<bool>& out, const View<const T>& a, const View<const T>& b, const F& f) {
  for_each_run(
      kGrain,
      [&f](Size n, bool* to, const T* x, const T* y) {
        for (Size i = 0; i < n; ++i) to[i] = f(x[i], y[i]);
      },
      out, a, b);
}

}  // namespace

template <class T>
void less(const View<bool>& out, const View<const T>& a, const View<const T>& b) {
  compare(out, a, b, [](T x, T y) { return x < y; });
}

template <class T>
void less_equal(const View<bool>& out, const View<const T>& a, const View<const T>& b) {
  compare(out, a, b, [](T x, T y) { return x <= y; });
}

template <class T>
void equal(const View<bool>& out, const View<const T>& a, const View<const T>& b) {
  compare(out, a, b, [](T x, T y) { return x == y; });
}

template void fill<float>(const View<float>&, float);
template void fill<double>(const View<double>&, double);
template void fill<std::int64_t>(const View<std::int64_t>&, std::int64_t);
template void fill<bool>(const View<bool>&, bool);
template void copy<float>(const View<float>&, const View<const float>&);
template void copy<double>(const View<double>&, const View<const double>&);
template void copy<std::int64_t>(const View<std::int64_t>&, const View<const std::int64_t>&);
template void copy<bool>(const View<bool>&, const View<const bool>&);
template void convert<float, double>(const View<float>&, const View<const double>&);
template void convert<double, float>(const View<double>&, const View<const float>&);
template void select<float>(const View<float>&, const View<const bool>&, const View<const float>&,
                            const View<const float>&);
template void select<double>(const View<double>&, const View<const bool>&, const View<const double>&,
                             const View<const double>&);
template void less<float>(const View<bool>&, const View<const float>&, const View<const float>&);
template void less<double>(const View<bool>&, const View<const double>&, const View<const double>&);
template void less_equal<float>(const View<bool>&, const View<const float>&, const View<const float>&);
template void less_equal<double>(const View<bool>&, const View<const double>&, const View<const double>&);
template void equal<float>(const View<bool>&, const View<const float>&, const View<const float>&);
template void equal<double>(const View<bool>&, const View<const double>&, const View<const double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
