// Ops that join or move elements by position (concat, stack, pad, flip) or by index (embedding, gather,
// scatter_add, one_hot).
#include "core/ops/join.hpp"

#include <algorithm>
#include <vector>

#include "core/ops/arithmetic.hpp"
#include "core/ops/views.hpp"
#include "core/simd/gather.hpp"
#include "core/simd/runtime/threads.hpp"
#include "core/tape/op.hpp"
#include "core/tensor/create.hpp"
#include "core/tensor/index.hpp"
#include "core/tensor/map.hpp"
#include "core/tensor/pool_vector.hpp"

namespace tapestry {

namespace {

constexpr Size kGrain = 16384;  // elements per task, at least

/// Copies y[…, begin + i, …] = x[…, i, …] into a new tensor y, off the tape.
void put(const Tensor& y, const Tensor& x, int axis, Size begin) {
  if (x.count() == 0) return;
  Tensor place = detail::alias(y, x.shape(), y.strides(), begin * y.strides()[axis]);
  dispatch(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::copy(place.mutable_view<T>(), x.view<T>());
  });
}

/// Returns the shape of the parts joined along `axis`. Throws Error for parts that do not fit.
Dims joined_shape(std::span<const Tensor> parts, int axis, const char* op, CallSite at) {
  Dims shape = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    check_same_dtype(parts[0], parts[i], op, at);
    if (!agree_but_for(axis, parts[i].shape(), shape))
      fail("[{}] part {} {} does not fit part 0 {}; all sizes except that of axis {} must be equal ({}:{})",
           op, i, describe(parts[i]), describe(parts[0]), axis, at.file, at.line);
    shape[axis] += parts[i].shape()[axis];
  }
  return shape;
}

}  // namespace

// y = [p₀, p₁, …]        ∂pᵢ = the slice of dy at pᵢ, as a view
Tensor concat(std::span<const Tensor> parts, int axis, CallSite at) {
  if (parts.empty()) fail("[concat] parts must contain at least one tensor ({}:{})", at.file, at.line);
  const int a = axis_of(parts[0], axis);
  Tensor y = Tensor::uninitialised(joined_shape(parts, a, "concat", at), parts[0].dtype());
  PoolVector<Size> begin{0};
  for (const Tensor& part : parts) {
    put(y, part, a, begin.back());
    begin.push_back(begin.back() + part.shape()[a]);
  }
  return op<"concat">(at, std::move(y), wrt_each(parts, [&](std::size_t i) {
                        return [a, from = begin[i], to = begin[i + 1]](const Tensor& dy) {
                          return slice(dy, a, from, to);
                        };
                      }));
}

Tensor concat(std::initializer_list<Tensor> parts, int axis, CallSite at) {
  return concat(std::span(parts.begin(), parts.size()), axis, at);
}

Tensor stack(std::span<const Tensor> parts, int axis, CallSite at) {
  if (parts.empty()) fail("[stack] parts must contain at least one tensor ({}:{})", at.file, at.line);
  PoolVector<Tensor> rows;
  rows.reserve(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].shape() != parts[0].shape())
      fail("[stack] part {} {} does not fit part 0 {}; all shapes must be equal ({}:{})", i,
           describe(parts[i]), describe(parts[0]), at.file, at.line);
    rows.push_back(unsqueeze(parts[i], axis, at));
  }
  return concat(rows, axis, at);
}

Tensor stack(std::initializer_list<Tensor> parts, int axis, CallSite at) {
  return stack(std::span(parts.begin(), parts.size()), axis, at);
}

// y = [value, …, x, value, …]        ∂x = the slice of dy at x
Tensor pad(const Tensor& x, int axis, Size before, Size after, double value, CallSite at) {
  const int a = axis_of(x, axis);
  if (before < 0 || after < 0)
    fail("[pad] before and after must be at least 0, got {} and {}; use slice() to remove elements ({}:{})",
         before, after, at.file, at.line);
  Dims shape = x.shape();
  shape[a] += before + after;
  Tensor y = full(shape, value, x.dtype());
  put(y, x, a, before);
  return op<"pad">(at, std::move(y), wrt(x, [a, before, end = before + x.shape()[a]](const Tensor& dy) {
                     return slice(dy, a, before, end);
                   }));
}

