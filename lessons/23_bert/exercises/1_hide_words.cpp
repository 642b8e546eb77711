// 23.1 hide_words: choose words, and hide most of them
// implement, 15 minutes
//
// Hide words of a text as BERT does. Each word is chosen with probability 0.25; of the chosen ones 80 %
// become kMask, 10 % some other word, drawn from all words with equal chance, and 10 % stay. The answer of a
// chosen place is the word that stood there, of all others kNone. Ids below kFirstWord (<start>, <end> and so
// on) are no words and are never chosen; words are kFirstWord … kMask − 1. random.uniform() gives a number in
// [0, 1), random.below(n) a whole number in [0, n).
#include "lessons/grader/answer.hpp"
#include "lessons/kit/random.hpp"

constexpr std::int64_t kNone = -1, kFirstWord = 4, kMask = 54;  // 50 words

using Ids = std::vector<std::int64_t>;

struct Hidden {
  Ids words, answers;
};

Hidden hide_words(const Ids& text, kit::Random& random) {
  Hidden hidden{text, Ids(text.size(), kNone)};
  //[ for each place: is it chosen, and what becomes of it?
  //: static_cast<void>(random);
  //: return not_written_yet();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < kFirstWord) continue;      // no word
    if (random.uniform() >= 0.25) continue;  // not chosen
    hidden.answers[i] = text[i];             // asked for, whatever becomes of it
    const double coin = random.uniform();    // a coin of its own, one for the three fates
    if (coin < 0.8)
      hidden.words[i] = kMask;
    else if (coin < 0.9)
      hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
  }
  //]
  return hidden;
}

// hint: How many coins does a word need? One says whether it is chosen. Can the same one say what becomes
//   of it?
// hint: if (coin < 0.8) …; else if (coin < ____) …; and else the word stays. The answer is set in all
//   three cases.
// hint: hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord) is some word.
//
// wrong: One coin does both jobs. A word is chosen where the coin is below 0.25, so it is below 0.8 as
//   well: all that are chosen become [mask]. The second question wants a fresh coin.
// - if (random.uniform() >= 0.25) continue;
// - hidden.answers[i] = text[i];
// - const double coin = random.uniform();
// + const double coin = random.uniform();
// + if (coin >= 0.25) continue;
// + hidden.answers[i] = text[i];
// wrong: Every place has an answer, so the loss counts all places. To name a word that stands there is no
//   art, and most of the loss is about that.
// - hidden.answers[i] = text[i];
// + hidden.answers = text;
// wrong: The answer is what goes in, after hiding. Asked for is what stood there before.
// - const double coin = random.uniform();
// - if (coin < 0.8)
// - hidden.words[i] = kMask;
// - else if (coin < 0.9)
// - hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + const double coin = random.uniform();
// + if (coin < 0.8)
// + hidden.words[i] = kMask;
// + else if (coin < 0.9)
// + hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + hidden.answers[i] = hidden.words[i];
// wrong: Hidden once for ever: the same text has the same words hidden each time, and the model learns
//   these by heart. Use the stream of numbers that is handed in: it goes on.
// - Hidden hidden{text, Ids(text.size(), kNone)};
// + Hidden hidden{text, Ids(text.size(), kNone)};
// + random = kit::Random(7);
// wrong: A second coin is thrown for the other words: a tenth of the fifth that is left is exchanged, 2 %,
//   and 18 % stay. One coin has the three fates: below 0.8, below 0.9, and the rest.
// - const double coin = random.uniform();
// - if (coin < 0.8)
// - hidden.words[i] = kMask;
// - else if (coin < 0.9)
// + if (random.uniform() < 0.8)
// + hidden.words[i] = kMask;
// + else if (random.uniform() < 0.1)
// wrong: Words that stay are not asked for. Then what stands there without a [mask] never has an answer,
//   and the model may copy it blindly.
// - hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + else
// + hidden.answers[i] = kNone;
// wrong: <start> and <end> are hidden too. They are no words, and they always stand where they stand.
// - if (text[i] < kFirstWord) continue;
// + if (text[i] < 0) continue;
// wrong: Words are exchanged for ids from 0 on: <pad> and <start> get into the text.
// - hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + hidden.words[i] = random.below(kMask);

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// <start>, words, <end>.
Ids draw(kit::Random& random, std::size_t words) {
  Ids text{2};
  for (std::size_t i = 0; i < words; ++i) text.push_back(random.between(kFirstWord, kMask - 1));
  text.push_back(3);
  return text;
}

