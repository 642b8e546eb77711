// What kit::check sees of a mechanism, with mistakes planted.
#include "lessons/26_programmable/mechanism.hpp"

#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>

#include "core/attention/score_lambda.hpp"
#include "core/attention/symbol.hpp"
#include "core/core.hpp"
#include "nn/attention/masking.hpp"
#include "tests/catch.hpp"

using namespace tapestry;
using Catch::Matchers::ContainsSubstring;

namespace {

using Values = std::vector<Tensor>;

struct Checked {
  bool ok;
  std::string text;
};

Checked check(const kit::Mechanism& mechanism) {
  std::ostringstream out;
  kit::Report report(out);
  const bool ok = kit::check(mechanism, report);
  CHECK(ok == report.all_met());
  return {ok, out.str()};
}

/// A table of 16 distances, again and again; `later` makes all of its copies but the first.
kit::Mechanism repeating(Tensor (*later)(const Tensor& table)) {
  return {.name = "repeating",
          .learned = {{"w", {4, 16}, normal(1)}},
          .score_mod =
              [later](const Values& p, Size queries, Size keys) {
                Values copies = {p[0]};
                while (static_cast<Size>(copies.size()) * 16 < keys) copies.push_back(later(p[0]));
                const auto first = static_cast<double>(keys - queries);
                return score_mod(
                    [first](auto s, auto at, auto w) { return s + w(at.h, at.i + first - at.j); },
                    learned(concat(copies, 1)));
              },
          .mask = BlockMask::causal};
}

}  // namespace

TEST_CASE("a check comes to what only far pairs read", "[mechanism]") {
  const Checked good = check(repeating([](const Tensor& table) { return table; }));
  CHECK(good.ok);
  CHECK_THAT(good.text, ContainsSubstring("(query 4, key 4, value 4, w 132); plain ops"));
  CHECK_THAT(good.text, !ContainsSubstring("reached by no"));
  const Checked cut = check(repeating([](const Tensor& table) { return table.detach(); }));
  CHECK_FALSE(cut.ok);
  CHECK_THAT(cut.text, ContainsSubstring("repeating at 40 words: FAILED"));
}

TEST_CASE("a check says what of a table it did not reach", "[mechanism]") {
  kit::Mechanism wide{.name = "wide",
                      .learned = {{"w", {4, 200}, normal(1)}},
                      .score_mod =
                          [](const Values& p, Size queries, Size keys) {
                            const auto first = static_cast<double>(keys - queries);
                            return score_mod(
                                [first](auto s, auto at, auto w) { return s + w(at.h, at.i + first - at.j); },
                                learned(p[0]));
                          },
                      .mask = BlockMask::causal};
  const Checked found = check(wide);
  CHECK(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("w: 200 of 800 numbers were reached by no checked text"));
}

TEST_CASE("a check names what is learned without a gradient, or for nothing", "[mechanism]") {
  kit::Mechanism forgot{.name = "forgot", .learned = {{"gain", {4}, constant(1)}}};
  forgot.score_mod = [](const Values& p, Size, Size) {
    return score_mod([](auto s, auto at, auto gain) { return s * gain(at.h); }, p[0]);
  };
  Checked found = check(forgot);
  CHECK_FALSE(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("wrap it in learned() to train it"));

  forgot.score_mod = [](const Values&, Size, Size) { return score_mod([](auto s, auto) { return 2 * s; }); };
  found = check(forgot);
  CHECK_FALSE(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("gain has no influence on the result"));
}

TEST_CASE("a mechanism may be blind to queries and keys, and a check says so", "[mechanism]") {
  kit::Mechanism blind{.name = "blind", .learned = {{"w", {4, 8}, normal(1)}}};
  blind.score_mod = [](const Values& p, Size, Size) {
    return score_mod([](auto, auto at, auto w) { return w(at.h, min(at.j, 7)); }, learned(p[0]));
  };
  const Checked found = check(blind);
  CHECK(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("query has no influence on the result"));
}

TEST_CASE("a check sees weights outside the mask", "[mechanism]") {
  kit::Mechanism leaks{.name = "leaks", .mask = BlockMask::causal};
  leaks.normalise = [](const Tensor& scores, const Mask&) { return softmax(scores, -1); };
  const Checked found = check(leaks);
  CHECK_FALSE(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("a normaliser must give a masked pair the weight 0, got"));
}

