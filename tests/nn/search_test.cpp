// The searches against their definitions, on models whose next word depends on all words before it: who
// follows a wrong row, takes too few candidates or stops a step early or late writes something else.
#include <array>
#include <limits>

#include "nn/decode.hpp"
#include "nn/sample.hpp"
#include "tests/nn/golden.hpp"
#include "tests/nn/plain_search.hpp"

using namespace tapestry;
using testing::Ids;
using testing::NextWord;
using testing::PlainResult;

namespace {

constexpr std::int64_t kEndWord = 3;

/// Probabilities drawn anew for each sentence and each text.
struct Oracle {
  std::uint64_t seed;
  Size vocabulary;
  double sharpness, end_bias;

  std::vector<double> log_probabilities(std::int64_t first_word, const Ids& words) const {
    std::string name = std::to_string(first_word);
    for (const std::int64_t id : words) name += "," + std::to_string(id);
    const Stream stream(seed, hash_of(name));
    std::vector<double> scores;
    double total = 0;
    for (Size id = 0; id < vocabulary; ++id) {
      scores.push_back(sharpness * stream.normal(static_cast<std::uint64_t>(id)) +
                       (id == kEndWord ? end_bias : 0));
      total += std::exp(scores.back());
    }
    for (double& score : scores) score -= std::log(total);
    return scores;
  }
  NextWord after(std::int64_t first_word) const {
    return [this, first_word](const std::vector<Ids>& prefixes) {
      std::vector<std::vector<double>> all;
      for (const Ids& words : prefixes) all.push_back(log_probabilities(first_word, words));
      return all;
    };
  }
};

/// The oracle for several sentences, told apart by the word that goes in first. A row looks at places that
/// tell its text: (the first word, how many words came before, the last of them).
class Told final : public AutoregressiveModel {
 public:
  Told(const Oracle& oracle, Size sentences) : oracle_(oracle), texts_(static_cast<std::size_t>(sentences)) {}
  Size rows() const override { return static_cast<Size>(texts_.size()); }
  Step step(const Indices& words) override {
    const Ids ids = words.to_vector();
    REQUIRE(ids.size() == texts_.size());
    std::vector<double> logits, alignment;
    for (std::size_t row = 0; row < ids.size(); ++row) {
      texts_[row].push_back(ids[row]);
      const Ids& text = texts_[row];
      for (const double value : oracle_.log_probabilities(text[0], Ids(text.begin() + 1, text.end())))
        logits.push_back(value + 1.5);
      alignment.insert(alignment.end(), {static_cast<double>(text[0]), static_cast<double>(text.size() - 1),
                                         static_cast<double>(text.back())});
    }
    return {tensor(logits, {rows(), oracle_.vocabulary}, DType::f64),
            tensor(alignment, {rows(), 3}, DType::f64)};
  }
  void reorder_rows(const std::vector<Size>& rows) override {
    std::vector<Ids> kept;
    for (const Size row : rows) kept.push_back(texts_.at(static_cast<std::size_t>(row)));
    texts_ = kept;
  }

 private:
  const Oracle& oracle_;
  std::vector<Ids> texts_;
};

void check_told(const Decoded& found, const PlainResult& wanted, std::int64_t first_word,
                double digits = 1e-11) {
  REQUIRE(found.ids == wanted.ids);
  CHECK(found.ended == wanted.ended);
  CHECK(found.log_probability == Approx(wanted.log_probability).epsilon(digits));
  CHECK(found.score == Approx(wanted.score).epsilon(digits));
  REQUIRE(found.alignment.size() == found.ids.size());
  for (std::size_t t = 0; t < found.ids.size(); ++t)
    CHECK(found.alignment[t] == std::vector<double>{static_cast<double>(first_word), static_cast<double>(t),
                                                    static_cast<double>(t ? found.ids[t - 1] : first_word)});
}

}  // namespace

