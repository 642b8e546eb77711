// Reductions over any axes of strided views, in an order that depends on the shapes alone.
#include "core/simd/rows/reduce.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

#include "core/simd/elementwise.hpp"
#include "core/simd/horizontal.hpp"
#include "core/simd/lanes.hpp"
#include "core/simd/runtime/memory.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {
namespace {

template <class T>
struct SumOf {
  static constexpr T kNeutral = T(0);
  static Lanes<T> join(Lanes<T> a, Lanes<T> b) { return a + b; }
  static T join(T a, T b) { return a + b; }
  static T across(Lanes<T> a) { return reduce_add(a); }
};
template <class T>
struct MaxOf {
  static constexpr T kNeutral = -std::numeric_limits<T>::infinity();
  static Lanes<T> join(Lanes<T> a, Lanes<T> b) { return max_nan(a, b); }
  static T join(T a, T b) { return a > b || a != a ? a : b; }
  static T across(Lanes<T> a) { return reduce_max(a); }
};
template <class T>
struct MinOf {
  static constexpr T kNeutral = std::numeric_limits<T>::infinity();
  static Lanes<T> join(Lanes<T> a, Lanes<T> b) { return min_nan(a, b); }
  static T join(T a, T b) { return a < b || a != a ? a : b; }
  static T across(Lanes<T> a) { return reduce_min(a); }
};

constexpr Size kBlock = 1024;       // contiguous elements per block; the cascade joins the blocks
constexpr Size kPart = 65536;       // elements of one output per part, if it is split
constexpr Size kColumnBlock = 512;  // columns that are reduced together
constexpr Size kRowBlock = 64;      // rows that are reduced before they join the total

/// The kept axes, or the reduced ones, slowest first; neighbours are merged where the strides allow.
struct Axes {
  int rank = 0;
  std::array<Size, kMaxRank> size, in, out;

  void add(Size n, Size in_stride, Size out_stride) {
    if (rank > 0) {
      const auto last = static_cast<std::size_t>(rank - 1);
      if (in[last] == in_stride * n && out[last] == out_stride * n) {
        size[last] *= n;
        in[last] = in_stride;
        out[last] = out_stride;
        return;
      }
    }
    const auto next = static_cast<std::size_t>(rank++);
    size[next] = n;
    in[next] = in_stride;
    out[next] = out_stride;
  }
  /// Returns true if the fastest axis is contiguous in the input.
  bool contiguous() const { return rank > 0 && in[static_cast<std::size_t>(rank - 1)] == 1; }
  Size count() const {
    Size product = 1;
    for (int axis = 0; axis < rank; ++axis) product *= size[static_cast<std::size_t>(axis)];
    return product;
  }
  struct Offset {
    Size in = 0, out = 0;
  };
  Offset offset(Size index) const {
    Offset at;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      const Size i = index % size[a];
      index /= size[a];
      at.in += i * in[a];
      at.out += i * out[a];
    }
    return at;
  }
};

/// Joins values pairwise as they arrive, like the carries of a binary counter.
template <class T, class Op>
class Cascade {
 public:
  void push(T value) {
    for (Size carry = count_++; carry & 1; carry >>= 1) value = Op::join(level_[--depth_], value);
    level_[depth_++] = value;
  }
  T total() const {
    if (depth_ == 0) return Op::kNeutral;
    T value = level_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i) value = Op::join(level_[i], value);
    return value;
  }

 private:
  T level_[64];
  int depth_ = 0;
  Size count_ = 0;
};

/// Reduces n ≤ kBlock contiguous elements in four chains of lanes.
template <class T, class Op>
T reduce_block(const T* x, Size n) {
  constexpr Size kStep = kLanes<T>;
  Lanes<T> a(Op::kNeutral), b = a, c = a, d = a;
  Size i = 0;
  for (; i + 4 * kStep <= n; i += 4 * kStep) {
    a = Op::join(a, load(x + i));
    b = Op::join(b, load(x + i + kStep));
    c = Op::join(c, load(x + i + 2 * kStep));
    d = Op::join(d, load(x + i + 3 * kStep));
  }
  for (; i + kStep <= n; i += kStep) a = Op::join(a, load(x + i));
  if (i < n) b = Op::join(b, load_n(x + i, n - i, Op::kNeutral));
  return Op::across(Op::join(Op::join(a, b), Op::join(c, d)));
}

