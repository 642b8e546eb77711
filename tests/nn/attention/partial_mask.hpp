// The mask of the tests of normalisers, hard attention among them.
#pragma once

#include "core/tensor/mask.hpp"

namespace tapestry::testing {

/// 3 queries and 5 keys: query 0 sees neither key 2 nor key 4, query 1 no key, and query 2 all but key 4.
inline Mask partial_mask() {
  return Mask::from(3, 5, [](Size i, Size j) { return i != 1 && j < 4 && (i != 0 || j != 2); });
}

}  // namespace tapestry::testing
