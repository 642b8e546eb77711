// The block that check_attention() checks, and the three groups of its parts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check/gradcheck.hpp"
#include "core/tensor/mask.hpp"
#include "nn/check/check_attention.hpp"

namespace tapestry::detail {

/// Largest difference between two results (B, T, width), and its token.
struct Gap {
  Size token = 0;
  double by = 0;  // infinite if one of the two is not a finite number
};

/// Returns the largest difference. Throws Error for different shapes.
Gap largest_gap(const Tensor& a, const Tensor& b);
/// Returns the largest |x| of a tensor of any shape; infinite if a value is not a finite number.
double largest(const Tensor& x);
/// Returns the tokens [begin, end) of x (B, T, width).
Tensor tokens(const Tensor& x, Size begin, Size end);
/// Returns x with the tokens [begin, end) of `other`.
Tensor with_tokens(const Tensor& x, const Tensor& other, Size begin, Size end);
/// Returns "4 + 1 + 7".
std::string sum_of(const std::vector<Size>& parts);

/// A block with random parameters in f64. Each check returns what it found wrong, or an empty string.
class CheckedBlock {
 public:
  CheckedBlock(const BlockOptions& options, const BlockKind& kind, const AttentionCheckOptions& check);

  // checked_block.cpp
  std::string calls() const;
  std::string construction() const;
  std::string gradients();
  std::string second_derivatives() const;
  std::string batch() const;
  std::string f32() const;
  std::string copies() const;

  // causal_checks.cpp
  std::string causal() const;
  std::string prefix() const;
  std::string cache() const;
  std::string moved_cache() const;

  // mask_checks.cpp
  std::string sink() const;
  std::string mask() const;
  std::string cached_mask();
  std::string fully_masked_query() const;

  /// Returns true if the user's normaliser gets the score of a learned sink.
  bool normalises_a_sink() const { return options_.learned_sink && !options_.normalise.is_softmax(); }
  /// Returns the remark of the last check, and clears it.
  std::string take_remark() { return std::exchange(remark_, {}); }

 private:
  /// Makes a block with the same options, in eval mode. The caller must set its parameters.
  std::unique_ptr<TransformerBlock> make_block() const;
  /// Random tokens (rows, length, width).
  Tensor input(Size length, std::uint64_t which = 0, Size rows = 2) const;
  Tensor gradient_input() const;
  GradcheckOptions gradcheck_options(const char* name) const;
  /// Returns the parameters that change the result, and remarks on the others.
  std::vector<Tensor> influential(const Tensor& x);

  /// The user's mask.
  Mask given(Size queries, Size keys) const { return check_.mask ? check_.mask(queries, keys) : Mask{}; }
  /// The user's mask, which also hides one key from all tokens but its own.
  Mask hiding(Size key, Size queries, Size keys) const;
  /// Results of a block for a whole text.
  Tensor whole(const TransformerBlock& block, const Tensor& x) const;
  Tensor whole(const Tensor& x) const { return whole(*block_, x); }
  /// Results for the tokens that follow those in the cache.
  Tensor next(const Tensor& x, KeyValueCache& cache) const;
  /// Reads x through a cache in parts. `make(queries, keys)` makes the mask of each part.
  Tensor in_parts(const Tensor& x, const std::vector<Size>& parts,
                  const std::function<Mask(Size, Size)>& make) const;
  /// Returns the gap at the first token at which it is larger than rounding allows.
  Gap first_gap(const Tensor& result, const Tensor& expected) const;
  /// Returns true if a gap is larger than rounding allows in this result.
  bool differs(const Gap& gap, const Tensor& result) const;

  /// Returns the result of a new block with the same parameters.
  Tensor reconstructed(const Tensor& x) const;
  /// Looks for variables of the layer that are not parameters.
  std::string other_leaves(const Tensor& x) const;
  std::string hidden_token(Size length, Size hidden) const;
  std::string masks_of_rows(Size rows) const;

  const BlockOptions options_;
  const BlockKind kind_;
  const AttentionCheckOptions check_;
  std::unique_ptr<TransformerBlock> block_;
  std::vector<Tensor> leaves_;  // parameters that change the result
  std::string remark_;
};

}  // namespace tapestry::detail
