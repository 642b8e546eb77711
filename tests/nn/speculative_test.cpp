// Speculative decoding on models that are tables: the words have exactly the target's distribution.
#include "nn/speculative.hpp"

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "tests/message_of.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/plain_search.hpp"

using namespace tapestry;
using test::message_of;
using testing::Ids;

namespace {

constexpr Size kWords = 5;
using Row = std::array<double, kWords>;

/// P(next | the last two words), drawn from a seed; `only` keeps the words of one parity alone (0, 1), or all (−1).
Row chances(std::uint64_t seed, std::int64_t before, std::int64_t last, double flatness, int only) {
  const Stream stream(seed, static_cast<std::uint64_t>(1 + before) * 64 + static_cast<std::uint64_t>(last));
  Row row{};
  double total = 0;
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (only >= 0 && id % 2 != static_cast<std::size_t>(only)) continue;
    total += row[id] = flatness + stream.uniform(id) * stream.uniform(100 + id);
  }
  for (double& p : row) p /= total;
  return row;
}

struct Tabled final : VerifiableModel {
  std::uint64_t seed = 1;
  double flatness = 0.05;
  int only = -1;
  Ids words;
  std::vector<Size> parents;
  Size vocabulary = kWords;

  explicit Tabled(std::uint64_t s, double f = 0.05, int o = -1) : seed(s), flatness(f), only(o) {}

  Size length() const override { return static_cast<Size>(words.size()); }
  Tensor extend(const Ids& added, const std::vector<Size>& after) override {
    REQUIRE(added.size() == after.size());
    std::vector<double> logits;
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (after[i] >= length()) FAIL("a parent must come before its child");
      words.push_back(added[i]);
      parents.push_back(after[i]);
      const std::int64_t before = after[i] < 0 ? -1 : words[static_cast<std::size_t>(after[i])];
      for (const double p : chances(seed, before, added[i], flatness, only))
        logits.push_back(std::log(p) + 2);
      for (Size extra = kWords; extra < vocabulary; ++extra) logits.push_back(-50);
    }
    return tensor(logits, {static_cast<Size>(added.size()), vocabulary}, DType::f64);
  }
  void keep(Size count, const std::vector<Size>& path) override {
    REQUIRE(count <= length());
    Ids kept(words.begin(), words.begin() + count);
    Size last = count - 1;
    for (const Size position : path) {
      if (parents.at(static_cast<std::size_t>(position)) != last) FAIL("the kept words must form one text");
      kept.push_back(words[static_cast<std::size_t>(position)]);
      last = position;
    }
    words = kept;
    parents.clear();
    for (Size i = 0; i < length(); ++i) parents.push_back(i - 1);
  }
};

/// P after temperature, top-k and top-p, by their definitions.
Row filtered(Row p, const SamplingOptions& how) {
  double total = 0;
  for (double& x : p) total += x = x > 0 ? std::pow(x, 1 / how.temperature) : 0;
  for (double& x : p) x /= total;
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  if (how.top_k > 0) {
    double kept = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      i < static_cast<std::size_t>(how.top_k) ? kept += p[order[i]] : p[order[i]] = 0;
    for (double& x : p) x /= kept;
  }
  double sum = 0, kept = 0;
  for (const std::size_t id : order) {
    if (sum >= how.top_p) p[id] = 0;
    sum += p[id];
    kept += p[id];
  }
  for (double& x : p) x /= kept;
  return p;
}

struct Fit {
  double chi2 = 0, freedom = 0;
  SpeculationStatistics counts;
};

/// χ² of the words of many short texts, each after its two words, against the target's table.
Fit fit(const Tabled& target, Draft& draft, SamplingOptions how, int texts) {
  Fit result;
  std::map<std::pair<std::int64_t, std::int64_t>, Row> seen;
  for (int i = 0; i < texts; ++i) {
    Tabled model = target;
    how.seed = static_cast<std::uint64_t>(i) + 1000;
    const Ids prompt{1, 2, static_cast<std::int64_t>(i % kWords)};
    const Speculated found = speculate(model, draft, prompt, how);
    REQUIRE(found.text.ids.size() == static_cast<std::size_t>(how.max_length));
    std::int64_t before = prompt[1], last = prompt[2];
    for (const std::int64_t id : found.text.ids) {
      seen[{before, last}][static_cast<std::size_t>(id)] += 1;
      before = std::exchange(last, id);
    }
    SpeculationStatistics& sum = result.counts;
    const SpeculationStatistics& one = found.statistics;
    sum.drafted += one.drafted, sum.judged += one.judged, sum.accepted += one.accepted;
    sum.passes += one.passes, sum.generated += one.generated;
  }
  for (const auto& [context, row] : seen) {
    const Row p =
        filtered(chances(target.seed, context.first, context.second, target.flatness, target.only), how);
    double total = 0;
    for (const double count : row) total += count;
    if (total < 200) continue;
    result.freedom -= 1;
    for (std::size_t id = 0; id < row.size(); ++id) {
      if (p[id] == 0) {
        CHECK(row[id] == 0);
        continue;
      }
      result.chi2 += (row[id] - total * p[id]) * (row[id] - total * p[id]) / (total * p[id]);
      result.freedom += 1;
    }
  }
  return result;
}

