// 37.2 round: Find the mistake in a round
// debug, 10 minutes
//
// The function verifies the guesses of a draft at temperature 0. `text` has T tokens, and `guesses` has g tokens. The
// target has read the text followed by the guesses, T + g tokens, numbered from 0. likeliest[t] is its most likely
// token after token t.
//
// The function must return the tokens that the round adds: the guesses before the first wrong one, and then one token
// of the target. These must be the tokens that the target alone would write. Find the one mistake.
#include "lessons/grader/answer.hpp"

using Tokens = std::vector<std::int64_t>;

Tokens added_by_round(const Tokens& text, const Tokens& guesses, const Tokens& likeliest) {
  //[ one mistake
  //: Tokens added;
  //: for (std::size_t i = 0; i < guesses.size(); ++i) {
  //:   if (guesses[i] != likeliest[text.size() + i]) break;
  //:   added.push_back(guesses[i]);
  //: }
  //: added.push_back(likeliest[text.size() + added.size()]);
  //: return added;
  const std::size_t last = text.size() - 1;  // the row after the last token of the text predicts guess 0
  Tokens added;
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    if (guesses[i] != likeliest[last + i]) break;
    added.push_back(guesses[i]);
  }
  added.push_back(likeliest[last + added.size()]);  // in place of the wrong guess, or after all of them
  return added;
  //]
}

// hint: likeliest[0] is the token after text[0]. Which entry predicts the first guess?
// hint: The text has T tokens, and the last one is text[T − 1]. So guess i is predicted by likeliest[____ + i].
// hint: Both places that read `likeliest` need the same change.
//
// start: The row after the first guess predicts the second guess, not the first one. Your function also reads
//   beyond the last row if all guesses are right.
//
// wrong: The guesses are compared with the right rows, but the last token is taken from the row of one token later.
// - added.push_back(likeliest[last + added.size()]);  // in place of the wrong guess, or after all of them
// + added.push_back(likeliest[std::min(last + added.size() + 1, likeliest.size() - 1)]);
// wrong: A later guess is kept although an earlier one was wrong. It follows a token that is not in the text.
// - if (guesses[i] != likeliest[last + i]) break;
// + if (guesses[i] != likeliest[last + i]) continue;
// wrong: A round must add one token of the target, even if a guess is wrong. Otherwise it may add none.
// - added.push_back(likeliest[last + added.size()]);  // in place of the wrong guess, or after all of them
// + if (added.size() == guesses.size()) added.push_back(likeliest[last + added.size()]);
// wrong: If all guesses are right, the last row gives one token more.
// - added.push_back(likeliest[last + added.size()]);  // in place of the wrong guess, or after all of them
// + if (added.size() < guesses.size()) added.push_back(likeliest[last + added.size()]);

//= judge
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Compares the added tokens with the expected ones.
void check_added(Judge& judge, const Tokens& got, const Tokens& expected) {
  judge.that(got == expected,
             fmt::format("the round adds {}, but the target alone writes {}", fmt::join(got, ", "),
                         fmt::join(expected, ", ")),
             std::vector<double>(got.begin(), got.end()));
}

/// The target: its likeliest token after these.
std::int64_t next_token(const Tokens& text) {
  std::int64_t hash = 7;
  for (const std::int64_t token : text) hash = (hash * 31 + token * 17 + 3) % 101;
  return hash % 5;
}

/// Compares a round that has its first wrong guess at `wrong` (none if it is `count`) with the target's own text.
void check_round(Judge& judge, Size length, Size count, Size wrong) {
  Tokens text;
  for (Size i = 0; i < length; ++i) text.push_back(judge.random().below(5));
  Tokens read = text, guesses, expected;
  for (Size i = 0; i < count; ++i) {
    const std::int64_t right = next_token(read);
    guesses.push_back(i == wrong ? (right + 1) % 5 : right);
    read.push_back(guesses.back());
  }
  Tokens likeliest;
  for (std::size_t t = 1; t <= read.size(); ++t)
    likeliest.push_back(next_token(Tokens(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(t))));
  Tokens alone = text;
  for (Size i = 0; i <= std::min(wrong, count); ++i) {
    expected.push_back(next_token(alone));
    alone.push_back(expected.back());
  }
  check_added(judge, added_by_round(text, guesses, likeliest), expected);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("replaces a wrong guess", [&] {
    judge.example("the text 4; the guesses 1, 2, 1; the likeliest tokens 1, 3, 1, 0");
    check_added(judge, added_by_round({4}, {1, 2, 1}, {1, 3, 1, 0}), {1, 3});
  });
  judge.claim("adds one token after guesses that are all right", [&] {
    judge.example("the text 4; the guesses 1, 2; the likeliest tokens 1, 2, 3");
    check_added(judge, added_by_round({4}, {1, 2}, {1, 2, 3}), {1, 2, 3});
  });
  judge.claim("adds the tokens that the target alone writes", [&] {
    judge.each_size({{"tokens of the text", 1, 8}, {"guesses", 0, 6}},
                    [&](const Sizes& n) {
                      for (Size wrong = 0; wrong <= n[1]; ++wrong) check_round(judge, n[0], n[1], wrong);
                    },
                    {.f32 = false});
  });
}
