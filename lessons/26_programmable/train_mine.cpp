// The learner's mechanism in a small GPT. One that is a score by element goes into nn's LanguageModel, in the
// slot for positions. Any other needs a model with room for it: the one below is lesson 20's, with the
// attention left open.
#include "lessons/26_programmable/train_mine.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "lessons/26_programmable/mine.hpp"
#include "lessons/26_programmable/tasks.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/sorting.hpp"
#include "lessons/kit/training.hpp"
#include "nn/loss.hpp"
#include "nn/transformer.hpp"

namespace lesson26 {

using namespace tapestry;
using kit::Mechanism;

namespace {

/// x + attention(norm(x)), then x + feed-forward(norm(x)).
struct OpenBlock : Module {
  OpenBlock(Place place, const Mechanism& mechanism_in)
      : Module(std::move(place)),
        mechanism(mechanism_in),
        learned{{*this, "learned"}, mechanism.learned, [](auto&, Size, Size) { return ScoreMod(); }},
        width(mechanism.heads * mechanism.width) {}

  Tensor operator()(const Tensor& x) const {
    const Size batch = x.size(0), words = x.size(1);
    const auto by_heads = [&](const Tensor& y) {  // (B, T, width) → (B, heads, T, width / heads)
      return transpose(reshape(y, {batch, words, mechanism.heads, mechanism.width}), 1, 2);
    };
    const Tensor in = attention_norm(x);
    const Tensor context = kit::run(mechanism, by_heads(query(in)), by_heads(key(in)), by_heads(value(in)),
                                    learned.parameters());
    const Tensor y = x + output(reshape(transpose(context, 1, 2), {batch, words, width}));
    return y + feed_forward(feed_forward_norm(y));
  }

  Mechanism mechanism;
  ProgrammedPositions learned;  // holds what the mechanism learns, and does nothing
  Size width;
  LayerNorm attention_norm{{*this, "attention_norm"}, width},
      feed_forward_norm{{*this, "feed_forward_norm"}, width};
  Linear query{{*this, "query"}, width, width, Bias::no}, key{{*this, "key"}, width, width, Bias::no},
      value{{*this, "value"}, width, width, Bias::no}, output{{*this, "output"}, width, width, Bias::no};
  FeedForward feed_forward{{*this, "feed_forward"}, width, 4 * width, Activation::gelu};
};

struct OpenModel : Module {
  OpenModel(const Mechanism& mechanism, Size vocabulary, Size layers, Size longest)
      : width(mechanism.heads * mechanism.width),
        words{{*this, "words"}, vocabulary, width},
        blocks{{*this, "blocks"}, layers, mechanism},
        norm{{*this, "norm"}, width},
        logits{{*this, "logits"}, width, vocabulary} {
    // One that says nothing of order gets it with the words.
    if (!mechanism.score) places.emplace(Place{*this, "places"}, longest, width, 1.0);
  }
  Tensor operator()(const Indices& ids) const {
    Tensor x = words(ids);
    if (places) x = (*places)(x, 0);
    for (const OpenBlock& block : blocks) x = block(x);
    return logits(norm(x));
  }

  Size width;
  Embedding words;
  std::optional<LearnedPositions> places;
  List<OpenBlock> blocks;
  LayerNorm norm;
  Linear logits;
};

struct Task {
  Size vocabulary = 0, layers = 1, longest = 0, rows = 0;
  double rate = 3e-3;
  std::function<Text(kit::Random)> draw;
  Text test;
};

Task make_task(const std::string& name, const kit::Options& options) {
  const Size rows = options.smoke ? 2 : name == "voices" ? 32 : 64, tested = options.smoke ? 2 : 500;
  const kit::Random apart(options.seed, 1'000'000);
  if (name == "voices")
    return {kSymbols,
            1,
            64,
            rows,
            1e-2,
            [rows](kit::Random random) { return draw_voices(random, rows, 64); },
            draw_voices(apart, tested, 64)};
  const auto draw = [](kit::Random random, Size count, bool held_out) {
    const kit::NextTokens text =
        kit::draw_sorting(random, count, kit::kFewestDigits, kit::kMostDigits, held_out);
    return Text{text.inputs, text.targets};
  };
  return {kit::kSortSymbols,
          3,
          2 * kit::kMostDigits,
          rows,
          3e-3,
          [=](kit::Random random) { return draw(random, rows, false); },
          draw(apart, tested, true)};
}

template <class Model>
void learn(Model& model, const std::string& name, const Task& task, const kit::Options& options,
           kit::Report& report) {
  model.initialise(options.seed);
  const double seconds = kit::train(
      model,
      {.name = name, .steps = options.steps, .rate = task.rate, .batch = task.rows, .seed = options.seed},
      [&](kit::Random random) {
        const Text text = task.draw(random);
        return cross_entropy(model(text.words), text.answers);
      });
  const Tensor logits = model(task.test.words);
  const std::vector<std::int64_t> said = argmax(logits).to_vector(), right = task.test.answers.to_vector();
  double asked = 0, known = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    if (right[i] >= 0) asked += 1, known += said[i] == right[i];
  report.figure("loss on the test", cross_entropy(logits, task.test.answers).item());
  report.figure("right answers", 100 * known / asked, "%");
  fmt::print(stderr, "  {:.0f} s\n", seconds);
}

}  // namespace

void train_mine(const std::string& name, const kit::Options& options, kit::Report& report) {
  const Mechanism own = mine();
  kit::check(own, report, options.seed);
  kit::time(own, options.smoke ? 64 : 1024);
  const Task task = make_task(name, options);
  fmt::print("  {} steps of {}, {} blocks:\n", options.steps, name, task.layers);
  if (own.score && !own.ops && !own.pairs && !own.normalise && !own.sink) {
    TransformerOptions sizes;
    sizes.vocabulary = task.vocabulary;
    sizes.layers = task.layers;
    sizes.block = {.width = own.heads * own.width, .heads = own.heads, .bias = Bias::no};
    sizes.positions = programmed(own.learned, own.score);
    sizes.scale_words = false;
    LanguageModel model(sizes);
    learn(model, own.name, task, options, report);
    kit::show_map(own, options.out / "mine.svg",
                  model.stack.blocks[0].self.attention.positions()->parameters());
  } else {
    OpenModel model(own, task.vocabulary, task.layers, task.longest);
    learn(model, own.name, task, options, report);
    kit::show_map(own, options.out / "mine.svg", model.blocks[0].learned.parameters());
  }
}

}  // namespace lesson26
