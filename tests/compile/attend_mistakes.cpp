// Mistakes in the arguments and options of attend(), and of its scores.
#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "core/ops/pointwise.hpp"
#include "core/tensor/create.hpp"

using namespace tapestry;

#ifdef WRONG
// error 1: a sink's scores must be marked as learned: .sink = learned(w)
AttendOptions sink(const Tensor& w) { return {.sink = w}; }
// error 2: a mask must be a Mask, a BlockMask or ValidLengths, true where a query may attend
AttendOptions numbers_for_mask(const Tensor& ones_and_zeros) { return {.mask = ones_and_zeros}; }
// error 3: the mask must be an option: attend(q, k, v, {.mask = mask})
Tensor mask_without_option(const Tensor& x) { return attend(x, x, x, BlockMask::causal(8, 8)); }
// error 4: each argument after the lambda must be learned(w) for a Parameter or variable
ScoreMod number(double slope) {
  return score_mod([](auto s, auto at, auto slope_of) { return s - slope_of(at.h); }, slope);
}
// error 5: each argument after the lambda must be a learned weight: learned(w)
PairScore constant(const Tensor& v) {
  return pair_score([](auto q, auto k, auto v_u) { return v_u * tanh(q + k); }, v);
}
#else
AttendOptions options(const Tensor& w, const Tensor& ones_and_zeros) {
  return {.mask = greater(ones_and_zeros, zeros(ones_and_zeros.shape())), .sink = learned(w)};
}
Tensor attended(const Tensor& x) { return attend(x, x, x, {.mask = BlockMask::causal(8, 8)}); }
ScoreMod slopes(const Tensor& slope) {
  return score_mod([](auto s, auto at, auto slope_of) { return s - slope_of(at.h); }, learned(slope));
}
PairScore additive(const Tensor& v) {
  return pair_score([](auto q, auto k, auto v_u) { return v_u * tanh(q + k); }, learned(v));
}
#endif
