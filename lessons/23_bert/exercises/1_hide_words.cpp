// 23.1 hide_words: Hiding words as BERT does
// implement, 15 minutes
//
// Hide words of a text as BERT does. Choose each word with probability 0.25. Of the chosen words, 80 % become
// kMask, 10 % become a word drawn uniformly from all words, and 10 % stay as they are. The answer at a chosen
// position is the original word. The answer at every other position is kNone.
//
// The words are the ids kFirstWord … kMask − 1. Smaller ids are special tokens such as <start> and <end>.
// Never choose these.
//
// random.uniform() returns a number in [0, 1), and random.below(n) returns an integer in [0, n).
#include "lessons/grader/answer.hpp"
#include "lessons/kit/random.hpp"

constexpr std::int64_t kNone = -1, kFirstWord = 4, kMask = 54;  // 50 words

using Ids = std::vector<std::int64_t>;

struct Hidden {
  Ids words, answers;
};

Hidden hide_words(const Ids& text, kit::Random& random) {
  Hidden hidden{text, Ids(text.size(), kNone)};
  //[ for each position: is it chosen, and what does it become?
  //: static_cast<void>(random);
  //: return not_written_yet();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < kFirstWord) continue;      // a special token
    if (random.uniform() >= 0.25) continue;  // not chosen
    hidden.answers[i] = text[i];             // the answer of every chosen word
    const double coin = random.uniform();    // a second draw decides among the three cases
    if (coin < 0.8)
      hidden.words[i] = kMask;
    else if (coin < 0.9)
      hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
  }
  //]
  return hidden;
}

// hint: How many random numbers do you need for a word? One decides whether the word is chosen. Can the same
//   number decide what the word becomes?
// hint: if (coin < 0.8) …; else if (coin < ____) …; and otherwise the word stays. Set the answer in all three
//   cases.
// hint: hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord) replaces the word with a random word.
//
// wrong: You use one random number for both decisions. A word is chosen if the number is below 0.25, and then
//   it is also below 0.8. So every chosen word becomes [mask]. The second decision needs a new random number.
// - if (random.uniform() >= 0.25) continue;
// - hidden.answers[i] = text[i];
// - const double coin = random.uniform();
// + const double coin = random.uniform();
// + if (coin >= 0.25) continue;
// + hidden.answers[i] = text[i];
// wrong: Every position has an answer, so the loss counts all positions. At most of them the word is part of
//   the input and easy to predict, so most of the loss is about copying.
// - hidden.answers[i] = text[i];
// + hidden.answers = text;
// wrong: You store the word after hiding as the answer. The answer is the original word.
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
// wrong: You start a new generator with a fixed seed in every call. So the same text has the same words
//   hidden each time, and the model memorises them. Use the generator that the function receives: it
//   continues from call to call.
// - Hidden hidden{text, Ids(text.size(), kNone)};
// + Hidden hidden{text, Ids(text.size(), kNone)};
// + random = kit::Random(7);
// wrong: You draw a second number for the replacement. So only a tenth of the remaining fifth is replaced,
//   which is 2 %, and 18 % stay. One number decides among the three cases: below 0.8, below 0.9, and the
//   rest.
// - const double coin = random.uniform();
// - if (coin < 0.8)
// - hidden.words[i] = kMask;
// - else if (coin < 0.9)
// + if (random.uniform() < 0.8)
// + hidden.words[i] = kMask;
// + else if (random.uniform() < 0.1)
// wrong: The words that stay have no answer. So a position without [mask] has an answer only if its word was
//   replaced, and a model can learn never to predict the word that it sees there.
// - hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + else
// + hidden.answers[i] = kNone;
// wrong: <start> and <end> are hidden too. They are not words, and their positions are always known.
// - if (text[i] < kFirstWord) continue;
// + if (text[i] < 0) continue;
// wrong: You draw the replacement from all ids, starting at 0, so <pad> and <start> can get into the text.
// - hidden.words[i] = kFirstWord + random.below(kMask - kFirstWord);
// + hidden.words[i] = random.below(kMask);

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"

namespace {

/// Returns <start>, `words` random words, <end>.
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
  return fmt::format("position {} held {}; now it holds {}, and its answer is {}", place, text[place],
                     hidden.words[place], hidden.answers[place]);
}

}  // namespace

void judge(Judge& judge) {
  judge.claim("never chooses <start> or <end>", [&] {
    for (int trial = 0; trial < 60; ++trial) {
      const Ids text = draw(judge.random(), 3);
      const Hidden hidden = hide_words(text, judge.random());
      judge.same(Dims{static_cast<Size>(hidden.words.size()), static_cast<Size>(hidden.answers.size())},
                 Dims{5, 5}, "the lengths of words and answers");
      for (const std::size_t end : {std::size_t{0}, std::size_t{4}})
        judge.that(hidden.words[end] == text[end] && hidden.answers[end] == kNone,
                   "<start> and <end> must stay: " + at(end, text, hidden),
                   {static_cast<double>(hidden.words[end]), static_cast<double>(hidden.answers[end])});
    }
  });
  const Ids text = draw(judge.random(), 40'000);
  judge.claim("stores the original words as answers, and changes no other word", [&] {
    const Hidden hidden = hide_words(text, judge.random());
    double all = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool asked = hidden.answers[i] != kNone;
      all += asked;
      judge.that((asked ? hidden.answers[i] : hidden.words[i]) == text[i], at(i, text, hidden),
                 {static_cast<double>(i), static_cast<double>(hidden.answers[i])});
      judge.that(hidden.words[i] == text[i] || (hidden.words[i] >= kFirstWord && hidden.words[i] <= kMask),
                 fmt::format("position {} became {}, which is neither a word nor [mask]", i, hidden.words[i]),
                 {static_cast<double>(hidden.words[i])});
    }
    judge.between(100 * all / 40'000, 24, 26, "words with an answer, per cent");
  });
  judge.claim("masks 80 %, replaces 10 % and keeps 10 % of the chosen words", [&] {
    const Hidden hidden = hide_words(text, judge.random());
    const Counts counts = count(text, hidden);
    judge.between(100 * counts.masked / counts.chosen, 78.5, 81.5,
                  "chosen words that become [mask], per cent");
    judge.between(100 * counts.same / counts.chosen, 9, 11.5, "chosen words that stay, per cent");
  });
  judge.claim("chooses from all words, and replaces with all words", [&] {
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
  judge.claim("hides other words when the same text is hidden again", [&] {
    const Hidden once = hide_words(text, judge.random()), again = hide_words(text, judge.random());
    double both = 0, chosen = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      chosen += once.answers[i] != kNone;
      both += once.answers[i] != kNone && again.answers[i] != kNone;
    }
    judge.between(100 * both / chosen, 22, 28, "words chosen the first time that are chosen again, per cent");
  });
}
