// Functions of this program stand in front of the C library's of the same name.
#include "tests/failing_calls.hpp"

#if defined(__linux__)
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace {

struct Plan {
  std::atomic<int> call{-1}, error{0}, times{0}, later{0}, calls{0};
};
Plan plan;

/// Whether this call is one that fails; errno says how.
bool fails(tapestry::test::Call call) {
  if (plan.call != static_cast<int>(call)) return false;
  const int number = plan.calls++;
  if (number < plan.later || number >= plan.later + plan.times) return false;
  errno = plan.error;
  return true;
}

}  // namespace

extern "C" {

ssize_t read(int file, void* bytes, size_t count) {
  return fails(tapestry::test::Call::read) ? -1 : ::syscall(SYS_read, file, bytes, count);
}

ssize_t write(int file, const void* bytes, size_t count) {
  return fails(tapestry::test::Call::write) ? -1 : ::syscall(SYS_write, file, bytes, count);
}

int flock(int file, int operation) noexcept {
  return fails(tapestry::test::Call::flock) ? -1 : static_cast<int>(::syscall(SYS_flock, file, operation));
}

}  // extern "C"

namespace tapestry::test {

FailingCall::FailingCall(Call call, int error, int times, int later) {
  plan.error = error, plan.times = times, plan.later = later, plan.calls = 0;
  plan.call = static_cast<int>(call);
}
FailingCall::~FailingCall() { plan.call = -1; }
int FailingCall::calls() const { return plan.calls; }

}  // namespace tapestry::test
#endif
