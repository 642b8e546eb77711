// 15.4 few_questions: The most probable sentence with few calls
// design, 30 minutes
//
// Write a search for the most probable of all sentences in a small language. It must find this sentence in at
// least 95 of 100 languages, with at most 30 calls of next() per sentence on average. Fewer calls are better:
// the grader keeps your best search.
//
//     next(words)      returns probabilities, given these first words: [0] of <end>, [1] … [6] of the words 1 … 6
//
// The probability of a sentence is the product of the probabilities of its words and of <end>. After eight
// words, <end> has the probability 1. Return the words without <end>.
//
// Only calls of next() count, because such a call would be a whole step of a network. You may change all the
// code between the lines with ↓ and ↑.
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
  return each.probability;  // for every length
}

Words search(const Next& next) {
  std::vector<Beginning> alive = {Beginning{}};
  while (true) {
    auto best = alive.begin();
    for (auto each = alive.begin(); each != alive.end(); ++each)
      if (worth(*each) > worth(*best)) best = each;
    const Beginning likeliest = *best;            // of every length
    if (likeliest.ended) return likeliest.words;  // a longer beginning is never more probable
    alive.erase(best);
    const std::vector<double> p = next(likeliest.words);
    for (std::size_t word = 0; word < p.size(); ++word) {
      alive.push_back({likeliest.probability * p[word], likeliest.words, word == 0});
      if (word > 0) alive.back().words.push_back(static_cast<int>(word));
    }
  }
}
//]

// hint: Greedy search finds the most probable sentence in few of these languages. Keep several beginnings, like
//   the beam search in the chapter. How wide must the beam be, and how many calls does it need?
// hint: A beam search calls next() for every beginning that it keeps, probable or not. Can a beginning of
//   probability 0.01 become a sentence of probability 0.02? For which beginnings do you not need a call?
// hint: Keep all beginnings in one list, whatever their lengths. Call next() for the most probable of them, and
//   add its continuations to the list. When the most probable element of the list is a complete sentence, you
//   have ____.
//
// start: Greedy search takes the most probable word each time and cannot go back. The most probable sentence
//   often begins with another word. Greedy search needs few calls, so there are calls left for other
//   beginnings.
//
// wrong: You stop as soon as any sentence has ended. A beginning that is more probable than this sentence may
//   still end in a more probable sentence.
// - if (likeliest.ended) return likeliest.words;
// + for (const Beginning& each : alive)
// + if (each.ended) return each.words;
// wrong: You compare the mean probability per word. This mean does not always fall when a sentence becomes
//   longer. So when a complete sentence has the largest value, other sentences can still be more probable.
// - return each.probability;
// + return std::pow(each.probability, 1.0 / static_cast<double>(each.words.size() + 1));
// wrong: You keep only two beginnings. A beginning that you dropped may lead to the most probable sentence.
//   Storing a beginning needs no call, so keep the whole list.
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

/// A table of the probabilities of the next word, with a row for each word. Row 0 is for the start of a
/// sentence. No sentence is empty.
struct Language {
  explicit Language(kit::Random& random) {
    for (std::size_t word = 0; word <= kWords; ++word) {
      std::vector<double> row;
      for (std::size_t i = 0; i <= kWords; ++i) {
        double normal = -6;  // the sum of twelve uniform numbers minus its mean
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
  /// Returns the probability of the most probable sentence. `worth` holds, for each word, the probability of
  /// the best continuation with at most `left` more words.
  double best() const {
    std::vector<double> worth(kWords + 1, 1.0);  // after eight words
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
  judge.claim("finds the most probable sentences with few calls", [&] {
    for (int i = 0; i < kLanguages; ++i) {
      const Language language(judge.random());
      double asked = 0;
      const Words words = search([&](const Words& beginning) {
        asked += 1;
        judge.that(asked <= 20'000, "the search has not ended after 20,000 calls", {asked});
        return language.next(beginning);
      });
      calls += asked / kLanguages;
      found += language.probability(words) > (1 - 1e-9) * language.best();
    }
    const double share = 100 * found / kLanguages;
    judge.that(
        share >= 95 && calls <= 30,
        fmt::format(
            "the search finds the most probable sentence in {} of 100 languages (at least 95 are "
            "needed), with {:.1f} calls per sentence on average (at most 30 are allowed).{}",
            share, calls,
            share >= 95
                ? " Some calls are for beginnings that are less probable than a complete sentence in the list. "
                  "Such a beginning cannot lead to a better sentence."
            : calls > 2 * kLongest
                ? " A beginning that the search dropped leads to the most probable sentence. How many "
                  "beginnings can you keep without a call for each?"
                : ""),
        {share, calls});
    fmt::print("The search finds {} of 100 most probable sentences, with {:.1f} calls for each.\n", share,
               calls);
    judge.score(calls, "calls per sentence");
  });
}
