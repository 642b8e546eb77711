// 7.3 eighth_patient: A test for reading the future
// measure, 20 minutes
//
// The clinic had seven broken attentions, and here comes an eighth. Write a test that detects whether the result of
// token i depends on any token after i. Change the tokens after i, and compare the results of the tokens up to i.
//
// attend is any function of q (T, d), k (T, d) and v (T, d_v). It returns (T, d_v), one row per token. T is at least 1.
// q, k and v are random, and a token is one row in all three of them.
//
// Return true if no token reads the future. A leak may be faint, and it may concern only one token or one feature. A
// difference below 1e-9 is rounding.
//
// slice(x, 0, from, to) returns the rows from, …, to − 1 of x. concat({a, b}, 0) appends the rows of b to those of a.
#include "lessons/grader/answer.hpp"

using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

bool is_causal(const Attend& attend, const Tensor& q, const Tensor& k, const Tensor& v) {
  //[ about eight lines; slice, concat, max and abs are useful
  //: return not_written_yet();
  const Size last = q.size(0) - 1;
  const Tensor before = attend(q, k, v);
  for (Size i = 0; i < last; ++i) {
    const auto other = [&](const Tensor& x) {  // changes the rows after i
      return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
    };
    const Tensor after = attend(other(q), other(k), other(v));
    const Tensor moved = slice(after - before, 0, 0, i + 1);  // the change of the results up to i
    if (max(abs(moved)).item() > 1e-9) return false;
  }
  return true;
  //]
}

