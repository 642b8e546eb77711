// Trains the learner's mechanism in a small GPT. A score by element under the causal mask is used in nn's
// LanguageModel as its score_mod. For other mechanisms, the model below is lesson 20's model with an
// exchangeable attention.
#include "lessons/26_programmable/train_my_attention.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "core/core.hpp"
#include "lessons/26_programmable/tasks.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tasks/sorting.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/transformer.hpp"

namespace lesson26 {

using namespace tapestry;
using kit::Mechanism;

namespace {

/// x + attention(norm(x)), then x + feed-forward(norm(x)).
struct OpenBlock : Module {
  OpenBlock(Parent parent, const Mechanism& mechanism_in)
      : Module(std::move(parent)),
        mechanism(mechanism_in),
        learned{{*this, "learned"}, {mechanism.learned, [](auto&, Size, Size) { return ScoreMod(); }}},
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
  ScoreModLayer learned;  // holds the learned tensors; its score is not used
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
    // A mechanism without a score cannot use positions, so they are added to the words.
    if (!mechanism.score_mod) places.emplace(Parent{*this, "places"}, longest, width, 1.0);
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
  double guessing = 0, best = 100;  ///< right answers in %, by guessing and at best
};

Task make_task(const std::string& name, const kit::Options& options) {
  const Size rows = options.smoke ? 2 : name == "voices" ? 32 : 64, tested = options.smoke ? 2 : 500;
  const kit::Random apart(options.seed, 1'000'000);
  if (name == "voices") {
    const Text test = draw_voices(apart, tested, 64);
    return {kSymbols,
            1,
            64,
            rows,
            1e-2,
            [rows](kit::Random random) { return draw_voices(random, rows, 64); },
            test,
            100.0 / kSymbols,
            best_of_voices(test)};
  }
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
          draw(apart, tested, true),
          10};
}

/// Returns whether the mechanism can be trained by prediction. Reports an obstacle, or removes it and says
/// so.
bool keeps_to_past(Mechanism& own, Size longest, const kit::Options& options, kit::Report& report) {
  const auto ahead = kit::looks_ahead(own, longest, options.seed);
  if (!ahead) return true;
  const std::string sees = fmt::format(
      "query {} sees key {}: a model that predicts the next token could copy "
      "its answers from there",
      ahead->query, ahead->key);
  if (own.mask || own.ops) {
    report.note(fmt::format("{}; {}. Not trained.", sees,
                            own.ops ? "give attend() {.mask = BlockMask::causal(queries, keys)}"
                                    : "give it .mask = BlockMask::causal"));
    return false;
  }
  report.note(fmt::format("{}. It has no mask, so it is trained with BlockMask::causal.", sees));
  own.mask = BlockMask::causal;
  return true;
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
  // Token by token: each prediction follows the right text, not the model's own output.
  report.figure("right answers (teacher forcing)", 100 * known / asked, "%");
  report.note(fmt::format("(by guessing {:.0f} %, at best {:.0f} %)", task.guessing, task.best));
  fmt::print(stderr, "  {:.0f} s\n", seconds);
}

}  // namespace

bool fits_language_model(const Mechanism& own, Size longest) {
  if (!own.score_mod || own.ops || own.pair_score || own.normalise || own.sink || !own.mask) return false;
  const BlockMask mask = own.mask(longest, longest);
  return mask.defined() && mask.batch() == 1 && mask.heads() == 1 &&
         mask.mask().to_vector() == BlockMask::causal(longest, longest).mask().to_vector();
}

void train_my_attention(Mechanism own, const std::string& name, const kit::Options& options,
                        kit::Report& report) {
  const std::filesystem::path map = options.out / fmt::format("mine-{}.svg", name);
  if (!kit::check(own, report, options.seed)) {
    report.note("It is not trained until this is fixed. Its initial values:");
    return kit::show_map(own, map);
  }
  fmt::print("  {}\n", kit::timing(own, options.smoke ? 64 : 1024));
  const Task task = make_task(name, options);
  if (!keeps_to_past(own, task.longest, options, report)) return kit::show_map(own, map);
  fmt::print("  {} steps of {}, {} {}:\n", options.steps, name, task.layers,
             task.layers == 1 ? "block" : "blocks");
  if (fits_language_model(own, task.longest)) {
    TransformerOptions sizes;
    sizes.vocabulary = task.vocabulary;
    sizes.layers = task.layers;
    sizes.block = {.width = own.heads * own.width, .heads = own.heads, .bias = Bias::no};
    sizes.block.score_mod = {own.learned, own.score_mod};
    sizes.positions = no_positions();
    sizes.scale_words = false;
    LanguageModel model(sizes);
    learn(model, own.name, task, options, report);
    kit::show_map(own, map, model.stack.blocks[0].self->attention.learned());
  } else {
    OpenModel model(own, task.vocabulary, task.layers, task.longest);
    learn(model, own.name, task, options, report);
    kit::show_map(own, map, model.blocks[0].learned.parameters());
  }
}

}  // namespace lesson26
