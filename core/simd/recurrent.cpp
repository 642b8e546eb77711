#include "core/simd/recurrent.hpp"

#include <algorithm>

#include "core/simd/math.hpp"
#include "core/simd/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

/// Calls body(row) for all rows, some 10 µs of them at a time.
template <class F>
void each_row(Size rows, Size hidden, const F& body) {
  const Size grain = std::max<Size>(1, 4096 / std::max<Size>(1, hidden));
  parallel_ranges(rows, grain, [&](Size begin, Size end) {
    for (Size row = begin; row < end; ++row) body(row);
  });
}

/// Calls body(first, count) for the registers that cover 0 … n.
template <class T, class F>
void each_register(Size n, const F& body) {
  for (Size j = 0; j < n; j += kLanes<T>) body(j, std::min(kLanes<T>, n - j));
}

template <class T>
void clear(T* out, Size n) {
  std::fill_n(out, n, T(0));
}

}  // namespace

template <class T>
void gru_forward(const RecurrentStep<T>& s) {
  const Size H = s.hidden;
  each_row(s.rows, H, [&](Size row) {
    const T* h = s.state + row * s.state_row;
    T* next = s.next + row * s.next_row;
    if (s.active && !s.active[row]) {
      std::copy_n(h, H, next);
      return;
    }
    const T* gi = s.gi + row * s.gi_row;
    const T* gh = s.gh + row * 3 * H;
    T* saved = s.saved + row * 4 * H;
    each_register<T>(H, [&](Size j, Size n) {
      const Batch<T> r = sigmoid(load_n(gi + j, n) + load_n(gh + j, n));
      const Batch<T> z = sigmoid(load_n(gi + H + j, n) + load_n(gh + H + j, n));
      const Batch<T> gh_n = load_n(gh + 2 * H + j, n);
      const Batch<T> c = tanh(load_n(gi + 2 * H + j, n) + r * gh_n);
      store_n(next + j, c + z * (load_n(h + j, n) - c), n);
      store_n(saved + j, r, n);
      store_n(saved + H + j, z, n);
      store_n(saved + 2 * H + j, c, n);
      store_n(saved + 3 * H + j, gh_n, n);
    });
  });
}

template <class T>
void gru_backward(const RecurrentStepGradient<T>& s) {
  const Size H = s.hidden;
  each_row(s.rows, H, [&](Size row) {
    const T* dnext = s.dnext + row * s.dnext_row;
    T* dgi = s.dgi + row * s.dgi_row;
    T* dgh = s.dgh + row * 3 * H;
    T* dh = s.dstate + row * s.dstate_row;
    if (s.active && !s.active[row]) {
      std::copy_n(dnext, H, dh);
      clear(dgi, 3 * H);
      clear(dgh, 3 * H);
      return;
    }
    const T* saved = s.saved + row * 4 * H;
    const T* h = s.state + row * s.state_row;
    const Batch<T> one(T(1));
    each_register<T>(H, [&](Size j, Size n) {
      const Batch<T> r = load_n(saved + j, n), z = load_n(saved + H + j, n);
      const Batch<T> c = load_n(saved + 2 * H + j, n), gh_n = load_n(saved + 3 * H + j, n);
      const Batch<T> d = load_n(dnext + j, n);
      const Batch<T> dc = d * (one - z) * (one - c * c);  // before the tanh
      const Batch<T> dr = dc * gh_n * r * (one - r);
      const Batch<T> dz = d * (load_n(h + j, n) - c) * z * (one - z);
      store_n(dgi + j, dr, n);
      store_n(dgi + H + j, dz, n);
      store_n(dgi + 2 * H + j, dc, n);
      store_n(dgh + j, dr, n);
      store_n(dgh + H + j, dz, n);
      store_n(dgh + 2 * H + j, dc * r, n);
      store_n(dh + j, d * z, n);
    });
  });
}

template <class T>
void lstm_forward(const RecurrentStep<T>& s) {
  const Size H = s.hidden;
  each_row(s.rows, H, [&](Size row) {
    const T* state = s.state + row * s.state_row;
    T* next = s.next + row * s.next_row;
    if (s.active && !s.active[row]) {
      std::copy_n(state, 2 * H, next);
      return;
    }
    const T* gi = s.gi + row * s.gi_row;
    const T* gh = s.gh + row * 4 * H;
    T* saved = s.saved + row * 5 * H;
    each_register<T>(H, [&](Size j, Size n) {
      const auto gate = [&](Size which) {
        return load_n(gi + which * H + j, n) + load_n(gh + which * H + j, n);
      };
      const Batch<T> i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
      const Batch<T> c = f * load_n(state + H + j, n) + i * g;
      const Batch<T> t = tanh(c);
      store_n(next + j, o * t, n);
      store_n(next + H + j, c, n);
      store_n(saved + j, i, n);
      store_n(saved + H + j, f, n);
      store_n(saved + 2 * H + j, g, n);
      store_n(saved + 3 * H + j, o, n);
      store_n(saved + 4 * H + j, t, n);
    });
  });
}

template <class T>
void lstm_backward(const RecurrentStepGradient<T>& s) {
  const Size H = s.hidden;
  each_row(s.rows, H, [&](Size row) {
    const T* dnext = s.dnext + row * s.dnext_row;
    T* dgates = s.dgi + row * s.dgi_row;
    T* dgh = s.dgh + row * 4 * H;
    T* dstate = s.dstate + row * s.dstate_row;
    if (s.active && !s.active[row]) {
      std::copy_n(dnext, 2 * H, dstate);
      clear(dgates, 4 * H);
      clear(dgh, 4 * H);
      return;
    }
    clear(dstate, H);
    const T* saved = s.saved + row * 5 * H;
    const T* state = s.state + row * s.state_row;
    const Batch<T> one(T(1));
    each_register<T>(H, [&](Size j, Size n) {
      const auto kept = [&](Size which) { return load_n(saved + which * H + j, n); };
      const Batch<T> i = kept(0), f = kept(1), g = kept(2), o = kept(3), t = kept(4);
      const Batch<T> dh = load_n(dnext + j, n);
      const Batch<T> dc = load_n(dnext + H + j, n) + dh * o * (one - t * t);
      store_n(dgates + j, dc * g * i * (one - i), n);
      store_n(dgates + H + j, dc * load_n(state + H + j, n) * f * (one - f), n);
      store_n(dgates + 2 * H + j, dc * i * (one - g * g), n);
      store_n(dgates + 3 * H + j, dh * t * o * (one - o), n);
      store_n(dstate + H + j, dc * f, n);
    });
    std::copy_n(dgates, 4 * H, dgh);
  });
}

template void gru_forward(const RecurrentStep<float>&);
template void gru_forward(const RecurrentStep<double>&);
template void gru_backward(const RecurrentStepGradient<float>&);
template void gru_backward(const RecurrentStepGradient<double>&);
template void lstm_forward(const RecurrentStep<float>&);
template void lstm_forward(const RecurrentStep<double>&);
template void lstm_backward(const RecurrentStepGradient<float>&);
template void lstm_backward(const RecurrentStepGradient<double>&);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
