// 14.1 coins: Scheduled sampling
// implement, 10 minutes
//
// Write the loop of scheduled sampling. It chooses the decoder's input at each step.
//
// right[t][row] is the target token that may be fed at step t. step(words) takes one token for each row, and
// returns the tokens that the decoder writes at that step.
//
// At step 0, feed right[0], which is <start> in every row. At each later step t, choose the input of each row:
// the token right[t][row] if coin(t, row) is below `ratio`, otherwise the token that this row wrote at step
// t − 1. Return all inputs: fed[t][row].
#include "lessons/grader/answer.hpp"

using Words = std::vector<int>;  // one token for each row
using Step = std::function<Words(const Words& words)>;
using Coin = std::function<double(std::size_t t, std::size_t row)>;

std::vector<Words> feed(const std::vector<Words>& right, const Step& step, const Coin& coin, double ratio) {
  std::vector<Words> fed;
  Words written;
  for (std::size_t t = 0; t < right.size(); ++t) {
    //[ the input and the output at step t; about six lines
    //: static_cast<void>(step), static_cast<void>(coin), static_cast<void>(ratio);
    //: return not_written_yet();
    Words words = right[t];
    for (std::size_t row = 0; t > 0 && row < words.size(); ++row)
      if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
    fed.push_back(words);
    written = step(words);
    //]
  }
  return fed;
}

// hint: At the same step, one row may get its target token while another row gets its own token. Which coin
//   decides this for each row?
// hint: if (coin(__, row) >= ratio) words[row] = ____[row]; then feed `words`, and store the output for the
//   next step.
// hint: At step 0 there is no output from a step before, so leave the input as right[0]. After the loop over
//   the rows: fed.push_back(words); written = step(words);
//
// wrong: All rows of a step share one coin, so all rows of the batch get target tokens, or all get their own.
//   Each row must toss a separate coin.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, 0) >= ratio) words[row] = written[row];
// wrong: Each row tosses one coin for all its steps, so it gets target tokens to the end, or its own tokens to
//   the end. Toss a new coin at each step.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(1, row) >= ratio) words[row] = written[row];
// wrong: You use the coin the wrong way round. The ratio is the probability of a *target* token. At ratio 1,
//   all inputs must be target tokens.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, row) < ratio) words[row] = written[row];
// wrong: You always feed the target tokens to the decoder, and mix only the list that you return. Feed the
//   mixed tokens: later outputs depend on them.
// - written = step(words);
// + written = step(right[t]);
// wrong: If the coin says "own token", you feed the target token from the step before. Feed the token that the
//   decoder wrote at the step before.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, row) >= ratio) words[row] = right[t - 1][row];

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Computes the inputs row by row, for a decoder that writes (3 · input + its last output + 1) mod 10.
std::vector<std::vector<double>> by_rows(const std::vector<Words>& right, const Coin& coin, double ratio) {
  std::vector<std::vector<double>> fed(right.size(), std::vector<double>(right[0].size()));
  for (std::size_t row = 0; row < right[0].size(); ++row) {
    int memory = static_cast<int>(row), word = right[0][row];
    for (std::size_t t = 0; t < right.size(); ++t) {
      fed[t][row] = word;
      memory = (3 * word + memory + 1) % 10;
      if (t + 1 < right.size()) word = coin(t + 1, row) < ratio ? right[t + 1][row] : memory;
    }
  }
  return fed;
}

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](Size rows, Size steps, double ratio) {
    std::vector<Words> right;
    std::vector<std::vector<double>> coins;
    for (Size t = 0; t < steps; ++t) {
      right.emplace_back();
      coins.emplace_back();
      for (Size row = 0; row < rows; ++row) {
        right.back().push_back(t == 0 ? 0 : static_cast<int>(judge.random().below(10)));
        coins.back().push_back(static_cast<double>(judge.random().below(100)) / 100);
      }
    }
    const Coin coin = [&](std::size_t t, std::size_t row) { return coins.at(t).at(row); };
    Words memory;
    for (Size row = 0; row < rows; ++row) memory.push_back(static_cast<int>(row));
    const Step step = [&](const Words& words) {
      for (std::size_t row = 0; row < memory.size(); ++row)
        memory[row] = (3 * words.at(row) + memory[row] + 1) % 10;
      return memory;
    };
    const std::vector<Words> came = feed(right, step, coin, ratio);
    const auto wanted = by_rows(right, coin, ratio);
    judge.same(static_cast<double>(came.size()), static_cast<double>(steps),
               "the number of steps that were fed");
    for (std::size_t t = 0; t < came.size(); ++t)
      judge.same(std::vector<double>(came[t].begin(), came[t].end()), wanted[t],
                 fmt::format("the tokens fed at step {}", t));
  };
  judge.claim("feeds a batch a mixture of target tokens and own tokens", [&] {
    judge.example("twelve rows, twelve steps, ratio 0.5");
    compare(12, 12, 0.5);
  });
  judge.claim("feeds target tokens at ratio 1 and own tokens at ratio 0", [&] {
    compare(3, 5, 1);
    compare(3, 5, 0);
  });
  judge.claim("chooses the inputs for other sizes", [&] {
    judge.each_size({{"rows", 1, 4}, {"steps", 1, 6}}, [&](const Sizes& n) {
      compare(n[0], n[1], 0.01 * static_cast<double>(judge.random().below(100)));
    });
  });
}
