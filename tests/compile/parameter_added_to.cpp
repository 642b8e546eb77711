// A parameter is a cell of its module: w += x would make another tensor, which the optimiser does not have.
// error: a parameter cannot be assigned; use assign(parameter, values)
#include "core/ops/arithmetic.hpp"
#include "nn/linear.hpp"

tapestry::Tensor use([[maybe_unused]] tapestry::Linear& mine, const tapestry::Tensor& x) {
#ifdef WRONG
  mine.weight += x;
  return mine.weight;
#else
  tapestry::Tensor sum = mine.weight;
  sum += x;
  sum *= 2;
  return sum;
#endif
}
