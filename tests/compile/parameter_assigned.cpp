// A parameter is a cell of its module: assigning another one to it would leave the optimiser with the old.
// error: use of deleted function
// error: overload resolution selected deleted operator
#include "nn/linear.hpp"

void take_over(tapestry::Linear& mine, [[maybe_unused]] const tapestry::Linear& other) {
#ifdef WRONG
  mine.weight = other.weight;
#else
  tapestry::assign(mine.weight, other.weight);
#endif
}
