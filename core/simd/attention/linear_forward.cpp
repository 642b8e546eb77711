// Linear attention forward, in the three passes of linear.hpp.
#include <algorithm>

#include "core/simd/attention/linear_chunk.hpp"

namespace tapestry::simd::inline TAPESTRY_SIMD_TAG {

template <class T>
void linear_attention_forward(const LinearAttention<T>& a, T* y) {
  const Size d = a.d, e = a.e, chunks = a.chunks();
  // In the delta rule, U = written + through · S with written = (I + A)⁻¹ β V and through = −(I + A)⁻¹ β γ K.
  const Scratch<T> through_all(a.delta ? a.batch * a.tokens * d : 0);
  each_chunk(a, [&](const LinearChunk<T>& chunk, Size row, Size n, ChunkBuffers<T> buffers) {
    const Size tokens = chunk.tokens;
    if (!a.delta) {
      const Matrix<T> u = chunk.written(buffers.values);
      product(a.state(row, n + 1), d, e, tokens, chunk.scaled(chunk.k().data, chunk.rest(), d).transposed(),
              u);
      return;
    }
    T *written = chunk.of(a.written, e), *through = chunk.of(through_all.data(), d);
    const T *beta = chunk.beta(), *kept = chunk.kept();
    for (Size i = 0; i < tokens; ++i) {
      const T strong = beta ? beta[i] : T(1);
      scaled_row(written + i * e, chunk.v() + i * e, strong, e);
      scaled_row(through + i * d, chunk.k().data + i * d, kept ? -strong * kept[i] : -strong, d);
    }
    chunk.overlaps(buffers.pairs);
    solve(written, buffers.pairs, tokens, e);
    solve(through, buffers.pairs, tokens, d);
  });

  parallel_for(a.batch, [&](Size row) {
    LinearChunk<T> chunk(a);
    for (Size n = 0; n < chunks; ++n) {
      T *state = a.state(row, n), *next = a.state(row, n + 1);
      if (a.delta || a.log_decay) chunk.at(row, n);
      if (!a.delta) {
        add_scaled_row(next, state, chunk.all, d * e);
        continue;
      }
      T* written = chunk.of(a.written, e);
      product(written, chunk.tokens, e, d, {chunk.of(through_all.data(), d), d}, {state, e}, true);
      scaled_row(next, state, chunk.all, d * e);
      product(next, d, e, chunk.tokens, chunk.scaled(chunk.k().data, chunk.rest(), d).transposed(),
              {written, e}, true);
    }
    std::copy_n(a.state(row, chunks), d * e, y + (row * (a.tokens + d) + a.tokens) * e);
  });

  each_chunk(a, [&](const LinearChunk<T>& chunk, Size row, Size n, ChunkBuffers<T> buffers) {
    const Size tokens = chunk.tokens;
    T* read = y + (row * (a.tokens + d) + n * a.chunk) * e;
    chunk.pairs(buffers.pairs);
    product(read, tokens, e, tokens, {buffers.pairs, tokens}, chunk.written(buffers.values));
    product(read, tokens, e, d, chunk.scaled(chunk.q().data, chunk.kept(), d), {a.state(row, n), e}, true);
  });
}

template void linear_attention_forward(const LinearAttention<float>&, float*);
template void linear_attention_forward(const LinearAttention<double>&, double*);

}  // namespace tapestry::simd::inline TAPESTRY_SIMD_TAG
