// 10.3 letters_and_strings: nine right in ten
// predict, 15 minutes
//
// A decoder writes strings of 24 letters and <end>, 25 symbols. As long as all before were right, it gets
// each next symbol right nine times in ten. After its first mistake it is fed what is wrong, and guesses:
// right one time in ten. Predict, as shares of 1: the strings that it writes right as a whole, alone; the
// same under teacher forcing, where every symbol before is right; the symbols that it writes right, alone;
// and how often each symbol must be right so that 99 of 100 strings are (to four places). Formulas with
// std::pow and loops are welcome.
#include "lessons/grader/answer.hpp"

double strings_alone() {
  //[ 25 symbols, all of them right
  //: return not_written_yet();
  return std::pow(0.9, 25);  // each comes with 0.9 after those before it
  //]
}

double strings_forced() {
  //[ 25 symbols, all of them right, each asked for after the right ones
  //: return not_written_yet();
  return strings_alone();  // a string without a mistake is fed the same in both ways
  //]
}

double symbols_alone() {
  //[ the share of all 25 symbols
  //: return not_written_yet();
  double right = 0, so_far = 1;  // so_far: no mistake before this place
  for (int place = 0; place < 25; ++place) {
    right += so_far * 0.9 + (1 - so_far) * 0.1;
    so_far *= 0.9;
  }
  return right / 25;
  //]
}

double each_symbol() {
  //[ for 99 strings in 100, to four places
  //: return not_written_yet();
  return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
  //]
}

// hint: How often are the first two symbols both right? The first three?
// hint: Up to its first mistake, what is the decoder fed alone, and what under teacher forcing?
// hint: Place k has no mistake before it with 0.9^{k−1}; then it is right with 0.9, else with ____. Take
//   the mean over the 25 places.
// hint: p²⁵ = 0.99, so p = std::pow(0.99, ____).
//
// wrong: That is the share of symbols under teacher forcing. A string is right if all its 25 symbols are.
// - return std::pow(0.9, 25);  // each comes with 0.9 after those before it
// + return 0.9;
// wrong: You left out <end>. A string that goes on after its 24 letters is wrong too.
// - return std::pow(0.9, 25);  // each comes with 0.9 after those before it
// + return std::pow(0.9, 24);
// wrong: You added up the mistakes: 25 times one tenth is more than 1. Some strings have several mistakes,
//   and some have none.
// - return std::pow(0.9, 25);  // each comes with 0.9 after those before it
// + return 0;
// wrong: One mistake in ten does not mean that one string in ten is wrong, or right.
// - return std::pow(0.9, 25);  // each comes with 0.9 after those before it
// + return 0.1;
// wrong: 0.9 is the share of *symbols* under teacher forcing. Forced or not, a string has 25 places at
//   which it can go wrong.
// - return strings_alone();
// + return 0.9;
// wrong: You expect more than alone. Under teacher forcing a mistake does not spoil what follows, but the
//   string is wrong already, whatever follows.
// - return strings_alone();
// + return 1 - (1 - strings_alone()) / 2;
// wrong: You forgot that mistakes make mistakes: 0.9 holds as long as everything before was right.
// - return right / 25;
// + return 0.9;
// wrong: You counted the symbols before the first mistake only. Behind it, one guess in ten is right.
// - right += so_far * 0.9 + (1 - so_far) * 0.1;
// + right += so_far * 0.9;
// wrong: That is the mean of 0.9 and 0.1. At the first place nothing is spoilt yet, at the last one nearly
//   everything: the halfway mark is passed early.
// - return right / 25;
// + return 0.5;
// wrong: You took 0.9ᵏ⁻¹ as the share that is right at place k. It is the share of strings that have no
//   mistake *before* it; then 0.9 of those are right, and 0.1 of the others.
// - right += so_far * 0.9 + (1 - so_far) * 0.1;
// + right += so_far;
// wrong: With 0.99 for each symbol, 0.99²⁵ = 0.78 of the strings are right.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return 0.99;
// wrong: That goes the other way: 0.99²⁵ is what strings get if symbols have 0.99. Asked is what symbols
//   need if strings are to have 0.99.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return std::pow(0.99, 25);
// wrong: You left out <end> again: there are 25 symbols.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return std::pow(0.99, 1.0 / 24);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Shares {
  double strings = 0, symbols = 0;
};

/// A million strings, symbol after symbol, each right with `fresh`, and with `spoilt` after a mistake.
Shares written(std::uint64_t seed, double fresh, double spoilt) {
  constexpr int kStrings = 1'000'000, kSymbols = 25;
  kit::Random random(seed);
  Shares shares;
  for (int string = 0; string < kStrings; ++string) {
    bool whole = true;
    for (int place = 0; place < kSymbols; ++place) {
      const bool right = random.chance(whole ? fresh : spoilt);
      shares.symbols += right ? 1 : 0;
      whole = whole && right;
    }
    shares.strings += whole ? 1 : 0;
  }
  return {shares.strings / kStrings, shares.symbols / kStrings / kSymbols};
}

}  // namespace

void judge(Judge& judge) {
  const std::uint64_t seed = judge.random().next();
  const Shares alone = written(seed, 0.9, 0.1), forced = written(seed + 1, 0.9, 0.9);
  judge.claim("foretells the strings that are right",
              [&] { judge.predicted(strings_alone(), alone.strings, "the strings right, alone"); });
  judge.claim("foretells the strings that are right under teacher forcing",
              [&] { judge.predicted(strings_forced(), forced.strings, "the strings right, forced"); });
  judge.claim("foretells the symbols that are right",
              [&] { judge.predicted(symbols_alone(), alone.symbols, "the symbols right, alone"); });
  judge.claim("foretells what each symbol must reach", [&] {
    double low = 0, high = 1;  // a share whose 25th power is too small, and one whose power is too large
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      double strings = 1;
      for (int place = 0; place < 25; ++place) strings *= middle;
      (strings < 0.99 ? low : high) = middle;
    }
    judge.predicted(each_symbol(), low, "what each symbol needs", 0.00001);
  });
}
