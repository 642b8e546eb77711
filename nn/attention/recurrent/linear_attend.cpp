#include "nn/attention/recurrent/linear_attend.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "core/core.hpp"

namespace tapestry {

namespace {

Dims with_last(Dims shape, std::initializer_list<Size> last) {
  shape.erase(shape.rank() - 1);
  shape.erase(shape.rank() - 1);
  for (const Size size : last) shape.push_back(size);
  return shape;
}

bool has_shape(const Tensor& x, const Dims& shape) { return !x.defined() || x.shape() == shape; }

void check(const Tensor& q, const Tensor& k, const Tensor& v, const LinearAttendOptions& options) {
  const bool fits = q.rank() >= 2 && q.shape() == k.shape() && v.rank() == q.rank() &&
                    v.shape() == with_last(q.shape(), {q.size(-2), v.size(-1)});
  if (!fits)
    fail(
        "[linear_attend] q {}, k {} and v {} do not fit: they are (…,T,d), (…,T,d) and (…,T,e), with the same "
        "axes in front",
        describe(q), describe(k), describe(v));
  Dims words = q.shape();
  words.erase(words.rank() - 1);
  const Dims state = with_last(q.shape(), {q.size(-1), v.size(-1)});
  if (!has_shape(options.log_keep, words) || !has_shape(options.strength, words))
    fail("[linear_attend] log_keep and strength have one number for each word, {}, where they are given",
         to_string(words));
  if (!has_shape(options.state, state))
    fail("[linear_attend] the state {} is not {}: (…,d,e) of the keys and values", describe(options.state),
         to_string(state));
  for (const Tensor* x : {&k, &v, &options.log_keep, &options.strength, &options.state})
    if (x->defined() && x->dtype() != q.dtype())
      fail("[linear_attend] all inputs have one type, but q is {} and another is {}", name_of(q.dtype()),
           name_of(x->dtype()));
}

Tensor first_state(const Tensor& q, const Tensor& v, const LinearAttendOptions& options) {
  if (options.state.defined()) return options.state;
  return zeros(with_last(q.shape(), {q.size(-1), v.size(-1)}), q.dtype());
}

/// (…, T) or (…, T, d) in chunks, (…, N, C) or (…, N, C, d); `time` is the axis of T. The last chunk is filled
/// with zeros: a key of 0 writes nothing, and ln α = 0 keeps all.
Tensor in_chunks(const Tensor& x, int time, Size chunk) {
  const Size words = x.size(time), count = (words + chunk - 1) / chunk;
  const Tensor whole = count * chunk == words ? x : pad(x, time, 0, count * chunk - words);
  Dims shape;
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (axis == whole.rank() + time) {
      shape.push_back(count);
      shape.push_back(chunk);
    } else {
      shape.push_back(whole.size(axis));
    }
  }
  return reshape(whole, shape);
}

/// The inverse of I + L, L what stands below the diagonal of `below` (…, C, C). Of a matrix of two blocks on the
/// diagonal, D, and one below, M, it is D⁻¹ − D⁻¹ M D⁻¹; so from blocks of one, whose inverse is 1, to blocks of
/// two, four, … all blocks of all matrices at once. A series I − L + L² … needs as many products, but its terms
/// grow beyond what f32 can cancel where keys are alike.
Tensor inverse_of_one_plus(const Tensor& below, const Tensor& identity) {
  const Size size = below.size(-1);
  Tensor inverse = identity;
  for (Size block = 1; block < size; block *= 2) {
    const Mask corner = Mask::from(size, size, [block](Size i, Size j) {
      return i / (2 * block) == j / (2 * block) && i / block > j / block;
    });
    const Tensor m = where(corner, below, scalar(0, below.dtype()));
    inverse = block == 1 ? identity - m : inverse - matmul(matmul(inverse, m), inverse);
  }
  return inverse;
}

}  // namespace

Remembered linear_attend_by_word(const Tensor& q, const Tensor& k, const Tensor& v,
                                 const LinearAttendOptions& options) {
  check(q, k, v, options);
  Tensor state = first_state(q, v, options);
  if (q.size(-2) == 0) return {zeros(v.shape(), v.dtype()), state};
  std::vector<Tensor> reads;
  for (Size t = 0; t < q.size(-2); ++t) {
    const auto number = [t](const Tensor& x) {
      return unsqueeze(unsqueeze(select(x, -1, t), -1), -1);
    };  // (…, 1, 1)
    const Tensor key = slice(k, -2, t, t + 1);
    Tensor written = slice(v, -2, t, t + 1);
    if (options.log_keep.defined()) state = state * exp(number(options.log_keep));
    if (options.rule == WriteRule::delta) written = written - matmul(key, state);
    if (options.strength.defined()) written = written * number(options.strength);
    state = state + transpose(key) * written;
    reads.push_back(matmul(slice(q, -2, t, t + 1), state));
  }
  return {concat(reads, -2), state};
}

