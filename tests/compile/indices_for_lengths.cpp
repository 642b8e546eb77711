// Token ids are no lengths.
// error: no matching function
// error: invalid initialization of reference
// error: no viable conversion
#include "core/ops/ops.hpp"

tapestry::Tensor states(const tapestry::Tensor& gates, const tapestry::Tensor& hidden,
                        const tapestry::Tensor& weight, const tapestry::ValidLengths& lengths,
                        [[maybe_unused]] const tapestry::Indices& ids) {
#ifdef WRONG
  return tapestry::gru_sequence(gates, hidden, weight, {}, ids);
#else
  return tapestry::gru_sequence(gates, hidden, weight, {}, lengths);
#endif
}
