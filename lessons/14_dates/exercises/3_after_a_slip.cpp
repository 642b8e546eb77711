// 14.3 after_a_slip: The effect of one wrong token
// measure, 15 minutes
//
// Write the experiment from part 3 of the chapter. It finds the places at which one wrong input token makes the
// decoder write a wrong token.
//
// The decoder is a function: step(word, state) takes the input token and the state, changes the state, and
// returns the output token. `right` holds <start> and then the target tokens. At step t, the right input is
// right[t], and the target is right[t + 1].
//
// Do one experiment for each place p from 1 to right.size() − 2. Start from Memory{}. Feed right[t] at all
// steps t < p, and wrong(right[p]) at step p. From then on, feed the decoder's own outputs. The rest is right
// if the outputs at the steps p, p + 1, …, right.size() − 2 are all equal to their targets. Return the places p
// whose rest is *not* right, in increasing order.
#include "lessons/grader/answer.hpp"

using Memory = std::vector<int>;
using Step = std::function<int(int word, Memory& state)>;

std::vector<double> places_that_hurt(const Step& step, const std::vector<int>& right,
                                     const std::function<int(int)>& wrong) {
  std::vector<double> places;
  for (std::size_t p = 1; p + 1 < right.size(); ++p) {
    //[ one experiment, about eight lines
    //: static_cast<void>(step), static_cast<void>(wrong);
    //: return not_written_yet();
    Memory state;  // each experiment starts from an empty state
    bool rest = true;
    int written = 0;
    for (std::size_t t = 0; t + 1 < right.size(); ++t) {
      const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;  // right, wrong, then its own
      written = step(fed, state);
      if (t >= p && written != right[t + 1]) rest = false;  // outputs before the slip do not count
    }
    if (!rest) places.push_back(static_cast<double>(p));
    //]
  }
  return places;
}

// hint: What is the input at a step before p, at step p, and at a step after p? In which of these three cases
//   is the decoder in free decoding?
// hint: const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : ____;
// hint: written = step(fed, state); if (t >= p && written != right[____]) rest = false;
//
// wrong: After the wrong token, you feed right tokens again. The decoder must continue alone, on its own
//   outputs, so that a second mistake can follow from the first.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t == p ? wrong(right[p]) : right[t];
// wrong: You check only the output at step p itself. The decoder's mistake may come at a later step.
// - if (t >= p && written != right[t + 1]) rest = false;
// + if (t == p && written != right[t + 1]) rest = false;
// wrong: You also check the outputs before step p. A mistake there has another cause, because the wrong token
//   is fed later.
// - if (t >= p && written != right[t + 1]) rest = false;
// + if (written != right[t + 1]) rest = false;
// wrong: You keep the state from one experiment to the next, so it depends on earlier wrong tokens. Start each
//   experiment from Memory{}.
// - Memory state;
// + static Memory state;
// + if (p == 1) state.clear();
// wrong: You feed the decoder its own outputs from the first step on. Before step p, feed right tokens, so that
//   the input contains only one mistake.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t == 0 ? right[0] : t == p ? wrong(right[p]) : written;
// wrong: You feed a wrong token at every step from p on. Feed only one wrong token.
// - const int fed = t < p ? right[t] : t == p ? wrong(right[p]) : written;
// + const int fed = t < p ? right[t] : wrong(right[t]);

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

/// A decoder for tests. `believes` says what the output of each step depends on: 0 the source alone, 1 the
/// input token, 2 the sum of all input tokens so far. At a step of kind 0, the output is right for every input.
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
    judge.same(places_that_hurt(step, model.right, wrong), wanted, "the places found");
  };
  // A wrong token at p changes the output of step p if that step is of kind 1 or 2. Otherwise the outputs stay
  // right, and only a later step of kind 2 still depends on the wrong token.
  const auto by_reasoning = [](const Model& model) {
    std::vector<double> places;
    for (std::size_t p = 1; p < model.believes.size(); ++p) {
      bool hurts = model.believes[p] != 0;
      for (std::size_t t = p + 1; t < model.believes.size(); ++t) hurts = hurts || model.believes[t] == 2;
      if (hurts) places.push_back(static_cast<double>(p));
    }
    return places;
  };
  judge.claim("finds the place whose input token matters", [&] {
    judge.example("2 0 2 6: only the output of the third step depends on the input token");
    compare({{5, 2, 0, 2, 6}, {0, 0, 1, 0}}, {2});
  });
  judge.claim("finds mistakes at later steps", [&] {
    judge.example("2 0 2 6: the output of the last step depends on the sum of all input tokens");
    compare({{5, 2, 0, 2, 6}, {0, 0, 0, 2}}, {1, 2, 3});
  });
  judge.claim("does not count mistakes before the wrong token", [&] {
    judge.example("the first output is wrong for every input, and the third depends on the input token");
    const Model model{{5, 2, 0, 2, 6}, {0, 0, 1, 0}};
    const Step step = [&](int word, Memory& state) {
      const int said = model(word, state);
      return state.size() == 1 ? (said + 3) % 10 : said;
    };
    judge.same(places_that_hurt(step, model.right, [](int word) { return (word + 1) % 10; }), {2},
               "the places found");
  });
  judge.claim("feeds the decoder its own outputs after the wrong token", [&] {
    judge.example("the third output is 9 and all others are 1; the wrong token is 4");
    // Records the inputs of all experiments. After a wrong output, the next input must be this output.
    std::vector<int> fed;
    const Step step = [&](int word, Memory& state) {
      state.push_back(word);
      fed.push_back(word);
      return state.size() == 3 ? 9 : 1;
    };
    places_that_hurt(step, {5, 1, 1, 1, 1, 1}, [](int) { return 4; });
    std::vector<double> came(fed.begin(), fed.end());
    judge.same(came, {5, 4, 1, 9, 1, 5, 1, 4, 9, 1, 5, 1, 1, 4, 1, 5, 1, 1, 1, 4},
               "the tokens that were fed");
  });
  judge.claim("finds the places for other decoders", [&] {
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
