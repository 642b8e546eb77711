// Verification of exercises: the starting text must fail, the solution must pass, each wrong answer must get its own
// sentence, and changed solutions should fail.
#pragma once

#include "lessons/grader/session.hpp"

namespace tapestry::grader {

/// Settings of verify().
struct VerifyOptions {
  int seeds = 2;            // seeds for each solution and wrong answer
  int wrong = -1;           // wrong answers tried per exercise; all if negative
  int turn = 0;             // selects which wrong answers are tried; each turn continues after the one before
  int changes = 0;          // changed solutions tried per exercise
  bool wrong_only = false;  // leaves out the given code and the solution
};

/// Returns the wrong answers of an exercise to try, in their order: all, or `options.wrong` of them. The selection
/// differs at the next turn, and when the exercise changes; ⌈all / wrong⌉ consecutive turns try all.
std::vector<WrongAnswer> kept_wrong(const Exercise& exercise, const VerifyOptions& options);

/// Verifies the exercises ("11.2") and lessons ("11") in `which`, or all if it is empty. Prints a line for each fault
/// and a summary at the end. Returns true if there is no fault. Changed solutions that pass are printed but are not
/// faults, since a change may have no effect; the author decides.
bool verify(const Session& session, const std::vector<std::string>& which, const VerifyOptions& options);

}  // namespace tapestry::grader
