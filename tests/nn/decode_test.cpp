// Greedy decoding and beam search: on a model whose best sentences are known by counting, and on a
// translator.
#include "nn/decode.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "nn/seq2seq/seq2seq.hpp"
#include "tests/nn/golden.hpp"

using namespace tapestry;

namespace {

constexpr std::int64_t kBegin = 0, kEnd = 1;

/// A Markov chain over words for each row: P(next | last) is a table. Row r looks at source place r.
class Chain final : public AutoregressiveModel {
 public:
  Chain(std::vector<std::vector<std::vector<double>>> tables) : tables_(std::move(tables)) {
    for (std::size_t i = 0; i < tables_.size(); ++i) rows_.push_back(static_cast<Size>(i));
  }
  Size rows() const override { return static_cast<Size>(rows_.size()); }
  Step step(const Indices& words) override {
    const auto ids = words.to_vector();
    REQUIRE(ids.size() == rows_.size());
    std::vector<double> logits, alignment;
    Size vocabulary = 0;
    for (std::size_t r = 0; r < ids.size(); ++r) {
      const auto& row = tables_[static_cast<std::size_t>(rows_[r])][static_cast<std::size_t>(ids[r])];
      vocabulary = static_cast<Size>(row.size());
      for (double p : row) logits.push_back(std::log(p) + 3.25);
      for (std::size_t j = 0; j < tables_.size(); ++j)
        alignment.push_back(static_cast<Size>(j) == rows_[r] ? 1 : 0);
    }
    const Size n = rows();
    return {tensor(logits, {n, vocabulary}, DType::f64),
            tensor(alignment, {n, static_cast<Size>(tables_.size())}, DType::f64)};
  }
  void reorder_rows(const std::vector<Size>& rows) override {
    std::vector<Size> kept;
    for (Size row : rows) kept.push_back(rows_.at(static_cast<std::size_t>(row)));
    rows_ = kept;
  }

 private:
  std::vector<std::vector<std::vector<double>>> tables_;
  std::vector<Size> rows_;
};

// Words: begin, end, a, b. Greedy takes a (0.6), whose ends are poor; the best whole sentence is b.
const std::vector<std::vector<double>> kTrap{
    {0.0, 0.0, 0.6, 0.4}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.34, 0.33, 0.33}, {0.0, 0.9, 0.05, 0.05}};
// Straight on: a, b, end.
const std::vector<std::vector<double>> kPlain{
    {0.0, 0.1, 0.8, 0.1}, {0.0, 1.0, 0.0, 0.0}, {0.0, 0.1, 0.1, 0.8}, {0.0, 0.8, 0.1, 0.1}};

SearchOptions options(Size beam, double power = 0) {
  return {.begin = kBegin, .end = kEnd, .max_length = 6, .beam = beam, .length_power = power};
}

/// The best sentence of a chain among all of up to `words` words, by counting them.
void best_of_all(const std::vector<std::vector<double>>& table, Size words, double power,
                 std::vector<std::int64_t>& prefix, double log_p, double& best,
                 std::vector<std::int64_t>& best_ids) {
  const auto last = static_cast<std::size_t>(prefix.empty() ? kBegin : prefix.back());
  const double n = static_cast<double>(prefix.size()) + 1;
  const double whole = (log_p + std::log(table[last][kEnd])) / std::pow((5 + n) / 6, power);
  if (whole > best) {
    best = whole;
    best_ids = prefix;
  }
  if (static_cast<Size>(prefix.size()) + 1 >= words) return;
  for (std::int64_t id : {2, 3}) {
    prefix.push_back(id);
    best_of_all(table, words, power, prefix, log_p + std::log(table[last][static_cast<std::size_t>(id)]),
                best, best_ids);
    prefix.pop_back();
  }
}

TranslatorOptions small_options() {
  TranslatorOptions options;
  options.encoder = {.vocabulary = 12, .embedding = 5, .hidden = 6};
  options.decoder = {.vocabulary = 11, .embedding = 5, .hidden = 7, .attention = 8, .readout = 9};
  return options;
}

void check_same(const std::vector<Decoded>& a, const std::vector<Decoded>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("sentence " << i);
    CHECK(a[i].ids == b[i].ids);
    CHECK(a[i].ended == b[i].ended);
    CHECK(a[i].score == Approx(b[i].score).epsilon(1e-10));
    REQUIRE(a[i].alignment.size() == a[i].ids.size());
    REQUIRE(b[i].alignment.size() == a[i].alignment.size());
    for (std::size_t t = 0; t < a[i].alignment.size(); ++t)
      for (std::size_t j = 0; j < a[i].alignment[t].size(); ++j)
        CHECK(a[i].alignment[t][j] == Approx(b[i].alignment[t][j]).margin(1e-10));
  }
}

}  // namespace

TEST_CASE("greedy follows the likeliest word, and a beam finds what it misses") {
  Chain for_greedy({kTrap, kPlain}), for_beam({kTrap, kPlain});
  const auto by_greedy = greedy(for_greedy, options(1));
  CHECK(by_greedy[0].ids == std::vector<std::int64_t>{2});
  CHECK(by_greedy[0].log_probability == Approx(std::log(0.6 * 0.34)));
  CHECK(by_greedy[1].ids == std::vector<std::int64_t>{2, 3});
  CHECK(by_greedy[1].ended);
  const auto by_beam = beam_search(for_beam, options(2));
  CHECK(by_beam[0].ids == std::vector<std::int64_t>{3});
  CHECK(by_beam[0].log_probability == Approx(std::log(0.4 * 0.9)));
  CHECK(by_beam[1].ids == std::vector<std::int64_t>{2, 3});
  // Each sentence looked at its own place, whatever rows it lived in.
  CHECK(by_beam[0].alignment == std::vector<std::vector<double>>{{1, 0}});
  CHECK(by_beam[1].alignment == std::vector<std::vector<double>>{{0, 1}, {0, 1}});
}

