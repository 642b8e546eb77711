// System calls that fail when a test wants it: what a broken disk, or a file system without locks, answers.
#pragma once

namespace tapestry::test {

enum class Call { read, write, flock };

/// While it lives, `call` fails with this error number: the first `times` of it after the first `later` ones.
class FailingCall {
 public:
  FailingCall(Call call, int error, int times = 1, int later = 0);
  ~FailingCall();
  FailingCall(const FailingCall&) = delete;
  FailingCall& operator=(const FailingCall&) = delete;

  /// How many calls there were, the failed ones too.
  int calls() const;
};

}  // namespace tapestry::test
