// 14.3 after_a_slip: which wrong digit hurts most
// measure, 15 minutes
//
// Write the experiment of the chapter's third part. A decoder is a function: step(word, state) takes the word
// that goes in and its state, changes the state, and returns the word that it writes. `right` holds <start>
// and then the right words; at step t right[t] goes in and right[t + 1] is wanted. For each place p from 1 to
// right.size() − 2: start from Memory{}, feed right words up to step p − 1, at step p feed wrong(right[p]),
// and from then on what the decoder wrote itself. The rest is right if every word that it writes at steps p,
// p + 1, … right.size() − 2 is the wanted one. Return the places where it is not, in order.
#include "lessons/grader/answer.hpp"

using Memory = std::vector<int>;
using Step = std::function<int(int word, Memory& state)>;

std::vector<double> places_that_hurt(const Step& step, const std::vector<int>& right,
                                     const std::function<int(int)>& wrong) {
  std::vector<double> places;
  for (std::size_t p = 1; p + 1 < right.size(); ++p) {
    //[ one experiment, some eight lines
    //: static_cast<void>(step), static_cast<void>(wrong);
    //: return not_written_yet();
    Memory state;  // each experiment starts anew
    bool rest = true;
    int written = 0;
    for (std::size_t t = 0; t + 1 < right.size(); ++t) {
      const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;  // right, the slip, then alone
      written = step(fed, state);
      if (t >= p && written != right[t + 1]) rest = false;  // what was written before the slip does not count
    }
    if (!rest) places.push_back(static_cast<double>(p));
    //]
  }
  return places;
}

// hint: What goes in at a step before p, at step p, and at a step behind it? Which of the three does the
//   chapter call free decoding?
// hint: const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : ____;
// hint: written = step(fed, state); if (t >= p && written != right[____]) rest = false;
//
// wrong: Behind the slip you feed right words again. Alone, the decoder is fed what it wrote, and a second
//   mistake can follow from the first.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t == p ? wrong(right[p]) : right[t];
// wrong: You judge only what is written at the slip itself. The mistake may come later.
// - if (t >= p && written != right[t + 1]) rest = false;
// + if (t == p && written != right[t + 1]) rest = false;
// wrong: You judge what was written before the slip as well. A decoder that goes wrong by itself at an early
//   place is not hurt by a later slip.
// - if (t >= p && written != right[t + 1]) rest = false;
// + if (written != right[t + 1]) rest = false;
// wrong: The state of one experiment goes on into the next: it remembers slips that were not made. Each place
//   starts from Memory{}.
// - Memory state;
// + static Memory state;
// + if (p == 1) state.clear();
// wrong: From the first step on the decoder is fed its own words. Up to the slip right ones go in, so that
//   there is one mistake and no other.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t == 0 ? right[0] : t == p ? wrong(right[p]) : written;
// wrong: A wrong word goes in again at every step behind the slip. It is one slip.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t < p ? right[t] : wrong(right[t]);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// What the decoder of a test believes at each step: 0 the source, 1 the word that is fed, 2 the sum of words
/// fed so far. At a step of the first kind it is right whatever was fed.
struct Model {
  std::vector<int> right, believes;

  int operator()(int word, Memory& state) const {
    state.push_back(word);
    const std::size_t t = state.size() - 1;
    int sum = 0, wanted_sum = 0;
    for (std::size_t i = 0; i <= t; ++i) sum += state[i], wanted_sum += right.at(i);
    const int off = believes.at(t) == 0 ? 0 : believes[t] == 1 ? word - right[t] : sum - wanted_sum;
    return ((right.at(t + 1) + off) % 10 + 10) % 10;
  }
};

}  // namespace

void judge(Judge& judge) {
  const auto compare = [&](const Model& model, const std::vector<double>& wanted) {
    const auto wrong = [](int word) { return (word + 1) % 10; };
    const Step step = [&](int word, Memory& state) { return model(word, state); };
    judge.same(places_that_hurt(step, model.right, wrong), wanted, "the places that hurt");
  };
  // A slip at p spoils step p if that step believes what is fed, or sums up. Otherwise the words go on right,
  // and only a later sum still knows of the slip.
  const auto by_reasoning = [](const Model& model) {
    std::vector<double> places;
    for (std::size_t p = 1; p < model.believes.size(); ++p) {
      bool hurts = model.believes[p] != 0;
      for (std::size_t t = p + 1; t < model.believes.size(); ++t) hurts = hurts || model.believes[t] == 2;
      if (hurts) places.push_back(static_cast<double>(p));
    }
    return places;
  };
  judge.claim("finds the place whose word is believed", [&] {
    judge.example("2 0 2 6: only at the third step the decoder looks at what is fed");
    compare({{5, 2, 0, 2, 6}, {0, 0, 1, 0}}, {2});
  });
  judge.claim("finds mistakes that come late", [&] {
    judge.example("2 0 2 6: the last step sums up all words that were fed");
    compare({{5, 2, 0, 2, 6}, {0, 0, 0, 2}}, {1, 2, 3});
  });
  judge.claim("does not count what goes wrong before", [&] {
    judge.example("the first step is wrong whatever is fed, the third believes what is fed");
    const Model model{{5, 2, 0, 2, 6}, {0, 0, 1, 0}};
    const Step step = [&](int word, Memory& state) {
      const int said = model(word, state);
      return state.size() == 1 ? (said + 3) % 10 : said;
    };
    judge.same(places_that_hurt(step, model.right, [](int word) { return (word + 1) % 10; }), {2},
               "the places that hurt");
  });
  judge.claim("feeds the decoder its own words behind the slip", [&] {
    judge.example("the third step is wrong whatever is fed, and the fourth believes what is fed");
    // Fed its own wrong word, it writes another wrong one; fed right words, it would be wrong at one step
    // only.
    std::vector<int> fed;
    const Step step = [&](int word, Memory& state) {
      state.push_back(word);
      fed.push_back(word);
      return state.size() == 3 ? 9 : 1;
    };
    places_that_hurt(step, {5, 1, 1, 1, 1, 1}, [](int) { return 4; });
    std::vector<double> came(fed.begin(), fed.end());
    judge.same(came, {5, 4, 1, 9, 1, 5, 1, 4, 9, 1, 5, 1, 1, 4, 1, 5, 1, 1, 1, 4}, "the words that were fed");
  });
  judge.claim("does so for any decoder", [&] {
    judge.each_size({{"words", 2, 8}}, [&](const Sizes& n) {
      for (int trial = 0; trial < 5; ++trial) {
        Model model{{5}, {}};
        for (Size i = 0; i < n[0]; ++i) {
          model.right.push_back(static_cast<int>(judge.random().below(10)));
          model.believes.push_back(static_cast<int>(judge.random().below(3)));
        }
        compare(model, by_reasoning(model));
      }
    });
  });
}
