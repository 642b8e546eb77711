// GRU and LSTM steps, forward and backward.
#include "core/simd/recurrent.hpp"

#include <algorithm>

#include "core/simd/math.hpp"
#include "core/simd/rows/row_loop.hpp"
#include "core/simd/runtime/threads.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

namespace {

/// Calls body(row) for all rows, in chunks of a few microseconds.
template <class F>
void each_row(Size rows, Size hidden, const F& body) {
  const Size grain = std::max<Size>(1, 1024 / std::max<Size>(1, hidden));
  parallel_ranges(rows, grain, [&](Size begin, Size end) {
    for (Size row = begin; row < end; ++row) body(row);
  });
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
    sweep<T>(H, [&](Size j, auto part) {
      const Lanes<T> r = sigmoid(load(gi + j, part) + load(gh + j, part));
      const Lanes<T> z = sigmoid(load(gi + H + j, part) + load(gh + H + j, part));
      const Lanes<T> gh_n = load(gh + 2 * H + j, part);
      const Lanes<T> c = tanh(load(gi + 2 * H + j, part) + r * gh_n);
      store(next + j, c + z * (load(h + j, part) - c), part);
      store(saved + j, r, part);
      store(saved + H + j, z, part);
      store(saved + 2 * H + j, c, part);
      store(saved + 3 * H + j, gh_n, part);
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
    const Lanes<T> one(T(1));
    sweep<T>(H, [&](Size j, auto part) {
      const Lanes<T> r = load(saved + j, part), z = load(saved + H + j, part);
      const Lanes<T> c = load(saved + 2 * H + j, part), gh_n = load(saved + 3 * H + j, part);
      const Lanes<T> d = load(dnext + j, part);
      const Lanes<T> dc = d * (one - z) * (one - c * c);  // gradient of the tanh's input
      const Lanes<T> dr = dc * gh_n * r * (one - r);
      const Lanes<T> dz = d * (load(h + j, part) - c) * z * (one - z);
      store(dgi + j, dr, part);
      store(dgi + H + j, dz, part);
      store(dgi + 2 * H + j, dc, part);
      store(dgh + j, dr, part);
      store(dgh + H + j, dz, part);
      store(dgh + 2 * H + j, dc * r, part);
      store(dh + j, d * z, part);
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
    sweep<T>(H, [&](Size j, auto part) {
      const auto gate = [&](Size which) {
        return load(gi + which * H + j, part) + load(gh + which * H + j, part);
      };
      const Lanes<T> i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
      const Lanes<T> c = f * load(state + H + j, part) + i * g;
      const Lanes<T> t = tanh(c);
      store(next + j, o * t, part);
      store(next + H + j, c, part);
      store(saved + j, i, part);
      store(saved + H + j, f, part);
      store(saved + 2 * H + j, g, part);
      store(saved + 3 * H + j, o, part);
      store(saved + 4 * H + j, t, part);
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
    const Lanes<T> one(T(1));
    sweep<T>(H, [&](Size j, auto part) {
      const auto kept = [&](Size which) { return load(saved + which * H + j, part); };
      const Lanes<T> i = kept(0), f = kept(1), g = kept(2), o = kept(3), t = kept(4);
      const Lanes<T> dh = load(dnext + j, part);
      const Lanes<T> dc = load(dnext + H + j, part) + dh * o * (one - t * t);
      store(dgates + j, dc * g * i * (one - i), part);
      store(dgates + H + j, dc * load(state + H + j, part) * f * (one - f), part);
      store(dgates + 2 * H + j, dc * i * (one - g * g), part);
      store(dgates + 3 * H + j, dh * t * o * (one - o), part);
      store(dstate + H + j, dc * f, part);
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
