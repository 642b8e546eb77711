// 32.4 small_entailer: A small entailment model
// design, 30 minutes, limit 60 s, fast
//
// Build a model that says whether a hypothesis is entailed, neutral or contradicted, by the rules of the chapter. The
// sentences have three words: noun, verb, noun. There are 12 nouns and 8 verbs in groups of four, and the first word
// of each group is the general word. In some contradictions, the hypothesis is the premise with its nouns exchanged.
//
// Choose the sizes, whether the words have position vectors, and the learning rate. The model is trained with Adam on
// 1,500 batches of 32 pairs. Then it must judge 9 of 10 new pairs correctly. These have combinations of nouns that
// never occur in training. Fewer parameters are better. You may use at most 3,500. Your best model is kept, and the
// result to beat is 2,759.
//
//     premise, hypothesis (B, 3), words 0 … 19; logits (B, 3)
//
// Change the constants.
#include "lessons/grader/answer.hpp"
#include "nn/embedding.hpp"

constexpr Size kWords = 20, kPlaces = 3, kAnswers = 3;

//[ five constants
//: constexpr Size kWidth = 16, kHidden = 24;
//: constexpr bool kTellPlaces = false;
//: constexpr double kLearningRate = 0.005;
constexpr Size kWidth = 12, kHidden = 20;
constexpr bool kTellPlaces = true;  // a sum does not depend on word order, so each word needs its position
constexpr double kLearningRate = 0.01;
//]

struct Layers : Module {
  Layers(Parent parent, Size in, Size out)
      : Module(std::move(parent)),
        first{{*this, "first"}, in, kHidden},
        second{{*this, "second"}, kHidden, out} {}
  Tensor operator()(const Tensor& x) const { return second(relu(first(x))); }
  Linear first, second;
};

struct Entailer : Module {
  Entailer() {
    if (!kTellPlaces) places.freeze();
  }
  Tensor read(const Indices& sentence) const {
    return kTellPlaces ? words(sentence) + places.weight : words(sentence);
  }
  Tensor operator()(const Indices& premise, const Indices& hypothesis) const {
    const Tensor a = read(premise), b = read(hypothesis), f_a = f(a), f_b = f(b);
    const Tensor beta = align(f_a, f_b, b).context, alpha = align(f_b, f_a, a).context;
    const Tensor v = sum(relu(g(concat({a, beta}, -1))), {1}), u = sum(relu(g(concat({b, alpha}, -1))), {1});
    return h(concat({v, u}, -1));
  }

  Embedding words{{*this, "words"}, kWords, kWidth}, places{{*this, "places"}, kPlaces, kWidth};
  Layers f{{*this, "f"}, kWidth, kHidden}, g{{*this, "g"}, 2 * kWidth, kHidden};
  Layers h{{*this, "h"}, 2 * kHidden, kAnswers};
  Attention align{{*this, "align"}, dot()};
};

// hint: Which pairs does the given model get wrong, whatever it learns?
// hint: The given model cannot distinguish two sentences with the same words. What must the vector of a word contain,
//   and which constant adds it?
// hint: Then make kWidth and kHidden smaller, one at a time. A layer from n to m has (n + 1) m parameters. Which
//   network has the most?
//
// start: The model is too large. And for which two sentences does it compute the same sums, whatever its parameters
//   are?
//
// wrong: The sizes are small enough. But without positions, the model cannot know which noun comes first.
// - constexpr bool kTellPlaces = true;
// + constexpr bool kTellPlaces = false;
// wrong: The sizes from lesson 32 are larger than twenty words need.
// - constexpr Size kWidth = 12, kHidden = 20;
// + constexpr Size kWidth = 48, kHidden = 64;
// wrong: Two numbers per word are too few to distinguish twenty words in five groups.
// - constexpr Size kWidth = 12, kHidden = 20;
// + constexpr Size kWidth = 2, kHidden = 4;
// wrong: Your learning rate is too small. With 0.0001, the model has hardly learned anything after 1,500 steps.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.0001;
// wrong: Your learning rate is too large. With 0.5, each step overshoots, and the model learns nothing.
// - constexpr double kLearningRate = 0.01;
// + constexpr double kLearningRate = 0.5;