struct Counts {
  double chosen = 0, masked = 0, same = 0;
};

Counts count(const Ids& text, const Hidden& hidden) {
  Counts counts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (hidden.answers[i] == kNone) continue;
    ++counts.chosen;
    counts.masked += hidden.words[i] == kMask;
    counts.same += hidden.words[i] == text[i];
  }
  return counts;
}

std::string at(std::size_t place, const Ids& text, const Hidden& hidden) {
  return fmt::format("place {} held {}, holds {} now, and is asked for {}", place, text[place],
                     hidden.words[place], hidden.answers[place]);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("leaves <start> and <end> alone", [&] {
    for (int trial = 0; trial < 60; ++trial) {
      const Ids text = draw(judge.random(), 3);
      const Hidden hidden = hide_words(text, judge.random());
      judge.same(Dims{static_cast<Size>(hidden.words.size()), static_cast<Size>(hidden.answers.size())},
                 Dims{5, 5}, "the lengths of words and answers");
      for (const std::size_t end : {std::size_t{0}, std::size_t{4}})
        judge.that(hidden.words[end] == text[end] && hidden.answers[end] == kNone,
                   "of <start> and <end>, " + at(end, text, hidden),
                   {static_cast<double>(hidden.words[end]), static_cast<double>(hidden.answers[end])});
    }
  });
  const Ids text = draw(judge.random(), 40'000);
  judge.claim("asks for what stood there, and changes nothing else", [&] {
    const Hidden hidden = hide_words(text, judge.random());
    double all = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool asked = hidden.answers[i] != kNone;
      all += asked;
      judge.that((asked ? hidden.answers[i] : hidden.words[i]) == text[i], at(i, text, hidden),
                 {static_cast<double>(i), static_cast<double>(hidden.answers[i])});
      judge.that(hidden.words[i] == text[i] || (hidden.words[i] >= kFirstWord && hidden.words[i] <= kMask),
                 fmt::format("place {} became {}, which is no word and not [mask]", i, hidden.words[i]),
                 {static_cast<double>(hidden.words[i])});
    }
    judge.between(100 * all / 40'000, 24, 26, "the words that are asked for, per cent");
  });
  judge.claim("masks 80 %, exchanges 10 % and keeps 10 % of them", [&] {
    const Hidden hidden = hide_words(text, judge.random());
    const Counts counts = count(text, hidden);
    judge.between(100 * counts.masked / counts.chosen, 78.5, 81.5, "of these become [mask], per cent");
    judge.between(100 * counts.same / counts.chosen, 9, 11.5, "of these stay, per cent");
  });
  judge.claim("chooses any word, and exchanges it for any word", [&] {
    const Hidden hidden = hide_words(text, judge.random());
    std::map<std::int64_t, double> chosen, came;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (hidden.answers[i] != kNone) ++chosen[text[i]];
      if (hidden.words[i] != text[i] && hidden.words[i] != kMask) ++came[hidden.words[i]];
    }
    for (const std::int64_t word : {kFirstWord, kMask - 1}) {
      judge.that(chosen[word] > 0, fmt::format("among 40,000 words the word {} is never chosen", word),
                 {chosen[word]});
      judge.that(came[word] > 0, fmt::format("among 40,000 words none is exchanged for the word {}", word),
                 {came[word]});
    }
  });
  judge.claim("hides other words when the text comes again", [&] {
    const Hidden once = hide_words(text, judge.random()), again = hide_words(text, judge.random());
    double both = 0, chosen = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      chosen += once.answers[i] != kNone;
      both += once.answers[i] != kNone && again.answers[i] != kNone;
    }
    judge.between(100 * both / chosen, 22, 28, "of the words chosen once, those chosen again, per cent");
  });
}
