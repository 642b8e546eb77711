// Self-attentions for the test of check_attention(): some are right, the others have one mistake each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/core.hpp"
#include "core/tensor/map.hpp"
#include "nn/transformer/block.hpp"

namespace tapestry::testing::attentions {

inline constexpr Size kWidth = 8;  // of the block

/// One head without a mistake, whose cache has keys and values. The classes below override one step each.
struct OneHead : SelfAttention {
  explicit OneHead(Parent parent) : SelfAttention(std::move(parent)) {}
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    return read(x, key(x), value(x), pairs);
  }
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    cache.append(key(x), value(x));
    return read(x, cache.keys(), cache.values(), pairs);
  }
  virtual Tensor read(const Tensor& x, const Tensor& k, const Tensor& v, const VisiblePairs& pairs) const {
    return mix(matmul(query(x), transpose(k)) * 0.5, v, pairs);
  }
  virtual Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const {
    return matmul(masked_softmax(scores, mask(pairs, scores)), v);
  }
  virtual Mask mask(const VisiblePairs& pairs, const Tensor& scores) const { return pairs.mask_for(scores); }

  Linear query{{*this, "query"}, kWidth, kWidth, Bias::no}, key{{*this, "key"}, kWidth, kWidth, Bias::no},
      value{{*this, "value"}, kWidth, kWidth, Bias::no};
};

/// Without a cache of its own: the text is computed again.
struct Recomputed : OneHead {
  using OneHead::OneHead;
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    return SelfAttention::next(x, pairs, cache);
  }
};

struct SeesAll : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override { return pairs.caller_mask(); }
};

struct ForgetsTheGivenMask : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override {
    return Mask::causal(pairs.queries(), pairs.keys());
  }
};

struct DividesByKeys : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores / static_cast<double>(pairs.keys()), v, pairs);
  }
};

/// ReLU attention divided by its sum, without a thought for a query that sees no key.
struct DividesByZero : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    const Tensor lowest = full({}, -std::numeric_limits<double>::infinity(), scores.dtype());
    const Tensor raised =
        exp(mask(pairs, scores).defined() ? where(mask(pairs, scores), scores, lowest) : scores);
    return matmul(raised / sum(raised, {-1}, Keep::yes), v);
  }
};

struct MixesRows : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores - mean(scores, {0}, Keep::yes), v, pairs);
  }
};

/// Its derivative with respect to the values is missing.
struct Detaches : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return matmul(masked_softmax(scores, mask(pairs, scores)), v.detach());
  }
};

Tensor wrong_square(const Tensor& x, CallSite at = {}) {
  return op<"wrong_square">(at, map(x, [](auto v) { return v * v; }),
                            wrt(x, [x](const Tensor& dy) { return dy * x; }));
}
struct WrongRule : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(wrong_square(scores), v, pairs);
  }
};

/// Right at first, but the derivative itself is not recorded correctly.
Tensor square_once(const Tensor& x, CallSite at = {}) {
  return op<"square_once">(at, map(x, [](auto v) { return v * v; }),
                           wrt(x, [x](const Tensor& dy) { return dy * (2.0 * x.detach()); }));
}
struct WrongSecond : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(square_once(scores), v, pairs);
  }
};

struct LosesDigits : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix((scores + 1e4) - 1e4, v, pairs);
  }
};

struct NeedsF64 : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * full({1}, 2, DType::f64), v, pairs);
  }
};

/// A weight that is no Parameter: each layer has another one.
struct PlainWeight : OneHead {
  explicit PlainWeight(Parent parent) : OneHead(std::move(parent)), factor(static_cast<double>(++made)) {}
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * factor, v, pairs);
  }
  inline static int made = 0;
  double factor;
};

/// A variable that is not registered.
struct FreeVariable : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores * factor_.to(scores.dtype()), v, pairs);
  }
  Tensor factor_ = variable(tensor({2}, DType::f64));
};

/// A random rotation of the inputs: each layer draws another one.
struct DrawnConstant : OneHead {
  using OneHead::OneHead;
  Tensor operator()(const Tensor& x, const VisiblePairs& pairs) const override {
    return OneHead::operator()(matmul(x, drawn_.to(x.dtype())), pairs);
  }
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    return OneHead::next(matmul(x, drawn_.to(x.dtype())), pairs, cache);
  }
  inline static std::uint64_t made = 0;
  Tensor drawn_ = random_normal({kWidth, kWidth}, ++made, DType::f64);
};
/// The same one in each layer.
struct FixedConstant : DrawnConstant {
  explicit FixedConstant(Parent parent) : DrawnConstant(std::move(parent)) {
    drawn_ = random_normal({kWidth, kWidth}, 5, DType::f64);
  }
};
/// A variable with another value in each layer.
struct DrawnVariable : DrawnConstant {
  explicit DrawnVariable(Parent parent) : DrawnConstant(std::move(parent)) { drawn_ = variable(drawn_); }
};

