// The kernels that lessons spend their time in, on one thread: the same program on two targets says how far
// apart they are. It prints the best of several runs, in microseconds, "matmul_f32_256 312.5" a line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "core/simd/attention/attention.hpp"
#include "core/simd/elementwise.hpp"
#include "core/simd/functors.hpp"
#include "core/simd/math.hpp"
#include "core/simd/matmul/matmul.hpp"
#include "core/simd/rows/rows.hpp"
#include "core/simd/runtime/threads.hpp"

using namespace tapestry;
using namespace tapestry::simd;

namespace {

using Floats = std::vector<float>;

Floats numbers(Size count) {
  Floats values(static_cast<std::size_t>(count));
  unsigned state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  }
  return values;
}

template <class F>
void measure(const char* name, const F& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  const auto begun = Clock::now();
  for (int i = 0; i < 5 || Clock::now() - begun < std::chrono::milliseconds(400); ++i) {
    const auto start = Clock::now();
    body();
    if (i > 0) best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::printf("%-24s %10.1f\n", name, best);
}

void product(const char* name, Size m, Size n, Size k, bool transposed) {
  const Floats a = numbers(m * k), b = numbers(k * n);
  Floats c(static_cast<std::size_t>(m * n));
  Matmul<float> x;
  x.m = m, x.n = n, x.k = k;
  x.a = a.data(), x.a_row = k;
  x.b = b.data(), x.b_row = transposed ? 1 : n, x.b_col = transposed ? k : 1;
  x.c = c.data(), x.c_row = n;
  measure(name, [&] { matmul(x); });
}

template <class F>
void each_of(const char* name, const F& f) {
  const Floats x = numbers(65536);
  Floats y(x.size());
  measure(name, [&] { map(f, static_cast<Size>(x.size()), y.data(), x.data()); });
}

void softmax_rows() {
  const Floats x = numbers(1024 * 128);
  Floats y(x.size());
  measure("softmax_1024x128", [&] {
    softmax(Rows<float>{y.data(), 1024, 128, 128}, Rows<const float>{x.data(), 1024, 128, 128});
  });
}

/// 4 × 4 heads of 128 queries and keys, 32 wide.
void attention() {
  constexpr Size kBatch = 4, kHeads = 4, kLength = 128, kWidth = 32;
  const Floats q = numbers(kBatch * kHeads * kLength * kWidth), k = q, v = q, d = q;
  Floats out(q.size()), dq(q.size()), dk(q.size()), dv(q.size());
  Floats lse(static_cast<std::size_t>(kBatch * kHeads * kLength));
  const auto heads = [](auto& values) {
    return Heads<std::remove_pointer_t<decltype(values.data())>>{values.data(), kHeads * kLength * kWidth,
                                                                 kLength * kWidth, kWidth};
  };
  Attention<float> x;
  x.batch = kBatch, x.heads = kHeads, x.queries = x.keys = kLength, x.width = x.value_width = kWidth;
  x.scale = 0.2f;
  x.query = heads(q), x.key = heads(k), x.value = heads(v);
  measure("attention_forward", [&] { attention_forward(x, heads(out), lse.data()); });
  const Floats& answers = out;
  measure("attention_backward", [&] {
    attention_backward<float>(x, heads(answers), lse.data(), heads(d), nullptr, heads(dq), heads(dk),
                              heads(dv), nullptr);
  });
}

}  // namespace

int main() {
  set_thread_count(1);
  product("matmul_f32_64", 64, 64, 64, false);
  product("matmul_f32_256", 256, 256, 256, false);
  product("matmul_f32_256_bt", 256, 256, 256, true);
  product("matmul_f32_1x256", 1, 256, 256, false);
  product("matmul_f32_8x256_bt", 8, 256, 256, true);
  each_of("exp_64k", [](auto x) { return exp(x); });
  each_of("tanh_64k", [](auto x) { return tanh(x); });
  each_of("sigmoid_64k", [](auto x) { return sigmoid(x); });
  each_of("log_64k", [](auto x) { return log(x * x); });
  softmax_rows();
  attention();
}
