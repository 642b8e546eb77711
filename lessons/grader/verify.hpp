// Proves that exercises do what they should: what is given fails, the solution passes, each wrong answer gets
// its own sentence, and changed solutions do not pass.
#pragma once

#include "lessons/grader/session.hpp"

namespace tapestry::grader {

struct VerifyOptions {
  int seeds = 2;
  int wrong = -1;  // how many wrong answers of each exercise; all where negative
  int turn = 0;    // which so many of them: the next ones at each turn, until all have been
  int changes = 0;
  bool wrong_only = false;  // leaves out what is given and the solution
};

/// The wrong answers of an exercise that are tried, in their order: all, or as many as asked for, others at the next
/// turn or as soon as the exercise changes; ⌈all / kept⌉ turns in a row try all.
std::vector<WrongAnswer> kept_wrong(const Exercise& exercise, const VerifyOptions& options);

/// Of the exercises ("11.2") and lessons ("11") that are named, or of all. Prints a line for each fault and a table at the end; true
/// if there is no fault. Changes that pass are printed, and are no fault: somebody judges whether they change
/// anything.
bool verify(const Session& session, const std::vector<std::string>& which, const VerifyOptions& options);

}  // namespace tapestry::grader