/// Reduces the input's contiguous axis: `inner` elements at each offset of `reduced`, for each index of `kept`.
template <class T, class Op>
void reduce_along(T* out, const T* in, const Axes& kept, const Axes& reduced, Size inner) {
  const Size blocks = chunks_for(inner, kBlock), units = reduced.count() * blocks;
  const Size width = std::min(inner, kBlock);
  const Size units_per_part = std::max(Size{1}, kPart / width);
  const Size parts = chunks_for(units, units_per_part), outputs = kept.count();
  std::vector<T, PoolAllocator<T>> partial(parts > 1 ? static_cast<std::size_t>(outputs * parts) : 0);
  const Size items_per_chunk = std::max(Size{1}, kGrain / (std::min(units, units_per_part) * width));
  parallel_ranges(outputs * parts, items_per_chunk, [&](Size begin, Size end) {
    for (Size item = begin; item < end; ++item) {
      const Axes::Offset at = kept.offset(item / parts);
      const Size first = item % parts * units_per_part;
      Cascade<T, Op> cascade;
      for (Size unit = first; unit < std::min(first + units_per_part, units); ++unit) {
        const Size start = unit % blocks * kBlock;
        cascade.push(reduce_block<T, Op>(in + at.in + reduced.offset(unit / blocks).in + start,
                                         std::min(kBlock, inner - start)));
      }
      if (parts > 1)
        partial[static_cast<std::size_t>(item)] = cascade.total();
      else
        out[at.out] = cascade.total();
    }
  });
  if (parts == 1) return;
  for (Size i = 0; i < outputs; ++i) {
    Cascade<T, Op> cascade;
    for (Size p = 0; p < parts; ++p) cascade.push(partial[static_cast<std::size_t>(i * parts + p)]);
    out[kept.offset(i).out] = cascade.total();
  }
}

/// Reduces rows [first, last) of n ≤ kColumnBlock columns to sum[0 … n), in blocks of kRowBlock rows.
template <class T, class Op>
void reduce_rows(T* sum, const T* in, const Axes& reduced, Size first, Size last, Size n) {
  constexpr Size kStep = kLanes<T>;
  T block[kColumnBlock];
  std::fill_n(sum, n, Op::kNeutral);
  for (Size row = first; row < last; row += kRowBlock) {
    const Size end = std::min(row + kRowBlock, last);
    std::fill_n(block, n, Op::kNeutral);
    // Four rows at a time, so that loads and stores of the sums are a small part.
    for (Size r = row; r < end; r += 4) {
      const T* from[4];
      const Size rows = std::min(Size{4}, end - r);
      for (Size k = 0; k < rows; ++k) from[k] = in + reduced.offset(r + k).in;
      const auto join_rows = [&](Size c, const auto& get) {
        Lanes<T> value = get(from[0] + c);
        if (rows == 4)
          return Op::join(Op::join(value, get(from[1] + c)), Op::join(get(from[2] + c), get(from[3] + c)));
        for (Size k = 1; k < rows; ++k) value = Op::join(value, get(from[k] + c));
        return value;
      };
      Size c = 0;
      for (; c + kStep <= n; c += kStep)
        store(block + c, Op::join(load(block + c), join_rows(c, [](const T* x) { return load(x); })));
      if (c < n) {
        const Size rest = n - c;
        const Lanes<T> value = join_rows(c, [rest](const T* x) { return load_n(x, rest); });
        store_n(block + c, Op::join(load_n(block + c, rest), value), rest);
      }
    }
    for (Size c = 0; c < n; ++c) sum[c] = Op::join(sum[c], block[c]);
  }
}

