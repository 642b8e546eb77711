// The tasks of lesson 17: at each position of a string, name the symbol at another position.
#include "lessons/17_positions/moves.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lessons/kit/check/agreement.hpp"

namespace tapestry::kit {

MovedSymbols draw_moves(Random random, Move move, Size rows, Size length) {
  std::vector<std::int64_t> symbols, answers;
  for (Size i = 0; i < rows * length; ++i) symbols.push_back(random.below(kMoveSymbols));
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < length; ++t) {
      const Size from = move == Move::reverse ? length - 1 - t : t - kShift;
      answers.push_back(from < 0 ? kNoAnswer : symbols[static_cast<std::size_t>(row * length + from)]);
    }
  return {Indices(symbols, {rows, length}), Indices(answers, {rows, length})};
}

std::vector<double> accuracy_by_position(const Indices& predicted, const Indices& answers) {
  std::vector<double> right;
  for (Size t = 0; t < answers.shape()[1]; ++t) {
    const Indices expected = answers.column(t);
    right.push_back(expected.to_vector().front() == kNoAnswer ? std::nan("")
                                                              : percent_equal(predicted.column(t), expected));
  }
  return right;
}

double mean_accuracy(const std::vector<double>& right, Size first, Size last) {
  double sum = 0, count = 0;
  for (Size t = first; t < std::min(last, static_cast<Size>(right.size())); ++t)
    if (const double one = right[static_cast<std::size_t>(t)]; !std::isnan(one)) {
      sum += one;
      count += 1;
    }
  return sum / count;
}

double most_frequent_elsewhere(const Indices& symbols) {
  const std::vector<std::int64_t> all = symbols.to_vector();
  const auto length = static_cast<std::ptrdiff_t>(symbols.shape()[1]);
  double right = 0;
  for (auto row = all.begin(); row != all.end(); row += length) {
    std::ptrdiff_t most = 0;
    for (auto symbol = row + 1; symbol != row + length; ++symbol)
      most = std::max(most, std::count(row + 1, row + length, *symbol));
    right += static_cast<double>(most) / static_cast<double>(length - 1);
  }
  return 100 * right / static_cast<double>(symbols.shape()[0]);
}

}  // namespace tapestry::kit
