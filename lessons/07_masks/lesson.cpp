// 07 masks: who may attend to whom
//
// Attention lets every query look at every key. Often it must not: a short sentence is filled up with
// padding, and who is to predict the next word must not read it. A *mask* says which pairs of query and key
// count. It is the simplest part of attention, and the one in which most mistakes are made. Hardly any of
// them crashes. Most of them train.
//
// You will: 1 see the masks; 2 build the masked softmax from plain ops; 3 learn why that is not enough; 4
// visit the clinic, where seven broken attentions are trained beside a sound one, and 5 find for each the
// check that catches it.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/07_masks/masks.hpp"
#include "nn/attention/attention.hpp"

using namespace tapestry;

namespace masks {

// ---- 1. The masks -----------------------------------------------------------------------------------------
//
// One type, one meaning: **true = may attend**. (PyTorch's key_padding_mask means the opposite.) A mask has
// the shape of the scores, (…, queries, keys), or one that broadcasts to it. With & both must allow,
// with | one is enough, ! turns it round.
//
//     lengths    row b of the batch has so many keys; what follows is padding      ValidLengths{…}.mask(keys)
//     causal     query i sees keys up to i: nobody reads the future                Mask::causal(n, n)
//     window     causal, and not too far back                                      Mask::from(n, n, f)
//     prefix     all see the first few keys, and the rest is causal                Mask | Mask
//
// With fewer queries than keys (new words after old ones) causal is aligned at the bottom right: the last
// query sees every key.

struct NamedMask {
  const char* name;
  Mask mask;  // (n, n)
};

std::vector<NamedMask> gallery(Size n) {
  const Mask lengths = ValidLengths{4}.mask(n).reshape({1, n}).expand({n, n});
  const Mask causal = Mask::causal(n, n);
  const Mask window = Mask::from(n, n, [](Size i, Size j) { return j <= i && j > i - 3; });
  const Mask prefix = Mask::from(n, n, [](Size, Size j) { return j < 3; }) | causal;
  return {{"length 4", lengths},
          {"causal", causal},
          {"both, by &", lengths & causal},
          {"window of 3", window},
          {"prefix of 3", prefix}};
}

void show_gallery(const kit::Options& options, kit::Report& report) {
  constexpr Size kSide = 6;
  std::string names;
  std::vector<std::vector<bool>> masks;
  for (const NamedMask& one : gallery(kSide)) {
    names += fmt::format("{}{}", names.empty() ? "" : " | ", one.name);
    masks.push_back(one.mask.to_vector());
  }
  kit::Heatmap picture{"Who sees whom: " + names};
  for (std::size_t i = 0; i < kSide; ++i) {
    picture.rows.push_back(fmt::format("query {}", i + 1));
    for (std::size_t m = 0; m < masks.size(); ++m) {
      if (m) picture.values.push_back(std::nan(""));  // a gap
      for (std::size_t j = 0; j < kSide; ++j) picture.values.push_back(masks[m][i * kSide + j]);
    }
  }
  for (std::size_t m = 0; m < masks.size(); ++m) {
    if (m) picture.columns.push_back("");
    for (std::size_t j = 0; j < kSide; ++j) picture.columns.push_back(std::to_string(j + 1));
  }
  kit::show(picture, options.out / "masks.svg");
  const std::vector<bool> two_new = Mask::causal(2, 5).to_vector();
  report.check("two queries, five keys: the first sees four, the last all five",
               !two_new[4] && std::count(two_new.begin(), two_new.end(), true) == 9);
}

// ---- 2. The masked softmax, from plain ops ----------------------------------------------------------------
//
//     weight_j = e^{s_j − m} / Σ e^{s_k − m}, over the keys that the mask allows; m is the largest such score
//
// and exactly 0 elsewhere. Three things are easily overlooked. What stands in a masked place must not be
// looked at, not even multiplied by 0: it may be NaN. The largest is taken among the allowed ones only, or
// all e^{…} may come out as 0. And a row may be empty: then the sum is 0, and 0/0 is NaN. An empty row has
// weights 0; it asks, and there is nobody to answer.

/// x where the mask is true, 0 elsewhere; what is not taken is not looked at.
Tensor keep(const Mask& mask, const Tensor& x) { return where(mask, x, scalar(0, x.dtype())); }

Tensor masked_softmax_by_hand(const Tensor& scores, const Mask& mask) {
  const Tensor lowest = scalar(-1e30, scores.dtype()), zero = scalar(0, scores.dtype());
  const Tensor top = max(where(mask, scores.detach(), lowest), {-1}, Keep::yes);  // cancels: no gradient
  const Tensor e = keep(mask, exp(keep(mask, scores - top)));
  const Tensor total = sum(e, {-1}, Keep::yes);
  return e / where(less(zero, total), total, scalar(1, scores.dtype()));
}

void show_softmax(std::uint64_t seed, kit::Report& report) {
  const Tensor scores = random_normal({2, 2, 4}, seed, DType::f64);
  const ValidLengths lengths = {{1, 3}, {2, 4}};  // one for each query of each string
  const Tensor weights = masked_softmax_by_hand(scores, lengths.mask(4));
  bool counts_agree = true, sums_agree = true;
  for (Size b = 0; b < 2; ++b)
    for (Size i = 0; i < 2; ++i) {
      fmt::print("  string {}, query {}, length {}:", b + 1, i + 1, lengths[2 * b + i]);
      Size non_zeros = 0;
      double total = 0;
      for (Size j = 0; j < 4; ++j) {
        const double weight = weights.at({b, i, j});
        fmt::print("  {:.4f}", weight);
        non_zeros += weight != 0;
        total += weight;
      }
      fmt::print("\n");
      counts_agree &= non_zeros == lengths[2 * b + i];
      sums_agree &= std::abs(total - 1) < 1e-12;
    }
  report.check("exactly 1, 3, 2, 4 weights are not 0", counts_agree);
  report.check("each row sums to 1", sums_agree);

  const Mask with_empty = ValidLengths{{1, 3}, {0, 4}}.mask(4);
  const auto by_hand = [&](const Tensor& s) { return masked_softmax_by_hand(s, with_empty); };
  const GradcheckResult check = gradcheck(by_hand, scores);
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck, {} derivatives, with an empty row", check.compared), check.ok());
  const Tensor cotangent = random_normal({2, 2, 4}, seed + 1, DType::f64);
  const Tensor ours = vjp(by_hand, scores, cotangent);
  const Tensor theirs =
      vjp([&](const Tensor& s) { return masked_softmax(s, with_empty); }, scores, cotangent);
  report.check("an empty row gives exactly 0, and its gradient is exactly 0",
               largest(select(select(by_hand(scores), 0, 1), 0, 0)) == 0 &&
                   largest(select(select(ours, 0, 1), 0, 0)) == 0);
  report.check("core's masked_softmax gives the same to 1e-12, forward and backward",
               largest(by_hand(scores) - masked_softmax(scores, with_empty)) < 1e-12 &&
                   largest(ours - theirs) < 1e-12);
}

// ---- 3. Masking the scores is not enough ------------------------------------------------------------------
//
// Padding has weight 0. But the context is Σ_j α_j v_j, and if v_j is NaN, 0 · NaN is NaN. The same happens
// in the gradients, where a score's gradient of 0 is multiplied by the key. Nobody writes NaN into padding on
// purpose; memory that was not set, or a log of 0 in a layer before, will do. So rows that cannot count are
// taken out before the products: keys and values that no query may see, and queries that see no key.

/// For a mask (…, Tq, Tk): true where some query sees the key, (…, Tk, 1).
Mask seen(const Mask& mask) {
  const Tensor one = scalar(1), none = scalar(0);
  Mask any = less(none, sum(where(mask, one, none), {-2}, Keep::yes));  // (…, 1, Tk)
  Dims shape = any.shape();
  std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return any.reshape(shape);
}
/// True where the query sees some key, (…, Tq, 1).
Mask seeing(const Mask& mask) {
  const Tensor one = scalar(1), none = scalar(0);
  return less(none, sum(where(mask, one, none), {-1}, Keep::yes));
}

/// q (…, Tq, d), k (…, Tk, d), v (…, Tk, d_v), mask (…, Tq, Tk) → (…, Tq, d_v)
Tensor attend_by_hand(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  const Tensor query = keep(seeing(mask), q), keys = keep(seen(mask), k), values = keep(seen(mask), v);
  const Tensor scores = matmul(query, transpose(keys)) / std::sqrt(static_cast<double>(k.size(-1)));
  return matmul(masked_softmax_by_hand(scores, mask), values);
}

/// The output and the gradients of q, k, v, for one random cotangent. (Three, in masks.hpp: any function of
/// q, k and v.)
std::vector<Tensor> both_ways(const Three& f, const std::vector<Tensor>& qkv, std::uint64_t seed) {
  const std::vector<Tensor> leaves = {variable(qkv[0]), variable(qkv[1]), variable(qkv[2])};
  Tape tape;
  const Tensor y = f(leaves[0], leaves[1], leaves[2]);
  std::vector<Tensor> all =
      tape.gradients(y, random_normal(y.shape(), seed + 9, y.dtype()), leaves, {.zero_if_unused = true});
  all.insert(all.begin(), y.detach());
  return all;
}

Tensor poisoned(const Tensor& x, const Mask& kept) {
  return where(kept, x, scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype()));
}