// hint: Take two strings that differ only after token i. Which rows of their results must be equal?
// hint: For each i, other(x) keeps the rows 0 to i and changes the rest. Compare the rows ____ of
//   attend(other(q), other(k), other(v)) with the same rows of attend(q, k, v).
// hint: moved has the differences in those rows. The largest magnitude is max(abs(____)).item(). How large may it be?
//
// wrong: You refuse sound attentions, because you compare all rows. The tokens after i were changed, so their results
//   may change too.
// - const Tensor moved = slice(after - before, 0, 0, i + 1);
// + const Tensor moved = after - before;
// wrong: You compare the row of a token that you changed yourself, i or i + 1. The result of that token may change.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return i == 0 ? 1 - 2 * x : concat({slice(x, 0, 0, i), 1 - 2 * slice(x, 0, i, last + 1)}, 0);
// wrong: You don't change the keys. Suppose that the softmax runs over all keys and the mask comes afterwards. Such an
//   attention reads no value of the future, but its weights depend on the keys of the future.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, k, other(v));
// wrong: You don't change the values. A leak need not depend on the keys of the future. The plain mean of all values
//   doesn't.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, other(k), v);
// wrong: You don't change the queries. Each token also has a query, and in a softmax over the queries, the weight of a
//   key depends on the scores of later queries.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, other(k), other(v));
// wrong: You test only i = 0. A leak may begin later. If an attention works in blocks, and so does its mask, then the
//   first block can be one token long.
// - for (Size i = 0; i < last; ++i) {
// + for (Size i = 0; i < std::min<Size>(1, last); ++i) {
// wrong: You change only the last token. If the last token is a block by itself, no other token reads it. Tokens in
//   the blocks before it may still read each other.
// - for (Size i = 0; i < last; ++i) {
// + for (Size i = std::max<Size>(0, last - 1); i < last; ++i) {
// wrong: Your threshold treats a faint leak as rounding. Training finds a faint leak and makes it strong.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(moved)).item() > 1e-2) return false;
// wrong: The absolute value is missing, so your test does not notice results that become smaller.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(moved).item() > 1e-9) return false;
// wrong: Your threshold treats rounding as a leak. Sums of other numbers are rounded differently, in the sixteenth
//   digit. Allow 1e-9.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(moved)).item() > 0) return false;
// wrong: You change only signs. A leak may be a square or a norm, which is the same for v and −v. Change magnitudes
//   too.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return concat({slice(x, 0, 0, i + 1), -slice(x, 0, i + 1, last + 1)}, 0);
// wrong: You put NaN into the future. A comparison with NaN is always false, so `> 1e-9` is never true. Use finite
//   numbers.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return concat({slice(x, 0, 0, i + 1), std::nan("") * slice(x, 0, i + 1, last + 1)}, 0);
// wrong: You compare only the first feature. One head may leak while another one is sound. Then some features change
//   and others don't.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(select(moved, 1, 0))).item() > 1e-9) return false;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Mask causal(const Tensor& q) { return Mask::causal(q.size(0), q.size(0)); }
Tensor scored(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

/// Returns an attention with the mask f(i, j).
template <class F>
Attend masked(F f) {
  return [f](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(masked_softmax(scored(q, k), Mask::from(q.size(0), q.size(0), f)), v);
  };
}

// Sound attentions.
Tensor reads_back(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(masked_softmax(scored(q, k), causal(q)), v);
}
Tensor adds_up(const Tensor&, const Tensor&, const Tensor& v) { return cumsum(v, 0); }
Tensor adds_before(const Tensor&, const Tensor&, const Tensor& v) { return cumsum(v, 0) - v; }
/// Subtracts the values after each token from the sum of all values. The future cancels, except for rounding.
Tensor subtracts(const Tensor&, const Tensor&, const Tensor& v) {
  const Tensor one = scalar(1, DType::f64), zero = scalar(0, DType::f64);
  const Mask later = Mask::from(v.size(0), v.size(0), [](Size i, Size j) { return j > i; });
  return (sum(v, {0}, Keep::yes) - matmul(where(later, one, zero), v)) / 100;
}

// Broken attentions.
Tensor adds_after(const Tensor&, const Tensor&, const Tensor& v) {
  return sum(v, {0}, Keep::yes) - cumsum(v, 0);
}
Tensor mean_of_all(const Tensor&, const Tensor&, const Tensor& v) {
  return expand(mean(v, {0}, Keep::yes), v.shape());
}
Tensor masked_late(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(where(causal(q), softmax(scored(q, k), -1), scalar(0, DType::f64)), v);
}
Tensor over_queries(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(where(causal(q), softmax(scored(q, k), 0), scalar(0, DType::f64)), v);
}
Tensor faint(const Tensor& q, const Tensor& k, const Tensor& v) {
  return reads_back(q, k, v) + 1e-6 * mean_of_all(q, k, v);
}
/// Adds a hundredth of the sum of the squares of all queries (0), keys (1) or values (2).
Attend adds_squares(int of) {
  return [of](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor& x = of == 0 ? q : of == 1 ? k : v;
    return reads_back(q, k, v) + 0.01 * sum(x * x);
  };
}
/// Returns ones if all numbers are finite, and zeros if there is a NaN. Only a check that uses NaN refuses it.
Tensor notices_nan(const Tensor&, const Tensor&, const Tensor& v) {
  const Tensor one = scalar(1, DType::f64), total = sum(v * v, {0}, Keep::yes);
  return expand(where(less(-one, total), one, one - one), v.shape());
}
/// Adds the plain mean, times a factor for each feature.
Attend by_feature(double first, double second) {
  return [first, second](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor read = sum(mean_of_all(q, k, v), {-1}, Keep::yes);
    return reads_back(q, k, v) + read * tensor({first, second}, DType::f64);
  };
}
/// Adds to the first token the sum of all numbers of the last token, times the factor.
Attend looks_ahead(double factor) {
  return [factor](const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto of_last = [](const Tensor& x) { return sum(select(x, 0, x.size(0) - 1)); };
    const Mask first = Mask::from(q.size(0), 1, [](Size i, Size) { return i == 0; });
    const Tensor read = factor * (of_last(q) + of_last(k) + of_last(v));
    return reads_back(q, k, v) + where(first, read, scalar(0, DType::f64));
  };
}

}  // namespace