/// Four standard deviations of χ²: a right sampler fails once in some 10⁴ seeds, and the seeds are fixed.
void check_fit(const Fit& found) {
  INFO("χ² " << found.chi2 << " at " << found.freedom << " degrees, acceptance "
             << found.counts.acceptance());
  CHECK(found.freedom > 10);
  CHECK(found.chi2 < found.freedom + 4 * std::sqrt(2 * found.freedom));
  CHECK(found.counts.generated >= 100000);
}

struct Fixed final : Draft {
  Ids words;
  explicit Fixed(Ids w) : words(std::move(w)) {}
  Proposal propose(const Ids&, Size, const SamplingOptions&, UniformDraws&) override {
    std::vector<Size> parents;
    for (std::size_t i = 0; i < words.size(); ++i) parents.push_back(static_cast<Size>(i) - 1);
    return {words, parents, std::vector<std::vector<double>>(words.size())};
  }
};

const SamplingOptions kUnfiltered{.max_length = 100};

}  // namespace

TEST_CASE("speculation keeps the target's distribution: a smaller model, and a tree of drafts",
          "[unsanitized]") {
  const auto branches = GENERATE(std::vector<Size>{1, 1, 1}, std::vector<Size>{3, 2});
  const Tabled target(1);
  {
    Tabled other(2);
    ModelDraft draft(other, branches);
    check_fit(fit(target, draft, kUnfiltered, 1000));
  }
  SamplingOptions how = kUnfiltered;
  how.temperature = 0.7;
  how.top_k = 4;
  how.top_p = 0.8;
  Tabled near(3, 0.5);
  ModelDraft draft(near, branches);
  check_fit(fit(target, draft, how, 1000));
}

TEST_CASE("speculation keeps the target's distribution: n-grams of the prompt", "[unsanitized]") {
  PromptLookup draft(2, 4);
  const Fit found = fit(Tabled(1), draft, kUnfiltered, 1000);
  check_fit(found);
  CHECK(found.counts.accepted > 5000);
}

TEST_CASE("a draft equal to the target is always accepted, and a disjoint one never", "[unsanitized]") {
  const Tabled target(1);
  Tabled same(1);
  ModelDraft equal(same, {1, 1, 1});
  const Fit all = fit(target, equal, kUnfiltered, 1000);
  check_fit(all);
  CHECK(all.counts.accepted == all.counts.drafted);
  CHECK(all.counts.passes == 25 * 1000);  // four words a pass
  CHECK(all.counts.tokens_per_pass() == Approx(expected_tokens_per_pass(1, 3)));

  const Tabled even(1, 0.05, 0);
  Tabled odd(1, 0.05, 1);
  ModelDraft disjoint(odd, {1, 1});
  const Fit none = fit(even, disjoint, kUnfiltered, 1000);
  check_fit(none);
  CHECK(none.counts.accepted == 0);
  CHECK(none.counts.passes == none.counts.generated);
}

TEST_CASE("the formula predicts the words per pass where acceptance is independent", "[unsanitized]") {
  // Flat tables: a fixed guess is accepted with the same probability everywhere.
  Tabled flat(1, 1e9);
  Fixed draft({0, 1, 2, 3});
  SamplingOptions how = kUnfiltered;
  how.max_length = 200;
  const SpeculationStatistics counts = fit(flat, draft, how, 500).counts;
  CHECK(counts.acceptance() == Approx(0.2).margin(0.01));
  CHECK(counts.tokens_per_pass() == Approx(expected_tokens_per_pass(0.2, 4)).epsilon(0.02));
  CHECK(expected_tokens_per_pass(0.5, 3) == Approx(1.875));
  CHECK(expected_tokens_per_pass(0, 5) == 1);
  CHECK(expected_tokens_per_pass(0.9, 0) == 1);
}

TEST_CASE("greedy speculation writes the words that the table says, for any draft and draft length") {
  const Size k = GENERATE(0, 1, 2, 7, 40);
  const std::uint64_t seed = GENERATE(1u, 2u);
  SamplingOptions how{.end = 3, .max_length = 23, .temperature = 0};
  Ids expected, text{4, 1};
  bool ended = false;
  while (static_cast<Size>(expected.size()) < how.max_length && !ended) {
    const Row p = chances(1, text[text.size() - 2], text.back(), 0.05, -1);
    text.push_back(std::max_element(p.begin(), p.end()) - p.begin());
    ended = text.back() == how.end;
    if (!ended) expected.push_back(text.back());
  }
  for (const Size branches : {1, 2}) {
    if (branches == 2 && k > 7) continue;
    Tabled target(1), small(seed);
    ModelDraft draft(small, std::vector<Size>(static_cast<std::size_t>(k), branches));
    Ids called;
    how.on_token = [&](Size, std::int64_t word) { called.push_back(word); };
    const Speculated found = speculate(target, draft, {4, 1}, how);
    CHECK(found.text.ids == expected);
    CHECK(called == expected);
    CHECK(found.text.ended == ended);
    CHECK(found.statistics.generated == static_cast<Size>(expected.size()) + (ended ? 1 : 0));
    if (k == 0) CHECK(found.statistics.passes == found.statistics.generated);
  }
}

