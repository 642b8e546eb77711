// 14.1 coins: what goes into a decoder
// implement, 10 minutes
//
// Write the loop of scheduled sampling. right[t][row] is the right word of step t; step(words) takes one word
// for each row and returns the words that the decoder writes at that step. At step 0 the right words go in
// (they are <start>); at each later step t, for each row, the right word if coin(t, row) is below `ratio`,
// and otherwise the word that this row wrote at step t − 1. Return what was fed: fed[t][row].
#include "lessons/grader/answer.hpp"

using Words = std::vector<int>;  // one word for each row
using Step = std::function<Words(const Words& words)>;
using Coin = std::function<double(std::size_t t, std::size_t row)>;

std::vector<Words> feed(const std::vector<Words>& right, const Step& step, const Coin& coin, double ratio) {
  std::vector<Words> fed;
  Words written;
  for (std::size_t t = 0; t < right.size(); ++t) {
    //[ what goes in at step t, and what comes out; some six lines
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

// hint: Which rows may have the right word at step t while others have their own? Who decides?
// hint: if (coin(__, row) >= ratio) words[row] = ____[row]; then feed `words`, and keep what is written.
// hint: Step 0 has no word before it: leave it as right[0]. After the coins: fed.push_back(words);
//   written = step(words);
//
// wrong: All rows of a step share one coin: the whole batch is right or wrong together. Each row tosses its
//   own.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, 0) >= ratio) words[row] = written[row];
// wrong: A row tosses once for all its steps: it is fed right words to the end, or its own to the end. Each
//   step tosses anew.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(1, row) >= ratio) words[row] = written[row];
// wrong: The coin is read the other way round: the ratio is the share of *right* words, and at ratio 1 all
//   must be right.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, row) < ratio) words[row] = written[row];
// wrong: The decoder is always fed the right words, and only the list that you return is mixed. What is
//   written later depends on what went in.
// - written = step(words);
// + written = step(right[t]);
// wrong: Where a row keeps its own word, it gets the right one of the step before, as if it had written that.
// - if (coin(t, row) >= ratio) words[row] = written[row];  // written at step t − 1
// + if (coin(t, row) >= ratio) words[row] = right[t - 1][row];

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// One row after another, with a decoder that writes 3 · fed + what it has written so far, mod 10.
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
    judge.same(static_cast<double>(came.size()), static_cast<double>(steps), "the steps that were fed");
    for (std::size_t t = 0; t < came.size(); ++t)
      judge.same(std::vector<double>(came[t].begin(), came[t].end()), wanted[t],
                 fmt::format("the words of step {}", t));
  };
  judge.claim("feeds a batch of right words and own ones", [&] {
    judge.example("twelve rows, twelve steps, ratio 0.5");
    compare(12, 12, 0.5);
  });
  judge.claim("feeds right words at ratio 1, own ones at ratio 0", [&] {
    compare(3, 5, 1);
    compare(3, 5, 0);
  });
  judge.claim("does so for any sizes", [&] {
    judge.each_size({{"rows", 1, 4}, {"steps", 1, 6}}, [&](const Sizes& n) {
      compare(n[0], n[1], 0.01 * static_cast<double>(judge.random().below(100)));
    });
  });
}
