// The table of scores: for each its maker and its formula for one pair, in plain f64. The generic tests
// (score_table_test.cpp) run down it; a score without a row fails them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nn/attention/scores.hpp"

namespace tapestry::table {

using Vector = std::vector<double>;

/// A score's parameters as plain numbers.
class Weights {
 public:
  explicit Weights(const State& state);

  /// W[unit, from …] · x
  double row(const std::string& name, Size unit, const Vector& x, Size from = 0) const;
  double at(const std::string& name, Size i) const;
  /// Size of the first axis.
  Size size(const std::string& name) const;

 private:
  struct Plain {
    Dims shape;
    Vector values;
  };
  const Plain& find(const std::string& name) const;
  std::map<std::string, Plain> plain_;
};

/// What a score may depend on: query, key, and the key's place.
struct Pair {
  Vector query, key;
  Size place = 0;
};

/// `third` is the hidden width, or the number of places.
struct ScoreSizes {
  Size query = 0, key = 0, third = 0;
};

struct ScoreRow {
  /// Of the function that makes it.
  std::string name;
  /// Its file in tests/golden; empty: another row's serves.
  std::string golden;
  std::function<ScoreFactory(const ScoreSizes&)> make;
  std::function<double(const Pair&, const Weights&)> reference;
  /// Query and key must be equally wide.
  bool equal_widths = false;
  /// False: looks at the query only. Then the keys get no gradient, and keys in another order leave the
  /// weights where they were; a score that looks at keys moves the weights along with them.
  bool sees_keys = true;
};

const std::vector<ScoreRow>& score_rows();

}  // namespace tapestry::table
