// gradcheck as one check of a test, with its report where it fails.
#pragma once

#include <algorithm>
#include <utility>

#include "core/check/gradcheck.hpp"
#include "tests/catch.hpp"
#include "tests/sanitized.hpp"

#define CHECK_GRADIENTS(...)                                                                      \
  do {                                                                                            \
    const ::tapestry::GradcheckResult found = ::tapestry::checks::gradients_checked(__VA_ARGS__); \
    INFO(found.report());                                                                         \
    CHECK(found.ok());                                                                            \
  } while (false)

namespace tapestry::checks {

/// Under AddressSanitizer, which runs for memory errors, larger arguments are checked along one direction only.
inline GradcheckOptions affordable(GradcheckOptions options) {
  if (kAddressSanitizer) options.elements = std::min<Size>(options.elements, 8), options.projections = 1;
  return options;
}

template <class F>
GradcheckResult gradients_checked(F f, const GradcheckInputs& inputs, const GradcheckOptions& options = {}) {
  return gradcheck(std::move(f), inputs, affordable(options));
}
template <class F>
GradcheckResult gradients_checked(F f, const GradcheckInputs& inputs, const GradcheckInputs& leaves,
                                  const GradcheckOptions& options = {}) {
  return gradcheck(std::move(f), inputs, leaves, affordable(options));
}

}  // namespace tapestry::checks
