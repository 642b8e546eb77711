// Other libraries' matrix product, loaded where they are installed: OpenBLAS, BLIS, oneDNN.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <vector>

namespace tapestry::bench {

/// c = a·b for dense row-major f32 matrices, either operand stored transposed.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

struct Library {
  const char* name;
  void (*multiply)(void* function, const Product& product);
  void (*set_threads)(void* function, int threads);
  void *multiply_function, *threads_function;

  void operator()(const Product& product) const { multiply(multiply_function, product); }
  void use_threads(int threads) const { set_threads(threads_function, threads); }
};

namespace detail {

inline void cblas_multiply(void* function, const Product& p) {
  using Gemm =
      void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  reinterpret_cast<Gemm>(function)(kRowMajor, p.a_transposed ? kTransposed : kPlain,
                                   p.b_transposed ? kTransposed : kPlain, m, n, k, 1.0f, p.a,
                                   p.a_transposed ? m : k, p.b, p.b_transposed ? k : n, 0.0f, p.c, n);
}

inline void onednn_multiply(void* function, const Product& p) {
  using Gemm = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*,
                       std::int64_t, const float*, std::int64_t, float, float*, std::int64_t);
  reinterpret_cast<Gemm>(function)(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.m, p.n, p.k,
                                   1.0f, p.a, p.a_transposed ? p.m : p.k, p.b, p.b_transposed ? p.k : p.n,
                                   0.0f, p.c, p.n);
}

template <class Integer>
void set_threads(void* function, int threads) {
  reinterpret_cast<void (*)(Integer)>(function)(threads);
}

}  // namespace detail

/// Those that this machine has.
inline const std::vector<Library>& libraries() {
  static const std::vector<Library> found = [] {
    struct Known {
      const char *name, *file, *multiply, *threads;
      void (*call)(void*, const Product&);
      void (*set)(void*, int);
    };
    const Known known[] = {
        {"openblas", "libopenblas.so.0", "cblas_sgemm", "openblas_set_num_threads", detail::cblas_multiply,
         detail::set_threads<int>},
        {"blis", "libblis.so.4", "cblas_sgemm", "bli_thread_set_num_threads", detail::cblas_multiply,
         detail::set_threads<std::int64_t>},
        {"onednn", "libdnnl.so.2", "dnnl_sgemm", "omp_set_num_threads", detail::onednn_multiply,
         detail::set_threads<int>},
    };
    std::vector<Library> result;
    for (const Known& one : known) {
      void* library = dlopen(one.file, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      void *multiply = dlsym(library, one.multiply), *threads = dlsym(library, one.threads);
      if (multiply != nullptr && threads != nullptr)
        result.push_back({one.name, one.call, one.set, multiply, threads});
    }
    return result;
  }();
  return found;
}

}  // namespace tapestry::bench
