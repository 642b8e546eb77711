// 37.3 tokens_per_pass: The gain of a draft
// derive, 10 minutes
//
// In a round, a draft makes g guesses, and the target accepts each of them with probability α, independently of the
// others. It stops at the first rejected guess, and then adds one token itself. Take the time of a target's pass as
// the unit of time. The target's pass over the guesses takes one unit, and each pass of the draft takes c units.
//
// Alone, the target writes one token per unit. Return the speed-up: the mean number of tokens per unit with the
// draft.
//
// α is in [0, 1], g is at least 0, and c is at least 0. At α = 1 the closed formula of the chapter divides 0 by 0.
#include "lessons/grader/answer.hpp"

double speed_up(double alpha, Size guesses, double c) {
  //[ about three lines
  //: return not_written_yet();
  double tokens = 0;
  for (Size i = 0; i <= guesses; ++i) tokens += std::pow(alpha, static_cast<double>(i));
  return tokens / (static_cast<double>(guesses) * c + 1);  // g passes of the draft, one of the target
  //]
}

// hint: A round adds more than i tokens if the first i guesses are accepted. How likely is this?
// hint: The expected number of tokens is the sum of α^i over i = 0 … ____.
// hint: The round takes ____ passes of the draft and one pass of the target.
//
// wrong: You forgot the token that the target adds to the accepted guesses.
// - for (Size i = 0; i <= guesses; ++i) tokens += std::pow(alpha, static_cast<double>(i));
// + for (Size i = 1; i <= guesses; ++i) tokens += std::pow(alpha, static_cast<double>(i));
// wrong: A guess counts only if all the earlier ones are accepted. So the expected number is not 1 + g α.
// - for (Size i = 0; i <= guesses; ++i) tokens += std::pow(alpha, static_cast<double>(i));
// + tokens = 1 + static_cast<double>(guesses) * alpha;
// wrong: The draft makes g passes in a round, not one.
// - return tokens / (static_cast<double>(guesses) * c + 1);  // g passes of the draft, one of the target
// + return tokens / (c + 1);
// wrong: At α = 1, the closed formula divides 0 by 0. Add up the powers.
// - return tokens / (static_cast<double>(guesses) * c + 1);  // g passes of the draft, one of the target
// + tokens = (1 - std::pow(alpha, static_cast<double>(guesses + 1))) / (1 - alpha);
// + return tokens / (static_cast<double>(guesses) * c + 1);

//= judge
#include "lessons/grader/judge/judge.hpp"
#include "nn/speculative.hpp"

void judge(Judge& judge) {
  judge.claim("counts two guesses", [&] {
    judge.example("α = 0.5, two guesses, c = 0.25");
    judge.same(speed_up(0.5, 2, 0.25), 1.75 / 1.5, "the speed-up");
  });
  judge.claim("works without guesses and with a perfect draft", [&] {
    judge.example("α = 0, no guesses, c = 0.5");
    judge.same(speed_up(0, 0, 0.5), 1, "the speed-up");
    judge.example("α = 1, three guesses, c = 0");
    judge.same(speed_up(1, 3, 0), 4, "the speed-up");
  });
  judge.claim("gives the mean of many rounds", [&] {
    judge.each_size({{"guesses", 0, 8}},
                    [&](const Sizes& n) {
                      const double alpha = judge.random().uniform(), c = judge.random().uniform();
                      judge.same(speed_up(alpha, n[0], c),
                                 expected_tokens_per_pass(alpha, n[0]) / (static_cast<double>(n[0]) * c + 1),
                                 "the speed-up");
                    },
                    {.f32 = false});
  });
}