// Within a chunk let γ_i = α_1 ⋯ α_i, and D_ij = γ_i / γ_j for j ≤ i, else 0. With S the state before the chunk,
//
//     y_i = γ_i Sᵀ q_i + Σ_j D_ij (q_i · k_j) u_j          the next S = γ_C S + Σ_j γ_C / γ_j k_j u_jᵀ
//
// In the delta rule the u of a chunk depend on each other: (I + L) U = β (V − γ K S), with L_ij = β_i D_ij k_i · k_j
// for j < i. So U = T β V − T β γ K · S, T the inverse of I + L, and only S is left for the steps from chunk to
// chunk (Yang et al. 2024).
Remembered linear_attend(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                         const LinearAttendOptions& options, Size chunk) {
  check(q_in, k_in, v_in, options);
  if (chunk < 1) fail("[linear_attend] a chunk has 1 word or more, not {}", chunk);
  const Size words = q_in.size(-2);
  Tensor state = first_state(q_in, v_in, options);
  if (words == 0) return {zeros(v_in.shape(), v_in.dtype()), state};
  const Size length = std::min(chunk, words);
  const bool gated = options.log_keep.defined(), delta = options.rule == WriteRule::delta;
  const Tensor q = in_chunks(q_in, -2, length), k = in_chunks(k_in, -2, length),
               v = in_chunks(v_in, -2, length);
  const Tensor none = scalar(0, q.dtype());
  const Mask up_to = Mask::causal(length, length);

  Tensor ratios, kept, rest, all;  // D (…, C, C); γ (…, C, 1); γ_C / γ_j (…, C, 1); γ_C (…, 1, 1)
  if (gated) {
    const Tensor log_kept = cumulative_sum(in_chunks(options.log_keep, -1, length), -1),
                 column = unsqueeze(log_kept, -1);
    const Tensor last = slice(column, -2, length - 1, length);
    ratios =
        exp(where(up_to, column - unsqueeze(log_kept, -2), none));  // above the diagonal it could overflow
    kept = exp(column), rest = exp(last - column), all = exp(last);
  }
  const Tensor strength =
      options.strength.defined() ? unsqueeze(in_chunks(options.strength, -1, length), -1) : Tensor();
  const auto times = [](const Tensor& x, const Tensor& factor) { return factor.defined() ? x * factor : x; };

  const Tensor pairs = where(up_to, times(matmul(q, transpose(k)), ratios), none);
  const Tensor asking = times(q, kept), to_end = transpose(times(k, rest));
  Tensor written = times(v, strength), through;  // U = written − through · S
  if (delta) {
    const Tensor strong = times(k, strength);
    const Tensor below = times(matmul(strong, transpose(k)), ratios);
    const Tensor inverse = inverse_of_one_plus(below, eye(length, q.dtype()));
    written = matmul(inverse, written);
    through = matmul(inverse, times(strong, kept));
  }

  // From chunk to chunk.
  const Size count = q.size(-3);
  const auto part = [](const Tensor& x, Size n) { return select(x, -3, n); };
  std::vector<Tensor> states, writes;
  const Tensor added = delta ? Tensor() : matmul(to_end, written);  // (…, N, d, e)
  for (Size n = 0; n < count; ++n) {
    states.push_back(state);
    Tensor more;
    if (delta) {
      writes.push_back(part(written, n) - matmul(part(through, n), state));
      more = matmul(part(to_end, n), writes.back());
    } else {
      more = part(added, n);
    }
    state = (gated ? state * part(all, n) : state) + more;
  }
  if (delta) written = stack(writes, -3);
  const Tensor reads = matmul(pairs, written) + matmul(asking, stack(states, -3));
  const Tensor flat = reshape(reads, with_last(v_in.shape(), {count * length, v_in.size(-1)}));
  return {count * length == words ? flat : slice(flat, -2, 0, words), state};
}

}  // namespace tapestry
