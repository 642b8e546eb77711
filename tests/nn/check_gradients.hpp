// gradcheck as one check of a test, with its report where it fails.
#pragma once

#include "core/check/gradcheck.hpp"
#include "tests/catch.hpp"

#define CHECK_GRADIENTS(...)                                                      \
  do {                                                                            \
    const ::tapestry::GradcheckResult found = ::tapestry::gradcheck(__VA_ARGS__); \
    INFO(found.report());                                                         \
    CHECK(found.ok());                                                            \
  } while (false)
