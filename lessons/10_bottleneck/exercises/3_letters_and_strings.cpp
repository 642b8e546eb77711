// 10.3 letters_and_strings: Accuracy of letters and strings
// predict, 15 minutes
//
// A decoder writes strings of 24 letters and <end>, so 25 symbols. As long as all previous symbols are right, the
// next symbol is right with probability 0.9. After its first mistake, its input is wrong, and each symbol is right
// with probability 0.1. Predict four probabilities:
//
//   1. that a whole string is right in free decoding;
//   2. that a whole string is right under teacher forcing, where all previous symbols in the input are right;
//   3. that a symbol is right in free decoding, as a mean over the 25 positions;
//   4. the probability that each symbol needs so that 99 of 100 strings are right (to four decimals).
//
// You may write formulas with std::pow, or loops.
#include "lessons/grader/answer.hpp"

double strings_alone() {
  //[ the probability of 25 right symbols in free decoding
  //: return not_written_yet();
  return std::pow(0.9, 25);  // each is right with 0.9 if all before it are
  //]
}

double strings_forced() {
  //[ the probability of 25 right symbols under teacher forcing
  //: return not_written_yet();
  return strings_alone();  // without a mistake, the inputs are the same in both ways
  //]
}

double symbols_alone() {
  //[ the mean probability of a right symbol in free decoding
  //: return not_written_yet();
  double right = 0, so_far = 1;  // so_far: the probability that all previous symbols are right
  for (int place = 0; place < 25; ++place) {
    right += so_far * 0.9 + (1 - so_far) * 0.1;
    so_far *= 0.9;
  }
  return right / 25;
  //]
}

double each_symbol() {
  //[ the probability of each symbol, for 99 right strings in 100, to four decimals
  //: return not_written_yet();
  return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
  //]
}

// hint: How likely is it that the first two symbols are both right? And the first three?
// hint: Up to its first mistake, what are the decoder's inputs in free decoding, and what under teacher forcing?
// hint: With probability 0.9^{k−1}, there is no mistake before position k. Then symbol k is right with probability
//   0.9, otherwise with ____. Compute the mean over the 25 positions.
// hint: p²⁵ = 0.99, so p = std::pow(0.99, ____).
//
// wrong: You returned the probability of a right symbol under teacher forcing. A string is right only if all 25
//   symbols are right.
// - return std::pow(0.9, 25);  // each is right with 0.9 if all before it are
// + return 0.9;
// wrong: You left out <end>. A string that continues after its 24 letters is wrong too.
// - return std::pow(0.9, 25);  // each is right with 0.9 if all before it are
// + return std::pow(0.9, 24);
// wrong: You added up the mistakes: 25 times one tenth is more than 1. Some strings have several mistakes, and some
//   have none.
// - return std::pow(0.9, 25);  // each is right with 0.9 if all before it are
// + return 0;
// wrong: If one symbol in ten is wrong, it does not follow that one string in ten is wrong, or right.
// - return std::pow(0.9, 25);  // each is right with 0.9 if all before it are
// + return 0.1;
// wrong: 0.9 is the probability of a right *symbol* under teacher forcing. In both ways, a string has 25 positions
//   where it can go wrong.
// - return strings_alone();
// + return 0.9;
// wrong: You expect a higher probability than in free decoding. Under teacher forcing, a mistake does not affect
//   later symbols. But the string is already wrong.
// - return strings_alone();
// + return 1 - (1 - strings_alone()) / 2;
// wrong: You left out that a mistake causes more mistakes. 0.9 holds only as long as all previous symbols are right.
// - return right / 25;
// + return 0.9;
// wrong: You counted only the symbols before the first mistake. After it, one symbol in ten is right.
// - right += so_far * 0.9 + (1 - so_far) * 0.1;
// + right += so_far * 0.9;
// wrong: You returned the mean of 0.9 and 0.1. At the first position no string has a mistake, and at the last one
//   nearly all have. But half of the strings have a mistake after only a few positions.
// - return right / 25;
// + return 0.5;
// wrong: You used 0.9ᵏ⁻¹ as the probability that symbol k is right. It is the probability that there is no mistake
//   *before* position k. Then the symbol is right with 0.9, and otherwise with 0.1.
// - right += so_far * 0.9 + (1 - so_far) * 0.1;
// + right += so_far;
// wrong: If each symbol is right with 0.99, only 0.99²⁵ = 0.78 of the strings are right.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return 0.99;
// wrong: You computed the reverse. 0.99²⁵ is the probability for strings if each symbol has 0.99. The question asks
//   for the symbols' probability if strings have 0.99.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return std::pow(0.99, 25);
// wrong: You left out <end>: a string has 25 symbols.
// - return std::pow(0.99, 1.0 / 25);  // p²⁵ = 0.99
// + return std::pow(0.99, 1.0 / 24);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

struct Shares {
  double strings = 0, symbols = 0;
};

/// Simulates a million strings, symbol by symbol. Each is right with `fresh`, or with `spoilt` after a mistake.
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
  judge.claim("predicts the right strings in free decoding",
              [&] { judge.predicted(strings_alone(), alone.strings, "right strings in free decoding"); });
  judge.claim("predicts the right strings under teacher forcing", [&] {
    judge.predicted(strings_forced(), forced.strings, "right strings under teacher forcing");
  });
  judge.claim("predicts the right symbols in free decoding",
              [&] { judge.predicted(symbols_alone(), alone.symbols, "right symbols in free decoding"); });
  judge.claim("predicts the probability that each symbol needs", [&] {
    double low = 0, high = 1;  // low's 25th power is too small, high's is too large
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      double strings = 1;
      for (int place = 0; place < 25; ++place) strings *= middle;
      (strings < 0.99 ? low : high) = middle;
    }
    judge.predicted(each_symbol(), low, "the probability of each symbol", 0.00001);
  });
}
