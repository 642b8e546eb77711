// A tape is a scope: it cannot be copied.
// error: use of deleted function
// error: call to deleted constructor
#include "core/tape/tape.hpp"

void record() {
  tapestry::Tape tape;
#ifdef WRONG
  tapestry::Tape copy = tape;
#endif
}