TEST_CASE("a check sees masked scores in a sum", "[mechanism]") {
  kit::Mechanism leaks{.name = "leaks", .mask = BlockMask::causal};
  leaks.normalise = [](const Tensor& scores, const Mask& mask) {
    const Tensor large = exp(scores);
    return zero_masked(mask, large) / sum(large, {-1}, Keep::yes);
  };
  Checked found = check(leaks);
  CHECK_FALSE(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("is a masked score in a sum?"));
  leaks.normalise = [](const Tensor& scores, const Mask& mask) {
    const Tensor large = zero_masked(mask, exp(zero_masked(mask, scores)));
    return large / sum(large, {-1}, Keep::yes);
  };
  found = check(leaks);
  CHECK(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("leaks: nothing outside the mask"));
}

TEST_CASE("a query that may attend to nothing is said, and no failure", "[mechanism]") {
  const Checked found =
      check({.name = "earlier", .mask = [](Size queries, Size keys) {
               return BlockMask::where(queries, keys, [=](QueryKey p) { return p.j < p.i + keys - queries; });
             }});
  CHECK(found.ok);
  CHECK_THAT(found.text,
             ContainsSubstring("query 0 has no visible key, so its context is 0; is this intended?"));
}

TEST_CASE("a mask may leave short texts without a pair", "[mechanism]") {
  const Checked found = check({.name = "seventh", .mask = [](Size queries, Size keys) {
                                 return BlockMask::where(queries, keys, [=](QueryKey p) {
                                   const Size distance = p.i + keys - queries - p.j;
                                   return distance > 0 && distance % 7 == 6;
                                 });
                               }});
  CHECK(found.ok);
  CHECK_THAT(found.text, !ContainsSubstring("has no influence"));
}

TEST_CASE("looks_ahead() names the first query that sees what is behind it", "[mechanism]") {
  const auto ahead = [](bool (*may)(Size i, Size j)) {
    return kit::looks_ahead({.name = "any",
                             .mask =
                                 [may](Size queries, Size keys) {
                                   return BlockMask::where(queries, keys,
                                                           [may](QueryKey p) { return may(p.i, p.j); });
                                 }},
                            16);
  };
  CHECK_FALSE(ahead([](Size i, Size j) { return j <= i; }));
  const auto found = ahead([](Size i, Size j) { return j <= i || (i == 5 && j == 9); });
  REQUIRE(found);
  CHECK(found->query == 5);
  CHECK(found->key == 9);
  const auto last = ahead([](Size i, Size j) { return j <= i || (i == 14 && j == 15); });
  REQUIRE(last);
  CHECK(last->query == 14);
  CHECK(last->key == 15);
}

TEST_CASE("looks_ahead() sees a query that changes only with several keys at once", "[mechanism]") {
  constexpr Size kWords = 16;
  kit::Mechanism both{.name = "both"};
  const Tensor usual = kit::random_inputs(both, kWords, 1, DType::f64)[2];
  // The context is the value, and of query 5 also a product that is 0 while key 9 or key 11 is the usual one.
  both.ops = [&](const Tensor&, const Tensor&, const Tensor& value, const Values&) {
    const Tensor change = value - usual;
    const Tensor product = slice(change, 2, 9, 10) * slice(change, 2, 11, 12);
    return concat({slice(value, 2, 0, 5), slice(value, 2, 5, 6) + product, slice(value, 2, 6, kWords)}, 2);
  };
  const auto found = kit::looks_ahead(both, kWords);
  REQUIRE(found);
  CHECK(found->query == 5);
  CHECK(found->key == 6);  // the first that it should not see: which ones it is cannot be said
}

TEST_CASE("a check sees tiles whose gradient alone differs from plain ops", "[mechanism]") {
  // A rectifier at exactly 0: as a maximum it has half a slope there, as a choice none.
  kit::Mechanism kink{.name = "kink", .learned = {{"w", {4}, constant(1)}}, .mask = BlockMask::causal};
  const Tensor usual = kit::random_inputs(kink, 6, 1, DType::f64)[3].detach();
  kink.score_mod = [usual](const Values& p, Size, Size) {
    return score_mod(
        [](auto s, auto at, auto w, auto w0) {
          const auto x = w(at.h) - w0(at.h);
          if constexpr (std::is_same_v<decltype(s), Symbol>) {
            return s + at.j * max(x, 0.0);
          } else {
            return s + at.j * select(x > 0.0, x, 0.0);
          }
        },
        learned(p[0]), usual);
  };
  const Checked found = check(kink);
  CHECK_FALSE(found.ok);
  CHECK_THAT(found.text, ContainsSubstring("6 words: tiles and plain ops are "));
}

