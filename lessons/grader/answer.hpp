// What every answer begins with: all of core, the layers and optimisers that exercises use, and a way to say
// that nothing has been written yet.
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

/// Thrown where an answer still stands as it was given.
struct NotWritten {};

/// Stands for a value of any type.
struct Nothing {
  template <class T>
  operator T() const {
    throw NotWritten{};
  }
};

}  // namespace tapestry::grader

/// Where your code goes: it compiles, and the grader says that this part is not written yet.
inline tapestry::grader::Nothing not_written_yet() { throw tapestry::grader::NotWritten{}; }

using namespace tapestry;