/// Keeps the input's contiguous axis: reduces rows of `inner` columns over the offsets of `reduced`, for each index of
/// `kept`.
template <class T, class Op>
void reduce_across(T* out, Size out_step, const T* in, const Axes& kept, const Axes& reduced, Size inner) {
  const Size rows = reduced.count(), outer = kept.count(), column_blocks = chunks_for(inner, kColumnBlock);
  const Size width = std::min(inner, kColumnBlock);
  const Size rows_per_part = std::max(kRowBlock, kPart / width / kRowBlock * kRowBlock);
  const Size parts = chunks_for(rows, rows_per_part);
  std::vector<T, PoolAllocator<T>> partial(parts > 1 ? static_cast<std::size_t>(outer * parts * inner) : 0);
  const Size items = outer * parts * column_blocks;
  const Size items_per_chunk = std::max(Size{1}, kGrain / (std::min(rows, rows_per_part) * width));
  parallel_ranges(items, items_per_chunk, [&](Size begin, Size end) {
    for (Size item = begin; item < end; ++item) {
      const Size column = item % column_blocks * kColumnBlock, n = std::min(kColumnBlock, inner - column);
      const Size part = item / column_blocks % parts;
      const Size outer_index = item / (column_blocks * parts);
      const Axes::Offset at = kept.offset(outer_index);
      T sum[kColumnBlock];
      reduce_rows<T, Op>(sum, in + at.in + column, reduced, part * rows_per_part,
                         std::min((part + 1) * rows_per_part, rows), n);
      if (parts > 1)
        std::copy_n(sum, n,
                    &partial[static_cast<std::size_t>((outer_index * parts + part) * inner + column)]);
      else
        for (Size c = 0; c < n; ++c) out[at.out + (column + c) * out_step] = sum[c];
    }
  });
  if (parts == 1) return;
  for (Size i = 0; i < outer; ++i) {
    const T* first = &partial[static_cast<std::size_t>(i * parts * inner)];
    T* to = out + kept.offset(i).out;
    for (Size c = 0; c < inner; ++c) {
      Cascade<T, Op> cascade;
      for (Size p = 0; p < parts; ++p) cascade.push(first[p * inner + c]);
      to[c * out_step] = cascade.total();
    }
  }
}

template <class T, class Op>
void reduce_with(const View<T>& out, const View<const T>& in) {
  if (out.shape.count() == 0) return;
  if (in.shape.count() == 0) return fill<T>(out, Op::kNeutral);
  std::array<int, kMaxRank> order;
  std::size_t used = 0;
  for (int axis = 0; axis < in.shape.rank(); ++axis) {
    if (in.shape[axis] == 1) continue;
    std::size_t place = used++;
    while (place > 0 && std::abs(in.stride[order[place - 1]]) < std::abs(in.stride[axis])) {
      order[place] = order[place - 1];
      --place;
    }
    order[place] = axis;
  }
  Axes kept, reduced;
  for (std::size_t i = 0; i < used; ++i) {
    const int axis = order[i];
    if (out.shape[axis] == 1)
      reduced.add(in.shape[axis], in.stride[axis], 0);
    else
      kept.add(in.shape[axis], in.stride[axis], out.stride[axis]);
  }
  if (reduced.contiguous() || used == 0) {
    const Size inner = used == 0 ? 1 : reduced.size[static_cast<std::size_t>(--reduced.rank)];
    reduce_along<T, Op>(out.data, in.data, kept, reduced, inner);
  } else if (kept.contiguous()) {
    const auto last = static_cast<std::size_t>(--kept.rank);
    reduce_across<T, Op>(out.data, kept.out[last], in.data, kept, reduced, kept.size[last]);
  } else {  // no axis is contiguous: reduce a dense copy
    std::vector<T, PoolAllocator<T>> dense(static_cast<std::size_t>(in.shape.count()));
    const View<T> copied{dense.data(), in.shape, dense_strides(in.shape)};
    copy<T>(copied, in);
    reduce_with<T, Op>(out, copied);
  }
}

}  // namespace

template <class T>
void reduce(Reduction reduction, const View<T>& out, const View<const T>& in) {
  switch (reduction) {
    case Reduction::sum:
      return reduce_with<T, SumOf<T>>(out, in);
    case Reduction::max:
      return reduce_with<T, MaxOf<T>>(out, in);
    case Reduction::min:
      return reduce_with<T, MinOf<T>>(out, in);
  }
}

template void reduce<float>(Reduction, const View<float>&, const View<const float>&);
template void reduce<double>(Reduction, const View<double>&, const View<const double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
