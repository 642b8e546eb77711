// Rows of a table by number: look-up, and adding rows back.
#pragma once

#include <cstdint>

#include "core/simd/runtime/arch.hpp"
#include "core/simd/view.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

/// out[i, :] = table[ids[i], :] for n ids; out is dense (n, width), the table's rows lie table_row elements
/// apart.
template <class T>
void gather_rows(T* out, const T* table, Size table_row, const std::int64_t* ids, Size n, Size width);

/// table[ids[i], :] += rows[i, :], in the order of i whatever the number of threads.
template <class T>
void scatter_add_rows(T* table, Size table_row, const std::int64_t* ids, const T* rows, Size n, Size width);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
