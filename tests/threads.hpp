// Another number of threads for as long as it lives.
#pragma once

#include "core/simd/runtime/threads.hpp"

namespace tapestry::test {

class Threads {
 public:
  explicit Threads(int count) : before_(simd::thread_count()) { simd::set_thread_count(count); }
  ~Threads() { simd::set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace tapestry::test
