// Positions of the tokens of one call: one after another, or those of a tree.
#pragma once

#include <utility>
#include <vector>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

/// Positions of T tokens: first, first + 1, …, or a list with one for each token. In a tree, the position of a token
/// is its depth, so that siblings have the same one.
class TokenPositions {
 public:
  /// Places the tokens one after another.
  TokenPositions(Size first = 0) : first_(first) {}
  /// Places token i at list[i]. An empty list is the same as first = 0.
  explicit TokenPositions(std::vector<Size> list) : list_(std::move(list)) {}

  /// Returns the position of the first token.
  Size first() const { return list_.empty() ? first_ : list_.front(); }
  /// Returns the list; empty if the tokens follow one another.
  const std::vector<Size>& list() const { return list_; }

  /// Returns f(x) for x (…, T, d), where f(part, first) treats tokens that follow one another.
  template <class F>
  Tensor apply(const Tensor& x, const F& f) const {
    if (list_.empty()) return f(x, first_);
    std::vector<Tensor> runs;
    const auto count = static_cast<Size>(list_.size());
    const auto at = [this](Size i) { return list_[static_cast<std::size_t>(i)]; };
    for (Size begin = 0, end = 1; begin < count; begin = end++) {
      while (end < count && at(end) == at(end - 1) + 1) ++end;
      runs.push_back(f(slice(x, -2, begin, end), at(begin)));
    }
    return runs.size() == 1 ? runs.front() : concat(runs, -2);
  }

 private:
  Size first_ = 0;
  std::vector<Size> list_;
};

}  // namespace tapestry
