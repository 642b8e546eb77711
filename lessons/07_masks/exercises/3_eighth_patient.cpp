// 7.3 eighth_patient: a check that nobody reads the future
// measure, 20 minutes
//
// The clinic had seven broken attentions, and an eighth is at the door. Write the check that notices whether
// token i can read anything of the tokens after it: change those, and see whether what comes out for the
// tokens up to i changes.
//
// attend is any function of q (T, d), k (T, d) and v (T, d_v) with a result (T, d_v), a row for each token; T
// is 1 or more. q, k and v are random, and a token is a row in all three. Say true if no token reads the
// future. A leak may be faint, or that of one token or one feature; a difference below 1e-9 is rounding.
// slice(x, 0, from, to) has the rows from, …, to − 1 of x, concat({a, b}, 0) those of a and then those of b.
#include "lessons/grader/answer.hpp"

using Attend = std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>;

bool nobody_reads_the_future(const Attend& attend, const Tensor& q, const Tensor& k, const Tensor& v) {
  //[ about eight lines; slice, concat, max and abs are useful
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
// hint: moved, those rows of after - before, has one size: its largest magnitude, max(abs(____)).item(). How
//   large may it be?
//
// wrong: You refuse sound attentions: you compare all rows. The tokens after i were changed themselves, and
//   so may their results.
// - const Tensor moved = slice(after - before, 0, 0, i + 1);
// + const Tensor moved = after - before;
// wrong: You compare the row of a token that you changed yourself, number i or i + 1: its own result may move.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return i == 0 ? 1 - 2 * x : concat({slice(x, 0, 0, i), 1 - 2 * slice(x, 0, i, last + 1)}, 0);
// wrong: You leave the keys as they are. An attention whose softmax runs over all keys, and is masked
//   afterwards, reads no value of the future, but its weights tell what the keys there are.
// - const Tensor after = attend(other(q), other(k), other(v));
// + const Tensor after = attend(q, k, other(v));
// wrong: You leave the values as they are. What is read from the future may not depend on its keys: the plain
//   mean of all values doesn't.
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
// wrong: You take rounding for a leak. Sums of other numbers are rounded otherwise, in the sixteenth digit:
//   allow 1e-9.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(moved)).item() > 0) return false;
// wrong: You change signs only, and what is read may be a square or a length: it is the same for v and −v.
//   Change sizes, too.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return concat({slice(x, 0, 0, i + 1), -slice(x, 0, i + 1, last + 1)}, 0);
// wrong: You put NaN into the future. A comparison with NaN is always false, so `> 1e-9` never says yes:
//   take numbers.
// - return concat({slice(x, 0, 0, i + 1), 1 - 2 * slice(x, 0, i + 1, last + 1)}, 0);
// + return concat({slice(x, 0, 0, i + 1), std::nan("") * slice(x, 0, i + 1, last + 1)}, 0);
// wrong: You look at the first feature only. A head may leak while the one beside it is sound, and then some
//   features change and others don't.
// - if (max(abs(moved)).item() > 1e-9) return false;
// + if (max(abs(select(moved, 1, 0))).item() > 1e-9) return false;

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
Tensor adds_up(const Tensor&, const Tensor&, const Tensor& v) { return cumsum(v, 0); }
Tensor adds_before(const Tensor&, const Tensor&, const Tensor& v) { return cumsum(v, 0) - v; }
/// Takes the sum of all values and subtracts those after each token: the future cancels, but for rounding.
Tensor subtracts(const Tensor&, const Tensor&, const Tensor& v) {
  const Tensor one = scalar(1, DType::f64), zero = scalar(0, DType::f64);
  const Mask later = Mask::from(v.size(0), v.size(0), [](Size i, Size j) { return j > i; });
  return (sum(v, {0}, Keep::yes) - matmul(where(later, one, zero), v)) / 100;
}

// Broken ones.
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
/// A hundredth of the sum of the squares of all queries (0), keys (1) or values (2).
Attend adds_squares(int of) {
  return [of](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor& x = of == 0 ? q : of == 1 ? k : v;
    return reads_back(q, k, v) + 0.01 * sum(x * x);
  };
}
/// Sound with numbers: all ones. A NaN makes it zeros, so that only a check that puts one in refuses it.
Tensor notices_nan(const Tensor&, const Tensor&, const Tensor& v) {
  const Tensor one = scalar(1, DType::f64), total = sum(v * v, {0}, Keep::yes);
  return expand(where(less(-one, total), one, one - one), v.shape());
}
/// The plain mean, times a factor of its own in each feature.
Attend by_feature(double first, double second) {
  return [first, second](const Tensor& q, const Tensor& k, const Tensor& v) {
    const Tensor read = sum(mean_of_all(q, k, v), {-1}, Keep::yes);
    return reads_back(q, k, v) + read * tensor({first, second}, DType::f64);
  };
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
    const auto passes = [&](const Attend& attend, const std::string& what) {
      const bool right = says(attend);  // if not, four more tell one mistake from another
      std::vector<double> others;
      if (!right)
        for (const bool one : {says(adds_before), says(adds_up), says(adds_after, 2), says(mean_of_all)})
          others.push_back(one);
      judge.that(right, what + ", and your check says that it reads the future", others);
    };
    passes(reads_back, "attention with a causal mask is sound");
    passes(masked([](Size i, Size j) { return j < i; }), "here each token sees those before it, not itself");
    passes(adds_up, "here each token gets the sum of the values up to it");
    passes(subtracts,
           "here the values after a token are subtracted from the sum of all, so that they cancel but for "
           "rounding");
  });
  judge.claim("catches results that become larger, and results that become smaller", [&] {
    const Tensor q = judge.normal({5, 3}), k = judge.normal({5, 3}), v = judge.normal({5, 2});
    const bool plus = nobody_reads_the_future(looks_ahead(1), q, k, v);
    const bool minus = nobody_reads_the_future(looks_ahead(-1), q, k, v);
    judge.that(plus == minus,
               "here the first token reads something of the last one, and your check notices either what is "
               "added or what is subtracted, not both");
    judge.that(!plus, "here the first token reads something of the last one" + unseen,
               {says(notices_nan) + 0.0});
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
    std::vector<double> unnoticed;  // whether token i may see the token i + 1, for each i
    for (Size leak = 0; leak < 4; ++leak)
      unnoticed.push_back(
          says(masked([leak](Size i, Size j) { return j <= i || (i == leak && j == i + 1); })) + 0.0);
    judge.that(!says(masked([](Size i, Size j) { return (j + 1) / 2 <= (i + 1) / 2; })),
               "here the tokens 0, 1–2 and 3–4 are blocks" + unseen, unnoticed);
    judge.that(!says(masked([](Size i, Size j) { return j / 2 <= i / 2; })),
               "here the tokens 0–1, 2–3 and 4 are blocks" + unseen, unnoticed);
    catches(masked([](Size i, Size j) { return j < 2 || j <= i; }),
            "here the token 0 sees the token 1 as well");
  });
  judge.claim("catches a leak in one feature, and one that is opposite in two", [&] {
    catches(by_feature(0, 1), "here the second feature alone reads the future");
    catches(by_feature(1, 0), "here the first feature alone reads the future");
    catches(by_feature(1, -1), "here the future adds to the first feature what it takes from the second");
  });
  judge.claim("catches a faint leak",
              [&] { catches(faint, "here a millionth of the mean of all values is added"); });
  judge.claim("catches what depends on sizes and not on signs", [&] {
    catches(adds_squares(2), "here a hundredth of the sum of the squares of all values is added");
    catches(adds_squares(1), "here a hundredth of the sum of the squares of all keys is added");
    catches(adds_squares(0), "here a hundredth of the sum of the squares of all queries is added");
  });
  judge.claim("lets a text of one token pass, which has no future", [&] {
    judge.example("T = 1");
    judge.that(says(reads_back, 1), "here is one token alone, and your check says that it reads the future");
  });
}
