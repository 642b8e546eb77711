// 24.4 list_of_pieces: A short list of pieces
// design, 30 minutes, fast
//
// Make a list of pieces for WordPiece. You receive words of a made-up language and the number of times that
// each word was seen. Return at most `budget` pieces. A piece that does not begin a word starts with ##.
//
// The judge cuts other words of the same language with your list. Each [UNK] counts as 10 pieces. The average
// must be at most 4 pieces per word. Fewer pieces per word score better, and your best list is kept.
//
// The budget is 120. The language has 12 letters, so the single letters, with and without ##, need 24 pieces.
#include <set>

#include "lessons/grader/answer.hpp"

using Counts = std::map<std::string, int>;  // the number of times that each word was seen

std::set<std::string> make_pieces(const Counts& counts, std::size_t budget) {
  std::set<std::string> pieces;
  //[ any way you like
  //: for (const auto& [word, count] : counts)
  //:   if (pieces.size() < budget) pieces.insert(word);
  for (const auto& [word, count] : counts)  // every letter, with and without ##: no word is unknown
    for (const char letter : word) pieces.insert({letter}), pieces.insert(std::string("##") + letter);
  std::map<std::string, double> worth;  // the pieces that a piece saves: its letters minus 1, times its count
  for (const auto& [word, count] : counts)
    for (std::size_t begin = 0; begin < word.size(); ++begin)
      for (std::size_t length = 2; begin + length <= word.size(); ++length)
        worth[(begin == 0 ? "" : "##") + word.substr(begin, length)] +=
            count * static_cast<double>(length - 1);
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [piece, saves] : worth) order.emplace_back(saves, piece);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [saves, piece] : order)
    if (pieces.size() < budget) pieces.insert(piece);
  //]
  return pieces;
}

// hint: If your list has only whole words, what is the result for a word that was not seen? Which few pieces
//   make sure that no word is [UNK]?
// hint: Use the rest of the budget for the pieces that save most. If "##ing" replaces ##i, ##n and ##g, how
//   many pieces does that save, and how often does it occur?
// hint: For each part of each word, sum up count · (length − 1). Sort the parts by this sum, and take them
//   from the top until the list is full.
//
// start: Your list contains whole words. The judge's words are made of the same parts, but most of them are
//   other words, so nearly all of them become [UNK].
//
// wrong: With letters alone no word is [UNK], but each letter is a piece. Most of the budget is unused.
// - if (pieces.size() < budget) pieces.insert(piece);
// + if (pieces.size() < budget && saves < 0) pieces.insert(piece);
// wrong: Letters inside a word need ##. With plain letters alone, no word of more than one letter can be cut
//   completely.
// - for (const char letter : word) pieces.insert({letter}), pieces.insert(std::string("##") + letter);
// + for (const char letter : word) pieces.insert({letter});
// wrong: The list has more pieces than the budget allows.
// - if (pieces.size() < budget) pieces.insert(piece);
// + if (pieces.size() < 2 * budget) pieces.insert(piece);
// wrong: You spend the budget on the pieces that save least. Sort in the other order.
// - std::sort(order.rbegin(), order.rend());
// + std::sort(order.begin(), order.end());

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

constexpr std::size_t kBudget = 120;

/// A language: its stems and endings, and words that consist of one or two stems and an ending.
struct Language {
  std::vector<std::string> stems, endings;

  explicit Language(kit::Random& random) {
    const auto part = [&](Size least, Size most) {
      std::string text;
      for (Size i = random.between(least, most); i > 0; --i)
        text += static_cast<char>('a' + random.below(12));
      return text;
    };
    for (int i = 0; i < 30; ++i) stems.push_back(part(3, 5));
    for (int i = 0; i < 8; ++i) endings.push_back(part(1, 3));
  }
  std::string word(kit::Random& random) const {
    const auto one_of = [&](const std::vector<std::string>& all) {
      return all[static_cast<std::size_t>(random.below(static_cast<Size>(all.size())))];
    };
    std::string text = one_of(stems);
    if (random.uniform() < 0.5) text += one_of(stems);
    return random.uniform() < 0.7 ? text + one_of(endings) : text;
  }
};

/// Returns the number of pieces of a word, or −1 for [UNK].
double pieces_in(const std::string& word, const std::set<std::string>& known) {
  double count = 0;
  for (std::size_t begin = 0, length = 0; begin < word.size(); begin += length, ++count) {
    length = word.size() - begin;
    while (length > 0 && known.count((begin == 0 ? "" : "##") + word.substr(begin, length)) == 0) --length;
    if (length == 0) return -1;
  }
  return count;
}

}  // namespace

void judge(Judge& judge) {
  const Language language(judge.random());
  Counts counts;
  for (int i = 0; i < 1200; ++i) ++counts[language.word(judge.random())];
  const std::set<std::string> pieces = make_pieces(counts, kBudget);
  judge.claim("stays within the budget", [&] {
    judge.between(static_cast<double>(pieces.size()), 1, static_cast<double>(kBudget),
                  "the pieces in the list");
  });
  judge.claim("cuts other words of the language into few pieces", [&] {
    double sum = 0, unknown = 0;
    constexpr int kWords = 1000;
    for (int i = 0; i < kWords; ++i) {
      const double count = pieces_in(language.word(judge.random()), pieces);
      sum += count < 0 ? 10 : count, unknown += count < 0;
    }
    const double mean = sum / kWords;
    judge.that(
        mean <= 4,
        fmt::format("with a list of {} pieces, a word has {:.2f} pieces on average; at most 4 are allowed; "
                    "{} of {} words are unknown",
                    pieces.size(), mean, unknown, kWords),
        {mean, unknown});
    fmt::print("A word has {:.3f} pieces on average.\n", mean);
    judge.score(mean, "pieces per word");
  });
}
