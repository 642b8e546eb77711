// The header that every answer includes: all of core, the layers and optimisers that exercises use, and
// not_written_yet().
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/core.hpp"
#include "nn/attention/attention.hpp"
#include "nn/linear.hpp"
#include "nn/norm.hpp"
#include "nn/recurrent.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"

namespace tapestry::grader {

/// Thrown by code that the learner has not written yet.
struct NotWritten {};

/// Placeholder that converts to any type by throwing NotWritten.
struct Nothing {
  template <class T>
  operator T() const {
    throw NotWritten{};
  }
};

}  // namespace tapestry::grader

/// Placeholder for your code. It compiles, and the grader reports that this part is not written yet.
inline tapestry::grader::Nothing not_written_yet() { throw tapestry::grader::NotWritten{}; }

using namespace tapestry;
