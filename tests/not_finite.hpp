// Infinity and NaN in f64.
#pragma once

#include <limits>

namespace tapestry::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace tapestry::test