TEST_CASE("an end inside an accepted run ends the text, and no draft writes more than max_length") {
  Tabled target(1);
  const Speculated free =
      speculate(target, *std::make_unique<PromptLookup>(1, 0), {0}, {.max_length = 6, .temperature = 0});
  REQUIRE(free.text.ids.size() == 6);
  Fixed draft(free.text.ids);
  for (Size max = 1; max <= 6; ++max) {
    Tabled again(1);
    const Speculated cut = speculate(again, draft, {0}, {.max_length = max, .temperature = 0});
    CHECK(cut.text.ids == Ids(free.text.ids.begin(), free.text.ids.begin() + max));
    CHECK(cut.statistics.passes == 1);
  }
  const std::int64_t end = free.text.ids[2];
  const auto first = std::find(free.text.ids.begin(), free.text.ids.end(), end);
  Tabled again(1);
  const Speculated ended = speculate(again, draft, {0}, {.end = end, .max_length = 6, .temperature = 0});
  CHECK(ended.text.ids == Ids(free.text.ids.begin(), first));
  CHECK(ended.text.ended);
  CHECK(ended.statistics.passes == 1);
}

TEST_CASE("speculation: one seed, one text; the log-probability is the model's") {
  SamplingOptions how{.max_length = 30, .temperature = 1.5, .top_k = 4, .seed = 7};
  const auto run = [&] {
    Tabled target(1), small(2);
    ModelDraft draft(small, {2, 1});
    return speculate(target, draft, {0, 1}, how);
  };
  const Speculated one = run();
  CHECK(one.text.ids == run().text.ids);
  double log_probability = 0;
  Ids text{0, 1};
  for (const std::int64_t id : one.text.ids) {
    log_probability +=
        std::log(chances(1, text[text.size() - 2], text.back(), 0.05, -1)[static_cast<std::size_t>(id)]);
    text.push_back(id);
  }
  CHECK(one.text.log_probability == Approx(log_probability));
  how.seed = 8;
  CHECK(one.text.ids != run().text.ids);
}

TEST_CASE("prompt look-up proposes what followed the longest match at the latest place") {
  UniformDraws draws{Stream(1, 1)};
  const auto proposed = [&](const Ids& text, Size longest, Size count, Size depth = 99) {
    return PromptLookup(longest, count).propose(text, depth, {}, draws).tokens;
  };
  CHECK(proposed({1, 2, 3, 9, 2, 4, 1, 2}, 2, 2) ==
        Ids{3, 9});  // of two words, before one word's later match
  CHECK(proposed({1, 2, 3, 9, 2, 4, 1, 2}, 1, 2) == Ids{4, 1});
  CHECK(proposed({5, 5}, 3, 4) == Ids{5});
  CHECK(proposed({1, 2, 1}, 2, 9, 1) == Ids{2});
  CHECK(proposed({1, 2, 3}, 2, 4).empty());
  CHECK(proposed({1}, 2, 4).empty());
}

TEST_CASE("speculation: errors") {
  Tabled target(1), small(2);
  PromptLookup draft(2, 2);
  CHECK(message_of([&] { speculate(target, draft, {}, {}); }) ==
        "[speculate] prompt must have at least one word, got none");
  CHECK(message_of([&] {
          speculate(target, draft, {1}, {.first = {1, 2}});
        }) ==
        "[speculate] first must be empty, since one text is generated at a time, got 2 words; pass a prompt");
  CHECK(message_of([&] { speculate(target, draft, {1}, {.temperature = -1}); }) ==
        "[speculate] temperature must be finite and at least 0, got -1");
  small.vocabulary = 6;
  ModelDraft larger(small, {1});
  CHECK(message_of([&] { speculate(target, larger, {1}, {}); }) ==
        "[speculate] the draft must have the target's vocabulary, got 6 and 5 words");
  Fixed outside({5});
  Tabled fresh(1);
  CHECK(message_of([&] { speculate(fresh, outside, {1}, {}); }) ==
        "[speculate] a drafted word must be in the target's vocabulary of 5 words, got 5");
  CHECK(message_of([&] { ModelDraft(fresh, {1}); }) ==
        "[model_draft] the model must be empty, got 2 words; begin a new one");
  Tabled empty(1);
  CHECK(message_of([&] { ModelDraft(empty, {1, 0}); }) == "[model_draft] branches must be at least 1, got 0");
  CHECK(message_of([&] { PromptLookup(0, 1); }) ==
        "[prompt_lookup] longest must be at least 1 and count at least 0, got 0 and 1");
  CHECK(message_of([&] { expected_tokens_per_pass(1.5, 2); }) ==
        "[speculate] acceptance must be in [0, 1] and drafted at least 0, got 1.5 and 2");
}
