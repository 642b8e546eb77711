// Memory between pages that may not be touched: a kernel that reads or writes beside its operands ends the
// program.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "core/simd/view.hpp"

namespace tapestry::simd {

/// Which end of the elements lies at such a page.
enum class Edge { first, last };

/// A copy of `count` elements.
template <class T>
class Guarded {
 public:
  Guarded(const T* from, Size count, Edge edge) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t inner = (bytes + page - 1) / page * page;
    bytes_ = inner + 2 * page;
    void* const area = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) throw std::bad_alloc();
    area_ = static_cast<char*>(area);
    if (inner > 0 && mprotect(area_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(area_ + page + (edge == Edge::last ? inner - bytes : 0));
    std::copy_n(from, count, data_);
  }
  ~Guarded() { munmap(area_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }

 private:
  char* area_;
  std::size_t bytes_;
  T* data_;
};

}  // namespace tapestry::simd