// y[…, i, …] = x[…, n − 1 − i, …]        ∂x = dy, reversed
Tensor flip(const Tensor& x, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  const Tensor source = contiguous(x.detach());
  const Size n = x.shape()[a], inner = x.shape().count(a + 1, x.rank());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = y.mutable_data<T>();
    const T* from = source.data<T>();
    const Size block = n * inner, blocks = block == 0 ? 0 : x.count() / block;
    simd::parallel_ranges(blocks, kGrain / std::max<Size>(1, block) + 1, [&](Size begin, Size end) {
      for (Size first = begin * block; first < end * block; first += block) {
        if (inner == 1) std::reverse_copy(from + first, from + first + n, to + first);
        for (Size i = 0; inner > 1 && i < n; ++i)
          std::copy_n(from + first + (n - 1 - i) * inner, inner, to + first + i * inner);
      }
    });
  });
  return op<"flip">(at, std::move(y), wrt(x, [a](const Tensor& dy) { return flip(dy, a); }));
}

// y[…, (i + shift) mod n, …] = x[…, i, …], composed of other ops
Tensor roll(const Tensor& x, Size shift, int axis, CallSite at) {
  const int a = axis_of(x, axis);
  const Size n = x.shape()[a];
  if (n == 0) return x;
  const Size first = ((-shift % n) + n) % n;  // the element that moves to index 0
  if (first == 0) return x;
  return concat({slice(x, a, first, n, 1, at), slice(x, a, 0, first, 1, at)}, a, at);
}

namespace {

/// Throws Error unless all ids (dense) are in 0 … n−1. The message names the first invalid id and its index.
void check_ids(const Indices& ids, Size n, const char* op, const char* what, CallSite at) {
  const Size count = ids.count();
  const std::int64_t* id = ids.data();
  std::uint64_t largest = 0;  // as unsigned, a negative id is large; one max per id vectorises
  for (Size i = 0; i < count; ++i) largest = std::max(largest, static_cast<std::uint64_t>(id[i]));
  if (count == 0 || largest < static_cast<std::uint64_t>(n)) return;
  for (Size i = 0; i < count; ++i) {
    if (id[i] >= 0 && id[i] < n) continue;
    fail("[{}] id {} at index {} of ids {} is outside the {} {}; ids start at 0 ({}:{})", op, id[i],
         to_string(index_of(i, ids.shape())), to_string(ids.shape()), n, what, at.file, at.line);
  }
}

/// Adds table[ids[i], …] += rows[i, …], off the tape. The table and the ids are dense.
void add_rows(Tensor& table, const Indices& ids, const Tensor& rows) {
  const Tensor source = contiguous(rows.detach());
  const Size width = table.count() / std::max<Size>(1, table.shape()[0]);
  dispatch(table.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::scatter_add_rows(table.mutable_data<T>(), width, ids.data(), source.data<T>(), ids.count(), width);
  });
}

// table = 0, then table[ids[i], …] += rows[i, …]        ∂rows = dtable[ids, …]
Tensor scatter_rows(const Tensor& rows, const Indices& ids, const Dims& shape, CallSite at = {}) {
  Tensor table = zeros(shape, rows.dtype());
  add_rows(table, ids, rows);
  return op<"scatter_rows">(at, std::move(table),
                            wrt(rows, [ids](const Tensor& dtable) { return embedding(dtable, ids); }));
}

}  // namespace

// y[i, …] = table[ids[i], …]        ∂table = 0, then ∂table[ids[i], …] += dy[i, …]
Tensor embedding(const Tensor& table, const Indices& ids_in, CallSite at) {
  const Indices ids = ids_in.contiguous();
  if (table.rank() < 1 || table.rank() - 1 + ids.rank() > kMaxRank)
    fail(
        "[embedding] table {} and ids of shape {} do not fit; the table must have at least one axis, and the result "
        "at most {} ({}:{})",
        describe(table), to_string(ids.shape()), kMaxRank, at.file, at.line);
  check_ids(ids, table.shape()[0], "embedding", "rows of the table", at);
  Dims shape = ids.shape();
  for (int axis = 1; axis < table.rank(); ++axis) shape.push_back(table.shape()[axis]);
  Tensor y = Tensor::uninitialised(shape, table.dtype());
  const Tensor rows = contiguous(table.detach());
  const Size width = rows.count() / std::max<Size>(1, rows.shape()[0]);
  dispatch(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    simd::gather_rows(y.mutable_data<T>(), rows.data<T>(), width, ids.data(), ids.count(), width);
  });
  return op<"embedding">(
      at, std::move(y),
      wrt(
          table, [ids, shape = table.shape()](const Tensor& dy) { return scatter_rows(dy, ids, shape); },
          [ids](Tensor& sum, const Tensor& dy) { add_rows(sum, ids, dy); }));
}

