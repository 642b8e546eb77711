// 7.3 eighth_patient: a check that nobody reads the future
// measure, 20 minutes
//
// The clinic had seven broken attentions, and an eighth is at the door. Write the check that notices whether
// token i can read anything of the tokens after it: change those, and see whether what comes out for the
// tokens up to i changes.
//
// attend is any function of q (T, d), k (T, d) and v (T, d_v) with a result (T, d_v), a row for each token; T
// is 1 or more. q, k and v are random, and a token is a row in all three. Say true if no token reads the
// future. A leak may be faint, or that of one token; a difference below 1e-9 is rounding.
#include "lessons/grader/answer.hpp"

using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

bool nobody_reads_the_future(const Attend& attend, const Tensor& q, const Tensor& k, const Tensor& v) {
  //[ about eight lines; concat, slice, max and abs are useful
  //: return not_written_yet();
  const Size last = q.size(0) - 1;
  const Tensor before = attend(q, k, v);
  for (Size i = 0; i < last; ++i) {
    const auto other = [&](const Tensor& x) {  // another future: the rows after i
      return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
    };
    const Tensor after = attend(other(q), other(k), other(v));
    const Tensor moved = slice(after - before, 0, 0, i + 1);  // what the tokens up to i notice of it
    if (max(abs(moved)).item() > 1e-9) return false;
  }
  return true;
  //]
}

// hint: A text and another one that differs from it only after token i: of which results do you know what
//   they must be?
// hint: for each i: other(x) keeps the rows 0 to i and changes the rest; compare the rows ____ of
//   attend(other(q), other(k), other(v)) with those of attend(q, k, v).
// hint: The largest difference of the rows up to i is max(abs(slice(after - before, 0, 0, i + 1))).item().
//
// wrong: You refuse sound attentions: you compare all rows. The tokens after i were changed themselves, and
//   so may their results.
// - const Tensor moved = slice(after - before, 0, 0, i + 1);
// + const Tensor moved = after - before;
// wrong: You change the values only. An attention whose softmax runs over all keys, and is masked afterwards,
//   reads no value of the future, but its weights tell what the keys there are.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, k, other(v));
// wrong: You change the keys only. What is read from the future may not depend on its keys: the plain mean of
//   all values doesn't.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, other(k), v);
// wrong: You leave the queries as they are. A token makes a query, too, and a softmax over the queries
//   divides the weight of a key by what later queries want of it.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, other(k), other(v));
// wrong: You ask the first token only. A leak may begin later: where a text is computed in blocks, and the
//   mask is by block, the first block can be one token long.
// - for (Size i = 0; i < last; ++i) {
// + for (Size i = 0; i < std::min<Size>(1, last); ++i) {
// wrong: You change the last token only. Where the last token is in a block of its own nobody sees it, and in
//   the blocks before it tokens see each other.
// - for (Size i = 0; i < last; ++i) {
// + for (Size i = std::max<Size>(0, last - 1); i < last; ++i) {
// wrong: You take a faint leak for rounding. Training finds it, and makes it loud.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(moved)).item() > 1e-2) return false;
// wrong: The magnitude is missing: a result that becomes smaller goes unseen.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(moved).item() > 1e-9) return false;

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

Mask causal(const Tensor& q) { return Mask::causal(q.size(0), q.size(0)); }
Tensor scored(const Tensor& q, const Tensor& k) { return matmul(q, transpose(k)); }

/// Attention with the mask f(i, j).
template <class F>
Attend masked(F f) {
  return [f](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(masked_softmax(scored(q, k), Mask::from(q.size(0), q.size(0), f)), v);
  };
}

// Sound ones.
Tensor reads_back(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(masked_softmax(scored(q, k), causal(q)), v);
}
Tensor adds_up(const Tensor&, const Tensor&, const Tensor& v) { return cumulative_sum(v, 0); }

// Broken ones.
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
  return reads_back(q, k, v) + 1e-4 * mean_of_all(q, k, v);
}
/// The first token gets the sum of all the last one's numbers, times the factor.
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
    return nobody_reads_the_future(attend, q, k, v);
  };
  const std::string unseen = ", and your check says that nobody reads the future";
  const auto catches = [&](const Attend& attend, const std::string& what) {
    judge.that(!says(attend), what + unseen);
  };
  judge.claim("lets sound attentions pass", [&] {
    const std::string refused = ", and your check says that it reads the future";
    judge.that(says(reads_back), "attention with a causal mask is sound" + refused);
    judge.that(says(masked([](Size i, Size j) { return j < i; })),
               "here each token sees those before it, not itself" + refused);
    judge.that(says(adds_up), "here each token gets the sum of the values up to it" + refused);
  });
  judge.claim("catches results that become larger, and results that become smaller", [&] {
    const Tensor q = judge.normal({5, 3}), k = judge.normal({5, 3}), v = judge.normal({5, 2});
    judge.that(!nobody_reads_the_future(looks_ahead(1), q, k, v),
               "here the first token reads something of the last one" + unseen);
    judge.that(!nobody_reads_the_future(looks_ahead(-1), q, k, v),
               "here the first token reads something of the last one" + unseen);
  });
  judge.claim("catches an attention without a mask, and one with a transposed mask", [&] {
    catches(masked([](Size, Size) { return true; }), "here every token sees all");
    catches(masked([](Size i, Size j) { return j >= i; }), "here the mask is transposed");
    catches(masked([](Size i, Size j) { return j <= i + 1; }), "here each token sees the next one as well");
  });
  judge.claim("catches values that get through past the mask",
              [&] { catches(mean_of_all, "here each token gets the mean of all values"); });
  judge.claim("catches keys of the future that change weights",
              [&] { catches(masked_late, "here the mask is applied after the softmax"); });
  judge.claim("catches queries of the future that change weights", [&] {
    catches(over_queries, "here the softmax runs over the queries, and the mask comes after it");
  });
  judge.claim("catches a leak that only some tokens have", [&] {
    catches(masked([](Size i, Size j) { return (j + 1) / 2 <= (i + 1) / 2; }),
            "here the tokens 0, 1–2 and 3–4 are blocks");
    catches(masked([](Size i, Size j) { return j / 2 <= i / 2; }),
            "here the tokens 0–1, 2–3 and 4 are blocks");
    catches(masked([](Size i, Size j) { return j < 2 || j <= i; }),
            "here the token 0 sees the token 1 as well");
  });
  judge.claim("catches a faint leak",
              [&] { catches(faint, "here a ten-thousandth of the mean of all values is added"); });
  judge.claim("lets a text of one token pass, which has no future", [&] {
    judge.example("T = 1");
    judge.that(says(reads_back, 1), "here is one token alone, and your check says that it reads the future");
  });
}