TEST_CASE("a wide beam finds the best of all sentences") {
  const double power = GENERATE(0.0, 0.6, 1.0, 2.0);
  for (const auto& table : {kTrap, kPlain}) {
    Chain chain({table});
    const auto found = beam_search(chain, options(200, power));
    double best = -1e9;
    std::vector<std::int64_t> prefix, ids;
    best_of_all(table, 6, power, prefix, 0, best, ids);
    CHECK(found[0].score == Approx(best));
    CHECK(found[0].ids == ids);
  }
}

TEST_CASE("a sentence that does not end is cut off at max_length") {
  const std::vector<std::vector<double>> endless{
      {0.0, 0.0, 1.0, 0.0}, {0.0, 1.0, 0.0, 0.0}, {0.0, 1e-9, 0.9, 0.1}, {0.0, 1e-9, 0.5, 0.5}};
  Chain a({endless}), b({endless});
  const auto by_greedy = greedy(a, options(1));
  CHECK_FALSE(by_greedy[0].ended);
  CHECK(by_greedy[0].ids == std::vector<std::int64_t>(6, 2));
  CHECK(beam_search(b, options(1))[0].ids == by_greedy[0].ids);
}

TEST_CASE("a model whose logits are NaN has no likeliest word: no search invents one") {
  class Broken final : public AutoregressiveModel {
   public:
    Size rows() const override { return 2; }
    Step step(const Indices&) override { return {tensor({{0, 1, 2}, {0, std::nan(""), 2}}, DType::f64), {}}; }
    void reorder_rows(const std::vector<Size>&) override {}
  } model;
  using Catch::Matchers::ContainsSubstring;
  const auto told = ContainsSubstring("the logits of sentence 1");
  CHECK_THROWS_WITH(greedy(model, options(1)), ContainsSubstring("[greedy]") && told);
  CHECK_THROWS_WITH(beam_search(model, options(2)), ContainsSubstring("[beam_search]") && told);
}

TEST_CASE("a search writes a word at least, and follows one sentence at least") {
  Chain chain({kPlain});
  using Catch::Matchers::ContainsSubstring;
  for (const auto& [words, beam] : {std::pair<Size, Size>{0, 1}, {-1, 1}, {6, 0}, {6, -2}}) {
    SearchOptions how = options(beam);
    how.max_length = words;
    const auto told = ContainsSubstring(fmt::format("at least 1, got {} and {}", words, beam));
    CHECK_THROWS_WITH(greedy(chain, how), told);
    CHECK_THROWS_WITH(beam_search(chain, how), told);
  }
  SearchOptions one = options(1);
  one.max_length = 1;
  CHECK(greedy(chain, one).front().ids.size() == 1);
}

TEST_CASE("a search refuses a tape and a model in training mode") {
  Chain chain({kPlain});
  {
    Tape tape;
    CHECK_THROWS_AS(greedy(chain, options(1)), Error);
    CHECK_THROWS_AS(beam_search(chain, options(1)), Error);
  }
  Translator translator(small_options());
  translator.initialise(1);
  CHECK_THROWS_AS(translator.begin(Indices{4, 5}.reshape({1, 2}), {2}), Error);
}

TEST_CASE("a translator: a beam of 1 is greedy, and a batch gives what its sentences give alone") {
  Translator translator(small_options());
  const auto seed = GENERATE(std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3});
  translator.initialise(seed, DType::f64);
  for (const Tensor& leaf : translator.parameters()) {
    Tensor target = leaf;
    assign(target, leaf.detach() * 2.5);
  }
  translator.eval();
  const std::vector<std::int64_t> ids{4, 7, 3, 0, 0, 5, 6, 8, 9, 3, 10, 3, 0, 0, 0};
  const Indices source(ids, {3, 5});
  const std::vector<Size> lengths{3, 5, 2};
  const SearchOptions one{.begin = 2, .end = 3, .max_length = 12, .beam = 1};
  SearchOptions four = one;
  four.beam = 4;
  const auto search = [&](const Indices& x, const ValidLengths& n, const SearchOptions& how, bool use_beam) {
    const auto model = translator.begin(x, n);
    return use_beam ? beam_search(*model, how) : greedy(*model, how);
  };
  const auto by_greedy = search(source, ValidLengths(lengths), one, false);
  check_same(by_greedy, search(source, ValidLengths(lengths), one, true));
  const auto by_beam = search(source, ValidLengths(lengths), four, true);
  for (Size i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Size n = lengths[at];
    const std::vector<std::int64_t> alone(ids.begin() + 5 * i, ids.begin() + 5 * i + n);
    auto single = search(Indices(alone, {1, n}), ValidLengths{n}, four, true);
    for (auto& row : single[0].alignment) row.resize(5);
    check_same({by_beam[at]}, single);
    for (const auto& row : by_beam[at].alignment) {
      double total = 0;
      for (std::size_t j = 0; j < row.size(); ++j) total += row[j];
      CHECK(total == Approx(1));
    }
  }
}
