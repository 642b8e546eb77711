// What a test is told when it does something wrong.
#pragma once

#include <string>

#include "core/tensor/error.hpp"

namespace tapestry::test {

/// The message of the exception of type E that f throws; "(nothing thrown)" if none. Other exceptions go on.
template <class E = Error, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace tapestry::test
