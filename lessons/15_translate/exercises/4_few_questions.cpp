// 15.4 few_questions: the likeliest sentence, with few calls of the model
// design, 30 minutes
//
// Write a search that finds the likeliest of all sentences, in at least 95 of 100 little languages, with at
// most 30 calls of next() for a sentence on average. Fewer calls are better: your best search is kept.
//
//     next(words): probabilities of what follows these words: [0] of <end>, [1] … [6] of the words 1 … 6
//
// A sentence's probability is the product of its words' and that of <end>. Behind eight words <end> is
// certain. The result is the words, without <end>. A call is what costs (it stands for a whole step of a
// network); everything else is free. Change whatever you like in the hole.
#include <queue>

#include "lessons/grader/answer.hpp"

using Words = std::vector<int>;
using Next = std::function<std::vector<double>(const Words& words)>;

//[ the search
//: Words search(const Next& next) {
//:   Words words;
//:   while (true) {
//:     const std::vector<double> p = next(words);
//:     const auto likeliest = std::max_element(p.begin(), p.end()) - p.begin();
//:     if (likeliest == 0) return words;
//:     words.push_back(static_cast<int>(likeliest));
//:   }
//: }
struct Beginning {
  double probability = 1;
  Words words = {};
  bool ended = false;
};

double worth(const Beginning& each) {
  return each.probability;  // of any length
}

Words search(const Next& next) {
  std::vector<Beginning> alive = {Beginning{}};
  while (true) {
    auto best = alive.begin();
    for (auto each = alive.begin(); each != alive.end(); ++each)
      if (worth(*each) > worth(*best)) best = each;
    const Beginning likeliest = *best;            // of any length
    if (likeliest.ended) return likeliest.words;  // every other beginning only gets less likely
    alive.erase(best);
    const std::vector<double> p = next(likeliest.words);
    for (std::size_t word = 0; word < p.size(); ++word) {
      alive.push_back({likeliest.probability * p[word], likeliest.words, word == 0});
      if (word > 0) alive.back().words.push_back(static_cast<int>(word));
    }
  }
}
//]

// hint: Greedy search finds the likeliest in few of these languages. Keep several beginnings alive, as the
//   chapter's beam does. How wide must the beam be, and what does it cost?
// hint: A beam asks about every living beginning, likely or not. Can a beginning of probability 0.01 become a
//   sentence of probability 0.02? Then which ones need not be asked about?
// hint: Keep all beginnings in one list, whatever their length. Ask about the likeliest of all, and put its
//   continuations into the list. When the likeliest of the list is a whole sentence, you have ____.
//
// start: Greedy search takes the likeliest word each time and cannot go back: the likeliest sentence often
//   begins with another word. It asks little, and has questions left.
//
// wrong: You stop as soon as any sentence has ended. A beginning that is likelier than this sentence may
//   still end in a likelier one.
// - if (likeliest.ended) return likeliest.words;
// + for (const Beginning& each : alive)
// + if (each.ended) return each.words;
// wrong: You go by the probability of a word on average, which does not fall as a sentence goes on: when a
//   whole sentence comes first, others need not be less likely.
// - return each.probability;
// + return std::pow(each.probability, 1.0 / static_cast<double>(each.words.size() + 1));
// wrong: Only two beginnings are kept. What was dropped as less likely may hold the likeliest sentence, whose
//   first words have many rivals; a list costs nothing, so keep it whole.
// - alive.erase(best);
// + alive.erase(best);
// + std::stable_sort(alive.begin(), alive.end(),
// + [](const Beginning& a, const Beginning& b) { return a.probability > b.probability; });
// + if (alive.size() > 2) alive.resize(2);

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr std::size_t kWords = 6, kLongest = 8;
constexpr int kLanguages = 200;

/// A table of what follows each word; row 0 begins a sentence, which is not empty.
struct Language {
  explicit Language(kit::Random& random) {
    for (std::size_t word = 0; word <= kWords; ++word) {
      std::vector<double> row;
      for (std::size_t i = 0; i <= kWords; ++i) {
        double normal = -6;  // twelve uniform numbers, less their mean
        for (int k = 0; k < 12; ++k) normal += 1e-6 * static_cast<double>(random.below(1'000'000));
        row.push_back(std::exp(1.5 * normal));
      }
      row[0] *= word == 0 ? 0 : 0.5;
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (double& p : row) p /= sum;
      table.push_back(row);
    }
  }

  std::vector<double> next(const Words& words) const {
    std::vector<double> end(kWords + 1, 0.0);
    end[0] = 1;
    if (words.size() >= kLongest) return end;
    return table.at(words.empty() ? 0 : static_cast<std::size_t>(words.back()));
  }
  double probability(const Words& words) const {
    double product = 1;
    Words so_far;
    for (const int word : words) {
      product *= next(so_far).at(static_cast<std::size_t>(word));
      so_far.push_back(word);
    }
    return product * next(so_far)[0];
  }
  /// Of the likeliest sentence: what the best end is worth after each word, with so many words left.
  double best() const {
    std::vector<double> worth(kWords + 1, 1.0);  // behind eight words
    for (std::size_t left = 1; left <= kLongest; ++left) {
      std::vector<double> more;
      for (const std::vector<double>& row : table) {
        double most = row[0];
        for (std::size_t i = 1; i <= kWords; ++i) most = std::max(most, row[i] * worth[i]);
        more.push_back(most);
      }
      worth = more;
    }
    return worth[0];
  }

  std::vector<std::vector<double>> table;
};

}  // namespace

void judge(Judge& judge) {
  double calls = 0, found = 0;
  judge.claim("finds the likeliest sentences with few calls", [&] {
    for (int i = 0; i < kLanguages; ++i) {
      const Language language(judge.random());
      double asked = 0;
      const Words words = search([&](const Words& beginning) {
        asked += 1;
        judge.that(asked <= 20'000, "after 20,000 calls it still searches", {asked});
        return language.next(beginning);
      });
      calls += asked / kLanguages;
      found += language.probability(words) > (1 - 1e-9) * language.best();
    }
    const double share = 100 * found / kLanguages;
    judge.that(
        share >= 95 && calls <= 30,
        fmt::format(
            "it finds the likeliest sentence in {} of 100 languages, where 95 are wanted, with {:.1f} "
            "calls for a sentence on average, of which 30 are allowed.{}",
            share, calls,
            share >= 95
                ? " Some calls are about beginnings that are less likely than a whole sentence that it "
                  "has: nothing better can come of them."
            : calls > 2 * kLongest
                ? " A beginning that it dropped became the likeliest sentence: how many may "
                  "be kept without a call for each?"
                : ""),
        {share, calls});
    fmt::print("It finds {} of 100 likeliest sentences, with {:.1f} calls for each.\n", share, calls);
    judge.score(calls, "calls a sentence");
  });
}
