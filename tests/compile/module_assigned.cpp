// A module does not take another one's place: its parameters are registered by address.
// error: use of deleted function
// error: overload resolution selected deleted operator
// error: is implicitly deleted
#include "nn/linear.hpp"

void take_over(tapestry::Linear& mine, [[maybe_unused]] const tapestry::Linear& other) {
#ifdef WRONG
  mine = other;
#else
  mine.load_state(other.state());
#endif
}
