#include "nn/transformer/cache_store.hpp"

#include "core/ops/views.hpp"
#include "core/tape/tape.hpp"

namespace tapestry::detail {

Dims with_positions(const Tensor& x, Size positions) {
  Dims shape = x.shape();
  shape[x.rank() - 2] = positions;
  return shape;
}

void check_same_rows(const Tensor& x, const Tensor& store) {
  if (x.rank() != store.rank() || with_positions(x, 1) != with_positions(store, 1) ||
      x.dtype() != store.dtype())
    fail("[cache] batch, heads, width and type must stay the same, got {} after {}", describe(x),
         describe(store));
}

void check_pairs(const Tensor& keys, const Tensor& values) {
  if (keys.rank() < 2 || values.rank() < 2 || keys.size(-2) != values.size(-2))
    fail("[cache] keys and values must be (…, time, width) with one value for each key, got {} and {}",
         describe(keys), describe(values));
}

void check_no_tape() {
  if (Tape::active()) fail("[cache] a cache must be used without a tape; end the tape's scope first");
}

void write_positions(Tensor& store, Size at, const Tensor& x, Size begin, Size end) {
  Tensor target = slice(store, -2, at, at + end - begin);
  assign(target, slice(x, -2, begin, end));
}

}  // namespace tapestry::detail
