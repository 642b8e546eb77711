// Positions of the tokens in one forward call: consecutive, or given as a list, such as those of a tree of draft
// tokens.
#pragma once

#include <utility>
#include <vector>

#include "core/ops/join.hpp"
#include "core/ops/views.hpp"

namespace tapestry {

/// Positions of T tokens: either first, first + 1, …, or a list with one position for each token.
///
/// A list is needed for speculative decoding with several drafts (nn/transformer/verifiable.hpp). There, the draft
/// tokens form a tree. The position of a token is its depth in the tree, so siblings share a position.
class TokenPositions {
 public:
  /// Places the tokens at first, first + 1, …
  TokenPositions(Size first = 0) : first_(first) {}
  /// Places token i at list[i]. An empty list is the same as first = 0.
  explicit TokenPositions(std::vector<Size> list) : list_(std::move(list)) {}

  /// Returns the position of the first token.
  Size first() const { return list_.empty() ? first_ : list_.front(); }
  /// Returns the list. It is empty if the object was made from a first position.
  const std::vector<Size>& list() const { return list_; }

  /// Calls f(part, first) for each run of tokens of x (…, T, d) with consecutive positions. A part is (…, run, d), and
  /// `first` is the position of its first token. Returns the results, concatenated along T. Throws Error unless a list
  /// has T positions.
  template <class F>
  Tensor apply(const Tensor& x, const F& f) const {
    if (list_.empty()) return f(x, first_);
    std::vector<Tensor> runs;
    const auto count = static_cast<Size>(list_.size());
    if (x.rank() < 2 || x.size(-2) != count)
      fail("[positions] x must be (…, time, width) with one token for each of the {} positions, got {}",
           count, describe(x));
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