/// Draws in eval mode too.
struct DrawsAlways : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores + random_normal(scores.shape(), ++calls, scores.dtype()), v, pairs);
  }
  inline static std::uint64_t calls = 0;
};
/// Scores are divided by the largest one so far, also of earlier calls.
struct LargestSoFar : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    for (const double s : scores.detach().to_vector()) largest = std::max(largest, std::abs(s));
    return OneHead::mix(scores / largest, v, pairs);
  }
  mutable double largest = 0;
};
struct NotFinite : OneHead {
  using OneHead::OneHead;
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    return OneHead::mix(scores, v, pairs) * std::numeric_limits<double>::quiet_NaN();
  }
};

/// next() takes the keys for the values.
struct ExchangesThem : OneHead {
  using OneHead::OneHead;
  Tensor next(const Tensor& x, const VisiblePairs& pairs, KeyValueCache& cache) const override {
    cache.append(key(x), value(x));
    return read(x, cache.values(), cache.keys(), pairs);
  }
};

struct AtMost20 : OneHead {
  using OneHead::OneHead;
  Mask mask(const VisiblePairs& pairs, const Tensor& scores) const override {
    if (pairs.keys() > 20) fail("at most 20 tokens, got {}", pairs.keys());
    return pairs.mask_for(scores);
  }
};

struct TwoHeads : OneHead {
  using OneHead::OneHead;
  static Tensor split(const Tensor& x) {
    return transpose(reshape(x, {x.size(0), x.size(1), 2, kWidth / 2}), 1, 2);
  }
  Tensor read(const Tensor& x, const Tensor& k, const Tensor& v, const VisiblePairs& pairs) const override {
    const Tensor scores = matmul(split(query(x)), transpose(split(k)));
    return reshape(transpose(mix(scores, split(v), pairs), 1, 2), x.shape());
  }
};
struct TwoHeadsByMask : TwoHeads {
  using TwoHeads::TwoHeads;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override { return pairs.mask(); }
};
/// The scores (B, 2, T, T) get a mask (B, T, T) in silence if B = 2.
struct MaskByHead : TwoHeads {
  using TwoHeads::TwoHeads;
  Mask mask(const VisiblePairs& pairs, const Tensor&) const override {
    return pairs.caller_mask() & Mask::causal(pairs.queries(), pairs.keys());
  }
};

/// Scores fall with the square of the distance.
struct Distance : OneHead {
  using OneHead::OneHead;
  virtual Size first(const VisiblePairs& pairs) const { return pairs.first(); }
  Tensor mix(const Tensor& scores, const Tensor& v, const VisiblePairs& pairs) const override {
    std::vector<double> near;
    for (Size i = 0; i < pairs.queries(); ++i)
      for (Size j = 0; j < pairs.keys(); ++j) near.push_back(-0.01 * std::pow(i + first(pairs) - j, 2));
    return OneHead::mix(scores + tensor(near, {pairs.queries(), pairs.keys()}, scores.dtype()), v, pairs);
  }
};
struct ForgetsTheFirst : Distance {
  using Distance::Distance;
  Size first(const VisiblePairs&) const override { return 0; }
};

/// The sum of all values so far, as a state.
struct RunningSum : OneHead {
  using OneHead::OneHead;
  Tensor operator()(const Tensor& x, const VisiblePairs&) const override {
    return query(x) * cumsum(value(x), 1) + key(x);
  }
  Tensor next(const Tensor& x, const VisiblePairs&, KeyValueCache& cache) const override {
    Tensor sums = cumsum(value(x), 1);
    if (!cache.state().empty()) sums = sums + state_of(cache);
    cache.set_state({stored(slice(sums, 1, x.size(1) - 1, x.size(1)))}, x.size(1));
    return query(x) * sums + key(x);
  }
  virtual Tensor state_of(const KeyValueCache& cache) const { return cache.state().front(); }
  virtual Tensor stored(const Tensor& state) const { return state; }
};
/// Keeps the sum in the layer.
struct OwnMemory : RunningSum {
  using RunningSum::RunningSum;
  Tensor state_of(const KeyValueCache&) const override { return kept_; }
  Tensor stored(const Tensor& state) const override { return kept_ = state; }
  mutable Tensor kept_;
};

/// Stores the sum with the batch as its second axis.
struct RowsSecond : RunningSum {
  using RunningSum::RunningSum;
  Tensor state_of(const KeyValueCache& cache) const override {
    return transpose(cache.state().front(), 0, 1);
  }
  Tensor stored(const Tensor& state) const override { return transpose(state, 0, 1); }
};

}  // namespace tapestry::testing::attentions