//= judge
#include <fmt/format.h>

#include "lessons/grader/judge/judge.hpp"
#include "lessons/grader/judge/training.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace {

using Sentence = std::array<std::int64_t, 3>;
constexpr std::int64_t kGroup = 4, kNouns = 12, kVerbs = 8;

/// Returns 0 for entailed, 1 for neutral, 2 for contradicted.
std::int64_t of_words(std::int64_t p, std::int64_t h) {
  if (p == h) return 0;
  if (p / kGroup != h / kGroup) return h < kNouns ? 2 : 1;
  return h % kGroup == 0 ? 0 : p % kGroup == 0 ? 1 : 2;
}

std::int64_t of_sentences(const Sentence& p, const Sentence& h) {
  return std::max({of_words(p[0], h[0]), of_words(p[1], h[1]), of_words(p[2], h[2])});
}

/// Returns true for the pairs of nouns, in either order, that are kept for the test: one in five.
bool kept(const Sentence& s) { return (s[0] * 7 + s[2] * 7 + s[0] * s[2]) % 5 == 0; }

struct Pairs {
  Indices premise, hypothesis, answers;
};

Pairs draw(kit::Random& random, Size count, bool test) {
  std::vector<std::int64_t> premise, hypothesis, answers;
  while (static_cast<Size>(answers.size()) < count) {
    const auto wanted = static_cast<std::int64_t>(answers.size() % 3);
    Sentence p{random.below(kNouns), kNouns + random.below(kVerbs), random.below(kNouns)}, h = p;
    const bool exchange = wanted == 2 && random.chance(0.5);
    if (exchange) std::swap(h[0], h[2]);
    for (std::size_t i = 0; i < 3; ++i)
      if (!exchange && random.chance(0.6)) {
        const std::int64_t first = i == 1 ? kNouns : 0;
        h[i] = random.chance(0.7) ? p[i] / kGroup * kGroup + random.below(kGroup)
                                  : first + random.below(i == 1 ? kVerbs : kNouns);
      }
    if (of_sentences(p, h) != wanted || (kept(p) || kept(h)) != test) continue;
    premise.insert(premise.end(), p.begin(), p.end());
    hypothesis.insert(hypothesis.end(), h.begin(), h.end());
    answers.push_back(wanted);
  }
  return {Indices(premise, {count, kPlaces}), Indices(hypothesis, {count, kPlaces}),
          Indices(answers, {count})};
}

}  // namespace

void judge(Judge& judge) {
  Entailer model;
  model.initialise(judge.random().next());
  const auto weights = static_cast<double>(kit::weights_of(model));
  judge.claim("stays within the budget of parameters",
              [&] { judge.between(weights, 1, 3500, "parameters"); });
  grader::train(model.parameters(), kLearningRate, 1500, [&] {
    const Pairs pairs = draw(judge.random(), 32, false);
    return cross_entropy(model(pairs.premise, pairs.hypothesis), pairs.answers);
  });
  const Pairs test = draw(judge.random(), 600, true);
  const Tensor logits = model(test.premise, test.hypothesis);
  const double right = kit::percent_equal(argmax(logits), test.answers),
               loss = cross_entropy(logits, test.answers).item();
  judge.claim("answers new pairs", [&] {
    judge.that(
        right >= 90,
        fmt::format("{} parameters answer {:.1f} % of the pairs correctly; the target is 90 %, and the loss "
                    "is {:.3f}{}",
                    weights, right, loss, kLearningRate < 0.1 ? "" : ". Your learning rate is very large"),
        {right, loss});
    fmt::print("{} parameters answer {:.1f} % of the pairs correctly.\n", weights, right);
    judge.score(weights, "parameters");
  });
}