TEST_CASE("searches of several sentences find what a plain search of each finds") {
  const std::vector<std::int64_t> first{0, 1, 2, 5, 4};
  std::size_t beams_differ = 0, cut_off = 0, cases = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const double power : {0.0, 0.6, 1.5, 3.0})  // what is long may win late
      for (const Size beam : {1, 2, 3, 5}) {
        const Oracle oracle{seed, seed % 2 ? 6 : 9,
                            seed % 3 == 0   ? 0.5
                            : seed % 3 == 1 ? 1.5
                                            : 3.0,
                            seed % 4 == 0   ? -2.0
                            : seed % 4 == 1 ? 0.5
                                            : 1.5};
        const SearchOptions how{.first = first,
                                .end = kEndWord,
                                .max_length = seed % 5 ? 9 : 3,
                                .beam = beam,
                                .length_power = power};
        Told for_greedy(oracle, 5), for_beam(oracle, 5);
        const auto by_greedy = greedy(for_greedy, how), by_beam = beam_search(for_beam, how);
        for (std::size_t i = 0; i < first.size(); ++i) {
          CAPTURE(seed, power, beam, i);
          const PlainResult alone = testing::plain_greedy(oracle.after(first[i]), how),
                            wide = testing::plain_beam(oracle.after(first[i]), how);
          check_told(by_greedy[i], alone, first[i]);
          check_told(by_beam[i], wide, first[i]);
          if (beam == 1) CHECK(by_beam[i].ids == by_greedy[i].ids);
          beams_differ += alone.ids != wide.ids;
          cut_off += !wide.ended;
          ++cases;
        }
      }
  // Or nothing was tried.
  CHECK(beams_differ > cases / 10);
  CHECK(cut_off > cases / 100);
}

TEST_CASE("where all words are equally likely, the earliest goes first") {
  class Even final : public AutoregressiveModel {
   public:
    explicit Even(Size rows) : rows_(rows) {}
    Size rows() const override { return rows_; }
    Step step(const Indices&) override { return {zeros({rows_, 40}), {}}; }
    void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

   private:
    Size rows_;
  };
  const SearchOptions how{.begin = 1, .end = 39, .max_length = 4, .beam = 3, .length_power = 0};
  Even a(2), b(2), c(2), d(1);
  for (const Decoded& found : greedy(a, how)) CHECK(found.ids == Ids{0, 0, 0, 0});
  for (const Decoded& found : beam_search(b, how)) CHECK(found.ids == Ids{0, 0, 0, 0});
  for (const Decoded& found : sample(c, {.begin = 1, .end = 39, .max_length = 4, .temperature = 0}))
    CHECK(found.ids == Ids{0, 0, 0, 0});
  // A sentence that ends where it begins: the first that ended stays the best of equals.
  const auto ended = beam_search(d, {.begin = 1, .end = 0, .max_length = 4, .beam = 3, .length_power = 0});
  CHECK((ended[0].ended && ended[0].ids.empty()));
}

TEST_CASE("of sentences that end with equal scores the first stays") {
  // Two words that are equally likely, after both of which the sentence ends.
  class Twins final : public AutoregressiveModel {
   public:
    Size rows() const override { return rows_; }
    Step step(const Indices&) override {
      const double never = -std::numeric_limits<double>::infinity();
      std::vector<double> logits;
      for (Size row = 0; row < rows_; ++row)
        for (const double one : step_ == 0 ? std::array{never, 0.0, 0.0} : std::array{0.0, never, never})
          logits.push_back(one);
      ++step_;
      return {tensor(logits, {rows_, 3}, DType::f64), {}};
    }
    void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

   private:
    Size rows_ = 1, step_ = 0;
  };
  for (const Size beam : {1, 2, 4}) {
    Twins model;
    const auto found = beam_search(model, {.begin = 1, .end = 0, .max_length = 6, .beam = beam});
    CHECK(found[0].ids == Ids{1});
    CHECK(found[0].ended);
  }
}

TEST_CASE("a word of probability 0, or one that is not a number, is never written") {
  class Gaps final : public AutoregressiveModel {
   public:
    Size rows() const override { return rows_; }
    Step step(const Indices&) override {
      const double never = -std::numeric_limits<double>::infinity();
      std::vector<double> logits;
      for (Size row = 0; row < rows_; ++row)
        for (const double one : {never, never, 0.5, never, 0.25, never}) logits.push_back(one);
      return {tensor(logits, {rows_, 6}, DType::f64), {}};
    }
    void reorder_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

   private:
    Size rows_ = 1;
  };
  for (const Size beam : {1, 2, 5}) {
    Gaps model;
    const auto found = beam_search(model, {.end = 3, .max_length = 6, .beam = beam});
    CHECK(found[0].ids == Ids{2, 2, 2, 2, 2, 2});
    CHECK_FALSE(found[0].ended);
  }
  Gaps drawn;
  const auto words = sample(drawn, {.end = 3, .max_length = 60});
  CHECK(words[0].ids.size() == 60);
  for (const std::int64_t id : words[0].ids) CHECK((id == 2 || id == 4));
}
