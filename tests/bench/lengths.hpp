// Attention to a text of growing length, causal: exact, and linear by each of its rules. Under the same names in
// peers/lengths.py.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/attention/attend.hpp"
#include "core/attention/linear_attend.hpp"
#include "tests/bench/data.hpp"

namespace tapestry::bench {

inline constexpr const char* kLengthWays[] = {"attend", "sum", "gates", "delta"};

/// Two heads of 64. Keys have length 1, gates keep nine tenths or more.
struct LengthCase {
  LengthCase(std::string way_in, Size words)
      : way(std::move(way_in)), query(leaf({1, 2, words, 64})), value(leaf({1, 2, words, 64}, 3)) {
    const Tensor keys = random({1, 2, words, 64}, 2);
    key = variable((keys / sqrt(sum(keys * keys, {-1}, Keep::yes))).detach());
    leaves = {query, key, value};
    if (way == "gates") leaves.push_back(gates = variable(random_uniform({1, 2, words}, 4, -0.1, 0)));
    if (way == "delta") leaves.push_back(beta = variable(random_uniform({1, 2, words}, 5, 0.2, 1)));
  }

  Tensor operator()() const {
    const Size words = query.size(-2);
    if (way == "attend") return attend(query, key, value, {.mask = BlockMask::causal(words, words)});
    if (way != "sum" && way != "gates" && way != "delta") throw std::invalid_argument("no way " + way);
    const WriteRule rule = way == "delta" ? WriteRule::delta : WriteRule::sum;
    return linear_attend(query, key, value, {.rule = rule, .log_decay = gates, .beta = beta}).output;
  }

  std::string way;
  Tensor query, key, value, gates, beta;
  std::vector<Tensor> leaves;
};

}  // namespace tapestry::bench