void judge(Judge& judge) {
  const auto says = [&](const Attend& attend, Size tokens = 5) {
    const Tensor q = judge.normal({tokens, 3}), k = judge.normal({tokens, 3}), v = judge.normal({tokens, 2});
    return is_causal(attend, q, k, v);
  };
  const std::string unseen = ", but your check says that no token reads the future";
  const auto catches = [&](const Attend& attend, const std::string& what) {
    judge.that(!says(attend), what + unseen);
  };
  judge.claim("lets sound attentions pass", [&] {
    const auto passes = [&](const Attend& attend, const std::string& what) {
      const bool right = says(attend);  // if not, the four values below tell the mistakes apart
      std::vector<double> others;
      if (!right)
        for (const bool one : {says(adds_before), says(adds_up), says(adds_after, 2), says(mean_of_all)})
          others.push_back(one);
      judge.that(right, what + ", but your check says that it reads the future", others);
    };
    passes(reads_back, "attention with a causal mask is sound");
    passes(masked([](Size i, Size j) { return j < i; }),
           "here each token attends to those before it, not to itself");
    passes(adds_up, "here each token gets the sum of the values up to it");
    passes(subtracts,
           "here the values after a token are subtracted from the sum of all values, so the future cancels "
           "except for rounding");
  });
  judge.claim("catches results that become larger, and results that become smaller", [&] {
    const Tensor q = judge.normal({5, 3}), k = judge.normal({5, 3}), v = judge.normal({5, 2});
    const bool plus = is_causal(looks_ahead(1), q, k, v);
    const bool minus = is_causal(looks_ahead(-1), q, k, v);
    judge.that(
        plus == minus,
        "here the first token reads something from the last one, and your check notices it only if the "
        "result becomes larger, or only if it becomes smaller");
    judge.that(!plus, "here the first token reads something from the last one" + unseen,
               {says(notices_nan) + 0.0});
  });
  judge.claim("catches an attention without a mask, and one with a transposed mask", [&] {
    catches(masked([](Size, Size) { return true; }), "here every token attends to all tokens");
    catches(masked([](Size i, Size j) { return j >= i; }), "here the mask is transposed");
    catches(masked([](Size i, Size j) { return j <= i + 1; }),
            "here each token also attends to the next one");
  });
  judge.claim("catches values that bypass the mask",
              [&] { catches(mean_of_all, "here each token gets the mean of all values"); });
  judge.claim("catches weights that depend on keys of the future",
              [&] { catches(masked_late, "here the mask is applied after the softmax"); });
  judge.claim("catches weights that depend on queries of the future", [&] {
    catches(over_queries, "here the softmax runs over the queries, and the mask comes after it");
  });
  judge.claim("catches a leak at some tokens only", [&] {
    std::vector<double> unnoticed;  // for each i: does an attention pass where token i reads token i + 1?
    for (Size leak = 0; leak < 4; ++leak)
      unnoticed.push_back(
          says(masked([leak](Size i, Size j) { return j <= i || (i == leak && j == i + 1); })) + 0.0);
    judge.that(!says(masked([](Size i, Size j) { return (j + 1) / 2 <= (i + 1) / 2; })),
               "here the tokens 0, 1–2 and 3–4 form blocks" + unseen, unnoticed);
    judge.that(!says(masked([](Size i, Size j) { return j / 2 <= i / 2; })),
               "here the tokens 0–1, 2–3 and 4 form blocks" + unseen, unnoticed);
    catches(masked([](Size i, Size j) { return j < 2 || j <= i; }), "here token 0 also attends to token 1");
  });
  judge.claim("catches a leak in one feature, and opposite leaks in two features", [&] {
    catches(by_feature(0, 1), "here only the second feature reads the future");
    catches(by_feature(1, 0), "here only the first feature reads the future");
    catches(by_feature(1, -1),
            "here the future is added to the first feature and subtracted from the second");
  });
  judge.claim("catches a faint leak",
              [&] { catches(faint, "here a millionth of the mean of all values is added"); });
  judge.claim("catches leaks that depend on magnitudes, not on signs", [&] {
    catches(adds_squares(2), "here a hundredth of the sum of the squares of all values is added");
    catches(adds_squares(1), "here a hundredth of the sum of the squares of all keys is added");
    catches(adds_squares(0), "here a hundredth of the sum of the squares of all queries is added");
  });
  judge.claim("accepts a string of one token, which has no future", [&] {
    judge.example("T = 1");
    judge.that(says(reads_back, 1), "here is only one token, but your check says that it reads the future");
  });
}
