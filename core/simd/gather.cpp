// Gather and scatter-add of table rows.
#include "core/simd/gather.hpp"

#include <algorithm>

#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

template <class T>
void gather_rows(T* out, const T* table, Size table_row, const std::int64_t* ids, Size n, Size width) {
  const Size grain = std::max<Size>(1, 32768 / std::max<Size>(1, width));
  parallel_ranges(n, grain, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) std::copy_n(table + ids[i] * table_row, width, out + i * width);
  });
}

template <class T>
void scatter_add_rows(T* table, Size table_row, const std::int64_t* ids, const T* rows, Size n, Size width) {
  // Two ids may be equal, so threads split the columns, not the rows.
  const Size grain = n * width < 65536 ? std::max<Size>(1, width) : 64;
  parallel_ranges(width, grain, [&](Size begin, Size end) {
    for (Size i = 0; i < n; ++i) {
      T* to = table + ids[i] * table_row;
      const T* from = rows + i * width;
      for (Size j = begin; j < end; ++j) to[j] += from[j];
    }
  });
}

template void gather_rows(float*, const float*, Size, const std::int64_t*, Size, Size);
template void gather_rows(double*, const double*, Size, const std::int64_t*, Size, Size);
template void scatter_add_rows(float*, Size, const std::int64_t*, const float*, Size, Size);
template void scatter_add_rows(double*, Size, const std::int64_t*, const double*, Size, Size);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