namespace {

/// Throws Error unless ids have x's shape except along the axis, and lie within the axis.
void check_gather(const Tensor& x, int axis, const Indices& ids, const char* op, CallSite at) {
  if (!agree_but_for(axis, ids.shape(), x.shape()))
    fail("[{}] ids of shape {} do not fit {}; all sizes except that of axis {} must be equal ({}:{})", op,
         to_string(ids.shape()), describe(x), axis, at.file, at.line);
  check_ids(ids, x.shape()[axis], op, "elements of the axis", at);
}

/// Calls f(p, q) for each id: p is the offset of the id, and q the offset of the element that it selects in a dense
/// tensor of `shape`. Runs in parallel over the axes before `axis`. Calls that may have the same q run in order.
template <class F>
void each_pair(const Dims& shape, int axis, const Indices& ids, F f) {
  const Size inner = shape.count(axis + 1, shape.rank());
  const Size n = shape[axis], block = ids.shape()[axis] * inner;
  if (ids.count() == 0) return;
  const std::int64_t* id = ids.data();
  simd::parallel_ranges(ids.count() / block, kGrain / block + 1, [&](Size begin, Size end) {
    for (Size outer = begin; outer < end; ++outer) {
      const Size first = outer * n * inner, end_pair = (outer + 1) * block;
      if (inner == 1) {
        for (Size p = outer * block; p < end_pair; ++p) f(p, first + id[p]);
        continue;
      }
      for (Size row = outer * block; row < end_pair; row += inner)
        for (Size i = 0; i < inner; ++i) f(row + i, first + id[row + i] * inner + i);
    }
  });
}

/// Adds sum[i, ids[i, j]] += source[i, j] along the axis, off the tape. `sum` and the ids are dense.
void add_scattered(Tensor& sum, int axis, const Indices& ids, const Tensor& source) {
  const Tensor from = contiguous(source.detach());
  dispatch(sum.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = sum.mutable_data<T>();
    const T* values = from.data<T>();
    each_pair(sum.shape(), axis, ids, [&](Size p, Size q) { to[q] += values[p]; });
  });
}

}  // namespace

// y[i, j] = x[i, ids[i, j]]        ∂x = 0, then ∂x[i, ids[i, j]] += dy[i, j]
Tensor gather(const Tensor& x, int axis, const Indices& ids_in, CallSite at) {
  const int a = axis_of(x, axis);
  const Indices ids = ids_in.contiguous();
  check_gather(x, a, ids, "gather", at);
  Tensor y = Tensor::uninitialised(ids.shape(), x.dtype());
  const Tensor from = contiguous(x.detach());
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* to = y.mutable_data<T>();
    const T* values = from.data<T>();
    each_pair(x.shape(), a, ids, [&](Size p, Size q) { to[p] = values[q]; });
  });
  return op<"gather">(at, std::move(y),
                      wrt(
                          x,
                          [a, ids, shape = x.shape()](const Tensor& dy) {
                            return scatter_add(zeros(shape, dy.dtype()), a, ids, dy);
                          },
                          [a, ids](Tensor& sum, const Tensor& dy) { add_scattered(sum, a, ids, dy); }));
}

// y = x, then y[i, ids[i, j]] += source[i, j]        ∂x = dy        ∂source[i, j] = dy[i, ids[i, j]]
Tensor scatter_add(const Tensor& x, int axis, const Indices& ids_in, const Tensor& source, CallSite at) {
  const int a = axis_of(x, axis);
  const Indices ids = ids_in.contiguous();
  check_same_dtype(x, source, "scatter_add", at);
  check_gather(x, a, ids, "scatter_add", at);
  if (source.shape() != ids.shape())
    fail("[scatter_add] source {} does not fit ids of shape {}; the shapes must be equal ({}:{})",
         describe(source), to_string(ids.shape()), at.file, at.line);
  Tensor y = Tensor::uninitialised(x.shape(), x.dtype());
  put(y, x, a, 0);
  add_scattered(y, a, ids, source);
  return op<"scatter_add">(at, std::move(y), wrt(x, [](const Tensor& dy) { return dy; }),
                           wrt(source, [a, ids](const Tensor& dy) { return gather(dy, a, ids); }));
}

Tensor one_hot(const Indices& ids_in, Size classes, DType dtype, CallSite at) {
  const Indices ids = ids_in.contiguous();
  if (classes < 0 || ids.rank() == kMaxRank)
    fail(
        "[one_hot] ids of shape {} cannot get an axis of {} classes; classes must be at least 0, and the rank at "
        "most {} ({}:{})",
        to_string(ids.shape()), classes, kMaxRank, at.file, at.line);
  check_ids(ids, classes, "one_hot", "classes", at);
  Dims shape = ids.shape();
  shape.push_back(classes);
  Tensor y = zeros(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (Size i = 0; i < ids.count(); ++i) y.mutable_data<T>()[i * classes + ids.data()[i]] = T(1);
  });
  return y;
}

}  // namespace tapestry