TEST_CASE("a map of weights counts in even shares of what a row sees, and hides no row's sum",
          "[mechanism]") {
  const kit::Heatmap map = kit::weights_map(
      "four", tensor({{1, 0, 0, 0}, {0.25, 0.25, 0.25, 0.25}, {0.1, 0.1, 0, -0.1}, {0.9, 0.05, 0.05, 0}},
                     DType::f64));
  CHECK(map.rows.size() == 4);
  CHECK(map.columns.size() == 4);
  CHECK(map.share(0, 0) == Approx(1.0 / 3));  // all of one key, a quarter of each of four: an even share
  CHECK(map.share(0, 1) == 0);
  CHECK(map.share(1, 0) == Approx(1.0 / 3));
  CHECK(map.share(2, 0) == Approx(0.1));  // three keys; the row has a tenth in all, and looks it
  CHECK(map.share(2, 3) == 0);            // below 0
  CHECK(map.share(3, 0) == Approx(0.9));  // 2.7 even shares
  CHECK(map.least == 0);
  CHECK(map.most == 3);
  CHECK_THAT(kit::kWeightsMapScale, ContainsSubstring("from 0 to 3"));
}

TEST_CASE("a check sees a score that forgets where query 0 stands", "[mechanism]") {
  const auto near = [](bool knows) {
    return kit::Mechanism{
        .name = "near",
        .score_mod =
            [knows](const Values&, Size queries, Size keys) {
              const double first = knows ? static_cast<double>(keys - queries) : 0;
              return score_mod([first](auto s, auto at) { return s - 0.1 * abs(at.i + first - at.j); });
            },
        .mask = BlockMask::causal};
  };
  const Checked good = check(near(true));
  CHECK(good.ok);
  CHECK_THAT(good.text, ContainsSubstring("near: the same with a cache of keys"));
  const Checked forgot = check(near(false));
  CHECK_FALSE(forgot.ok);
  CHECK_THAT(forgot.text, ContainsSubstring("the last 1 of 40 queries alone have another result"));
  const Checked mask = check({.name = "square", .mask = [](Size queries, Size keys) {
                                return BlockMask::where(queries, keys, [](QueryKey p) { return p.j <= p.i; });
                              }});
  CHECK_FALSE(mask.ok);
  // A table that ends is read outside of it: said in its own words, and no exception.
  const Checked table =
      check({.name = "table",
             .learned = {{"w", {4, 150}, normal(1)}},
             .score_mod =
                 [](const Values& p, Size, Size) {
                   return score_mod([](auto s, auto at, auto w) { return s + w(at.h, at.i - at.j); },
                                    learned(p[0]));
                 },
             .mask = BlockMask::causal});
  CHECK_FALSE(table.ok);
  CHECK_THAT(table.text, ContainsSubstring("index -1 is outside axis 1"));
}

TEST_CASE("a time names tiles only where it knows of them", "[mechanism]") {
  const kit::Mechanism tiles{.name = "tiles"};
  CHECK_THAT(kit::timing(tiles, 16),
             ContainsSubstring("ms in tiles, ") && ContainsSubstring("from plain ops"));
  const kit::Mechanism normaliser{.name = "normaliser", .normalise = softmax_weights};
  CHECK_THAT(kit::timing(normaliser, 16), ContainsSubstring("ms by ops (a normaliser has no tiles)"));
  // It calls attend(): that it does so without tiles would be wrong, and nobody can know.
  const kit::Mechanism own{.name = "own",
                           .ops = [](const Tensor& q, const Tensor& k, const Tensor& v, const Values&) {
                             return attend(q, k, v);
                           }};
  CHECK_THAT(kit::timing(own, 16), !ContainsSubstring("ops") && !ContainsSubstring("tiles"));
}