void show_poison(std::uint64_t seed, kit::Report& report) {
  const Mask mask = ValidLengths{{5, 2, 0}, {3, 1, 4}}.mask(5);
  const std::vector<Tensor> qkv = {random_normal({2, 3, 4}, seed, DType::f64),
                                   random_normal({2, 5, 4}, seed + 1, DType::f64),
                                   random_normal({2, 5, 3}, seed + 2, DType::f64)};
  const Three by_hand = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attend_by_hand(q, k, v, mask);
  };
  const GradcheckResult check = gradcheck(by_hand, qkv);
  if (!check.ok()) fmt::print("{}", check.report());
  report.check(fmt::format("gradcheck of attention by hand, {} derivatives", check.compared), check.ok());

  const Attention library{scaled_dot()};
  const Three by_nn = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return library(q, k, v, mask).context;
  };
  const std::vector<Tensor> clean = both_ways(by_hand, qkv, seed);
  report.check("nn/'s Attention gives the same to 1e-12, and the same gradients",
               farthest(clean, both_ways(by_nn, qkv, seed)) < 1e-12);

  const Three scores_only = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(masked_softmax(matmul(q, transpose(k)) / 2.0, mask), v);
  };
  const std::vector<Tensor> poison = {poisoned(qkv[0], seeing(mask)), poisoned(qkv[1], seen(mask)),
                                      poisoned(qkv[2], seen(mask))};
  report.check("without poison, masking the scores alone gives the same",
               farthest(clean, both_ways(scores_only, qkv, seed)) < 1e-12);
  report.check("with NaN in the padding it gives NaN",
               farthest(clean, both_ways(scores_only, poison, seed)) == HUGE_VAL);
  report.check("by hand and in nn/, NaN in the padding changes no bit of output and gradients",
               farthest(clean, both_ways(by_hand, poison, seed)) == 0 &&
                   farthest(both_ways(by_nn, qkv, seed), both_ways(by_nn, poison, seed)) == 0);
}

// Parts 4 and 5, the clinic and its checks, are in clinic.cpp: read on there.

void lesson(const kit::Options& options, kit::Report& report) {
  report.section("The masks");
  show_gallery(options, report);

  report.section("The masked softmax, from plain ops");
  show_softmax(options.seed, report);

  report.section("Masking the scores is not enough");
  show_poison(options.seed, report);

  report.section("The clinic: one sound attention, seven broken ones");
  show_clinic(options, report);

  report.section("The checks that catch them");
  show_checks(options, report);
}

}  // namespace masks

int main(int argc, char** argv) {
  kit::Lesson program("07_masks", "who may attend to whom");
  program.steps(500, 5);
  return program.run(argc, argv, masks::lesson);
}
