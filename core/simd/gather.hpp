// Gathers rows of a table by index, and adds rows back into it (scatter-add).
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// out[i, :] = table[ids[i], :] for i < n. `out` is dense (n, width); table_row is the table's row stride in
/// elements. Ids are not checked.
template <class T>
void gather_rows(T* out, const T* table, Size table_row, const std::int64_t* ids, Size n, Size width);

/// table[ids[i], :] += rows[i, :], in order of i for any number of threads. `rows` is dense (n, width).
template <class T>
void scatter_add_rows(T* table, Size table_row, const std::int64_t* ids, const T* rows, Size n, Size width);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
