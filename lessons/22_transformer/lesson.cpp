// 22 transformer: two stacks joined by cross-attention
//
// Everything is there: attention that asks with many heads (18), positions (17), blocks (19), a causal mask
// (20). The transformer of the paper (Vaswani et al. 2017) only joins two stacks. The encoder's blocks attend
// to the source, in both directions. The decoder's attend to what was written so far, and then, with a second
// attention in each block, to what the encoder read:
//
//     encoder block:  x ← x + attend(x, x)                    x ← x + feed_forward(x)
//     decoder block:  y ← y + attend(y, y), causal            y ← y + attend(y, x)        y ← y +
//     feed_forward(y)
//
// where each part reads a normed input. No state runs along the sentence: under teacher forcing all words are
// computed at once, and only writing goes word by word.
//
// You will: 1 build both blocks from ops, and find nn/'s numbers; 2 see what label smoothing asks for; 3 see
// why the learning rate warms up; 4 train a translator, and a recurrent decoder on the same encoder; 5 look
// at every head of every layer.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/core.hpp"
#include "core/gradcheck.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/bleu.hpp"
#include "lessons/kit/grammar_corpus.hpp"
#include "lessons/kit/heatmap_grid.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/transformer_plan.hpp"
#include "lessons/kit/translator_training.hpp"
#include "nn/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using kit::Corpus;
using kit::TransformerPlan;
using kit::Words;

namespace {

// ---- 1. Both blocks from ops -----------------------------------------------------------------------------

/// What lesson 18 built: heads side by side, each attending in its own width. x asks, memory answers.
Tensor attend_by_hand(const MultiHeadAttention& nn, const Tensor& x, const Tensor& memory, const Mask& mask) {
  const Size heads = nn.options().heads, width = nn.options().head_width;
  const auto part = [&](const Tensor& y) {
    return transpose(reshape(y, {y.size(0), y.size(1), heads, width}), 1, 2);
  };
  const Tensor q = part(linear(x, nn.query.weight, nn.query.bias)),
               k = part(linear(memory, nn.key.weight, nn.key.bias)),
               v = part(linear(memory, nn.value.weight, nn.value.bias));
  const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(width)));
  const Tensor weights = mask.defined() ? masked_softmax(scores, mask) : softmax(scores, -1);
  const Tensor joined = reshape(transpose(matmul(weights, v), 1, 2), {x.size(0), x.size(1), heads * width});
  return linear(joined, nn.output.weight, nn.output.bias);
}

Tensor norm_by_hand(const Norm& nn, const Tensor& x) {
  const std::vector<Tensor> gain_and_bias = nn.parameters();
  const Tensor centred = x - mean(x, {-1}, Keep::yes);
  return centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) * gain_and_bias[0] +
         gain_and_bias[1];
}

/// One block; with a memory (and its mask) that of a decoder.
Tensor block_by_hand(const TransformerBlock& nn, Tensor x, const Mask& own, const Tensor& memory = {},
                     const Mask& of_memory = {}) {
  const Tensor asking = norm_by_hand(*nn.self_norm, x);
  x = x + attend_by_hand(nn.self, asking, asking, own);
  if (nn.cross) x = x + attend_by_hand(*nn.cross, norm_by_hand(*nn.cross_norm, x), memory, of_memory);
  const Tensor units = relu(
      linear(norm_by_hand(*nn.feed_forward_norm, x), nn.feed_forward->in.weight, nn.feed_forward->in.bias));
  return x + linear(units, nn.feed_forward->out.weight, nn.feed_forward->out.bias);
}

/// The whole model. Words enter as √width times their vectors, with a sinusoid for their place; the same
/// vectors make the logits at the end.
Tensor transformer_by_hand(const TransformerTranslator& nn, const Indices& source,
                           const ValidLengths& lengths, const Indices& words) {
  const Size width = nn.input.words.weight.size(1), queries = words.shape()[1], keys = source.shape()[1];
  const auto enter = [&](const Tensor& vectors, const Indices& ids) {
    return embedding(vectors, ids) * std::sqrt(static_cast<double>(width)) +
           sinusoids(0, ids.shape()[1], width, vectors.dtype());
  };
  const Mask valid = lengths.mask(keys).unsqueeze(1);  // (B, 1, 1, keys): every head, every query
  Tensor x = enter(nn.encoder.input.words.weight, source);
  for (const TransformerBlock& block : nn.encoder.stack.blocks) x = block_by_hand(block, x, valid);
  x = norm_by_hand(*nn.encoder.stack.norm, x);
  Tensor y = enter(nn.input.words.weight, words);
  for (const TransformerBlock& block : nn.stack.blocks)
    y = block_by_hand(block, y, Mask::causal(queries, queries), x, valid);
  return linear(norm_by_hand(*nn.stack.norm, y), nn.input.words.weight);
}

void build_by_hand(kit::Report& report) {
  const TransformerPlan tiny{.layers = 2, .width = 8, .heads = 2, .hidden = 12};
  TransformerTranslator model(kit::options_of(tiny, 9, 10));
  model.initialise(1, DType::f64);
  const Indices source = Indices{4, 5, 6, 3, 7, 8, 3, 0}.reshape({2, 4}),
                words = Indices{2, 4, 5, 2, 6, 7}.reshape({2, 3});
  const ValidLengths lengths{4, 3};

  const TransformerBlock& block = model.stack.blocks[0];
  const Tensor y = random_normal({1, 3, 8}, 2, DType::f64), memory = random_normal({1, 4, 8}, 3, DType::f64);
  const GradcheckResult found =
      gradcheck([&](const Tensor& in,
                    const Tensor& from) { return block_by_hand(block, in, Mask::causal(3, 3), from); },
                {y, memory});
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of a decoder block by hand, f64", found.ok());

  const auto by_hand = [&] { return transformer_by_hand(model, source, lengths, words); };
  const auto by_nn = [&] { return model(source, lengths, words); };
  const auto leaves = model.parameters();
  report.check("the same logits as nn/, to 1e-12", kit::farthest({by_hand()}, {by_nn()}) < 1e-12);
  report.check("the same gradients, to 1e-11",
               kit::farthest(kit::gradients(by_hand, leaves, 4), kit::gradients(by_nn, leaves, 4)) < 1e-11);
}

// ---- 2. Label smoothing ----------------------------------------------------------------------------------
//
// Cross-entropy against a single right word wants its probability to be 1, so its logit to grow for ever.
// Smoothing (Szegedy et al. 2016) asks for 1 − ε of it, and spreads ε over all words: being surer than that
// costs again. With ε = 0.1 and 100 words the loss is least where the right one gets 0.901.

double smoothed_loss(double probability, Size words, double smoothing) {
  const double rest = (1 - probability) / static_cast<double>(words - 1);
  std::vector<double> logits(static_cast<std::size_t>(words), std::log(rest));
  logits[0] = std::log(probability);
  return cross_entropy(tensor(logits, {1, words}, DType::f64), Indices{0}, {.smoothing = smoothing}).item();
}

void show_smoothing(kit::Report& report, const std::filesystem::path& out) {
  kit::Chart chart{.title = "The loss of a word against its probability",
                   .x_label = "probability of the right word",
                   .y_label = "loss"};
  for (const double smoothing : {0.0, 0.1}) {
    kit::Series curve{fmt::format("smoothing {}", smoothing)};
    for (double p = 0.5; p < 0.9995; p += 0.001) {
      curve.x.push_back(p);
      curve.y.push_back(smoothed_loss(p, 100, smoothing));
    }
    chart.series.push_back(curve);
  }
  const std::vector<double>& smoothed = chart.series[1].y;
  const auto least = std::min_element(smoothed.begin(), smoothed.end()) - smoothed.begin();
  report.quoted("probability at which the smoothed loss is least",
                chart.series[1].x[static_cast<std::size_t>(least)], 0.901, 0.002);
  kit::show(chart, out / "smoothing.svg");
}

// ---- 3. Warm-up ------------------------------------------------------------------------------------------
//
// Adam divides each weight's mean gradient by the root of its mean square. At the first step both come from
// one gradient: whatever its size, the weight moves by the full learning rate. Nothing is known yet, and
// every weight runs. So the rate starts near 0 and rises; later it falls, here as a cosine, in the paper as
// 1/√t.

void show_warm_up(kit::Report& report, const std::filesystem::path& out) {
  // Two weights whose gradients differ a millionfold.
  Tensor small = variable(zeros({1}, DType::f64), "small"), large = variable(zeros({1}, DType::f64), "large");
  Adam adam({small, large}, {.learning_rate = 1, .epsilon = 0});
  {
    Tape tape;
    tape.backward(sum(small * 1e-3 + large * 1e3));
  }
  adam.step();
  fmt::print("  gradients 0.001 and 1000: Adam's first step moves the weights by {:.3f} and {:.3f}\n",
             small.item(), large.item());
  report.check("both move by the full rate",
               std::abs(small.item() + 1) < 1e-9 && std::abs(large.item() + 1) < 1e-9);

  kit::Chart chart{.title = "Learning rate, as a share of its peak", .x_label = "step", .y_label = "rate"};
  const Schedule cosine = then(warm_up(100), 100, cosine_decay(900)), paper = inverse_square_root(100);
  chart.series = {{"warm-up, cosine"}, {"warm-up, 1/√t"}};
  for (Size t = 1; t <= 1000; t += 3) {
    chart.series[0].x.push_back(static_cast<double>(t));
    chart.series[0].y.push_back(cosine(t));
    chart.series[1].x.push_back(static_cast<double>(t));
    chart.series[1].y.push_back(paper(t));
  }
  kit::show(chart, out / "rates.svg");
}

// ---- 4. Training -----------------------------------------------------------------------------------------

/// What is usual for a task; every number is an option.
struct Recipe {
  TransformerPlan plan;
  Size batch = 64, epochs = 1;
  double rate = 1e-3, rise = 0.1, smoothing = 0.1, average = 0;
};

/// Calls f(name, number, the same of `other`, help, least, most) for every number of a recipe.
template <class F>
void each_number(Recipe& recipe, Recipe& other, const F& f) {
  TransformerPlan &plan = recipe.plan, &plan_of_other = other.plan;
  const Size most = 16384;
  f("--layers", plan.layers, plan_of_other.layers, "blocks of encoder and decoder", Size{1}, Size{24});
  f("--width", plan.width, plan_of_other.width, "numbers for a word", Size{1}, most);
  f("--heads", plan.heads, plan_of_other.heads, "heads, a divisor of the width", Size{1}, Size{64});
  f("--hidden", plan.hidden, plan_of_other.hidden, "units of the feed-forward", Size{1}, most);
  f("--dropout", plan.dropout, plan_of_other.dropout, "of what each part of a block adds, in training", 0.0,
    0.9);
  f("--word-dropout", plan.word_dropout, plan_of_other.word_dropout, "of words with their places", 0.0, 0.9);
  f("--batch", recipe.batch, other.batch, "sentences in a batch", Size{1}, most);
  f("--epochs", recipe.epochs, other.epochs, "with --data, unless --steps is given: passes over the text",
    Size{1}, Size{1000});
  f("--rate", recipe.rate, other.rate, "the learning rate at its highest", 1e-6, 1.0);
  f("--rise", recipe.rise, other.rise, "share of the steps in which the rate rises", 0.0, 0.9);
  f("--smoothing", recipe.smoothing, other.smoothing, "share of the target that the other words get", 0.0,
    0.9);
  f("--average", recipe.average, other.average, "decay of the average of weights; 0: none", 0.0, 0.9999);
}

struct Settings {
  Recipe recipe;
  std::string direction = "en-fr", decoder = "transformer";
  Size at_least = 2, beam = 5;
  double length_power = 0.6;
  bool fresh = false;
  /// Training lasts for recipe.epochs, not for --steps.
  bool in_epochs = false;
};

kit::TranslatorTraining training_of(const kit::Options& options, const Settings& settings,
                                    const std::string& task, const TransformerPlan& plan, Size pairs) {
  const Recipe& recipe = settings.recipe;
  const Size per_epoch = (pairs + recipe.batch - 1) / recipe.batch;
  kit::TranslatorTraining how;
  how.out = options.out / (plan.recurrent_decoder ? task + "-recurrent" : task);
  how.fresh = settings.fresh || options.smoke;
  how.seed = options.seed;
  how.steps = settings.in_epochs ? recipe.epochs * per_epoch : options.steps;
  how.steps_per_look = settings.in_epochs ? per_epoch
                       : options.smoke    ? how.steps
                                          : std::max<Size>(1, how.steps / 4);
  how.batch = recipe.batch;
  how.smoothing = recipe.smoothing;
  how.rate = recipe.rate;
  how.rise = recipe.rise;
  how.average = recipe.average;
  how.beta2 = 0.98;  // as the paper: a shorter memory of squares, for a rate that changes fast
  how.texts = kit::texts_of(plan);
  how.name = fmt::format(
      "{}, seed {}, {} steps, {} layers, width {}, {} heads, {} units, batch {}, dropout {} and {}, rate {}, "
      "rise {}, smoothing {}, average {}, words seen {} times",
      task, how.seed, how.steps, plan.layers, plan.width, plan.heads, plan.hidden, recipe.batch,
      plan.word_dropout, plan.dropout, recipe.rate, recipe.rise, recipe.smoothing, recipe.average,
      settings.at_least);
  return how;
}

std::unique_ptr<SequenceModel> train(const kit::TranslatorTraining& how, const TransformerPlan& plan,
                                     const Corpus& corpus) {
  auto model = kit::make_translator(plan, corpus.source.size(), corpus.target.size());
  model->initialise(how.seed);
  fmt::print("\n  {} decoder: {} weights\n", plan.recurrent_decoder ? "recurrent" : "transformer",
             kit::weights_of(*model));
  kit::train_translator(*model, corpus, how);
  return model;
}

// ---- 5. Every head of every layer ------------------------------------------------------------------------
//
// A recurrent decoder looks at the source once a word. A transformer looks with every head of every layer,
// and they need not look at the same place: some find the word that is being translated, some its neighbours,
// some the end of the sentence, where a head parks that has nothing to add.

void show_heads(SequenceModel& trained, const Corpus& corpus, const Words& source, const Words& written,
                const std::filesystem::path& file) {
  const auto* model = dynamic_cast<TransformerTranslator*>(&trained);
  if (!model) return;
  const auto pair = kit::encode_pairs({{source}, {written}}, corpus.source, corpus.target).front();
  const kit::Padded read = kit::pad({pair.source}), write = kit::pad({pair.target});
  const Evaluating evaluating(trained);
  kit::HeatmapGrid grid{.title = "Where each head looked, layer.head", .across = 4};
  Words columns = source, rows = written;
  columns.emplace_back("<end>");
  rows.emplace_back("<end>");
  std::deque<WeightRecorder> recorders;
  for (const TransformerBlock& block : model->stack.blocks) recorders.emplace_back(block.cross->attention);
  const Indices words = kit::indices(write).columns(0, write.columns - 1);
  (*model)(kit::indices(read), kit::valid_lengths(read), words);
  for (std::size_t layer = 0; layer < recorders.size(); ++layer) {
    const Tensor weights = recorders[layer].weights().front();  // (1, heads, words, source)
    grid.across = weights.size(1);
    for (Size head = 0; head < weights.size(1); ++head)
      grid.maps.push_back({.title = fmt::format("{}.{}", layer + 1, head + 1),
                           .columns = columns,
                           .rows = rows,
                           .values = select(select(weights, 0, 0), 0, head).to_vector()});
  }
  kit::show(grid, file);
}

void on_the_grammar(const kit::Options& options, const Settings& settings, kit::Report& report) {
  const Corpus corpus = kit::grammar_corpus(options.seed, {.sentences = options.smoke ? 500 : 20'000});
  fmt::print("  {}; some adjective–noun pairs are never shown\n", corpus.text());
  const auto fresh =
      kit::grammar_sentences(options.seed, 0, kit::GrammarSplit::fresh, options.smoke ? 20 : 500);
  const auto held_out =
      kit::grammar_sentences(options.seed, 1, kit::GrammarSplit::held_out, options.smoke ? 20 : 500);
  for (const bool recurrent : {false, true}) {
    TransformerPlan plan = settings.recipe.plan;
    plan.recurrent_decoder = recurrent;
    const auto how = training_of(options, settings, "grammar", plan, static_cast<Size>(corpus.train.size()));
    const auto model = train(how, plan, corpus);
    const auto exact = [&](const std::vector<kit::GrammarSentence>& sentences) {
      const kit::ParallelText text = kit::parallel(sentences);
      return kit::exact_match(
          kit::words_of(kit::translate(*model, corpus.source, corpus.target, text.source)), text.target);
    };
    const std::string name = recurrent ? "recurrent decoder" : "transformer";
    report.at_least("exact, new sentences, " + name, exact(fresh), 98, "%");
    report.at_least("exact, pairs never seen together, " + name, exact(held_out), 98, "%");
    if (recurrent) continue;
    const kit::GrammarSentence zone = kit::grammar_showcase();
    const auto shown = kit::translate(*model, corpus.source, corpus.target, {zone.source}).front();
    fmt::print("\n  {}\n  → {}\n", kit::join_words(shown.source), kit::join_words(shown.words));
    show_heads(*model, corpus, shown.source, shown.words, how.out / "heads.svg");
  }
}

void on_real_text(const kit::Options& options, const Settings& settings, kit::Report& report) {
  kit::CorpusOptions reading{.at_least = settings.at_least};
  if (options.smoke) reading.most_tests = 20;
  const Corpus corpus = kit::read_multi30k(options.data, settings.direction.substr(0, 2),
                                           settings.direction.substr(3), reading);
  fmt::print("  {}\n", corpus.text());
  const TransformerPlan& plan = settings.recipe.plan;
  const auto how = training_of(options, settings, "multi30k-" + settings.direction, plan,
                               static_cast<Size>(corpus.train.size()));
  const auto model = train(how, plan, corpus);

  report.section("The test set");
  const auto translate = [&](Size beam) {
    return kit::translate(*model, corpus.source, corpus.target, corpus.test.source,
                          {.beam = beam, .length_power = settings.length_power});
  };
  const auto written = translate(settings.beam);
  const kit::Bleu greedy = kit::corpus_bleu(kit::words_of(translate(1)), corpus.test.target),
                  searched = kit::corpus_bleu(kit::words_of(written), corpus.test.target);
  fmt::print("  greedy:    {}\n  beam of {}: {}\n", greedy.text(), settings.beam, searched.text());
  report.at_least("BLEU, greedy", greedy.score, 57);
  report.at_least("BLEU with a beam", searched.score, 59);
  for (const kit::Translation& one : written) {
    if (one.words.size() > 11 || kit::crossings(one).empty()) continue;
    fmt::print("\n  {}\n  → {}\n", kit::join_words(one.source), kit::join_words(one.words));
    show_heads(*model, corpus, one.source, one.words, how.out / "heads.svg");
    break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Recipe grammar{.plan = {.layers = 2, .width = 64, .heads = 4, .hidden = 128, .dropout = 0.1},
                       .rate = 3e-3};
  const Recipe multi30k{
      .plan = {.layers = 3, .width = 192, .heads = 4, .hidden = 384, .word_dropout = 0.3, .dropout = 0.2},
      .epochs = 20,
      .rate = 1.5e-3,
      .average = 0.98};
  kit::Lesson program("22_transformer", "two stacks joined by cross-attention");
  program.steps(1400, 6);
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  Settings settings;
  Recipe& given = settings.recipe = grammar;
  program.add("--direction", settings.direction, "with --data: which language into which",
              {"en-fr", "fr-en"});
  program.add("--decoder", settings.decoder, "with --data: which decoder", {"transformer", "recurrent"});
  each_number(given, given,
              [&](const char* name, auto& value, const auto&, const char* help, auto least, auto most) {
                program.add(name, value, help, least, most);
              });
  program.add("--at-least", settings.at_least, "with --data: a word seen so often gets into the dictionary",
              1, 1'000'000);
  program.add("--beam", settings.beam, "hypotheses that a search keeps", 1, 100);
  program.add("--length-power", settings.length_power, "how much a search makes up for length", 0.0, 3.0);
  program.add_flag("--fresh", settings.fresh, "forget the checkpoint and start anew");
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool real = !options.data.empty();
    Recipe usual = real ? multi30k : grammar;
    each_number(given, usual, [&](const char* name, auto& value, const auto& otherwise, auto&&...) {
      if (!program.given(name)) value = otherwise;
    });
    given.plan.recurrent_decoder = settings.decoder == "recurrent";
    settings.in_epochs = real && !options.smoke && !program.given("--steps");

    report.section("Both blocks from ops");
    build_by_hand(report);
    report.section("Label smoothing");
    show_smoothing(report, options.out);
    report.section("Warm-up");
    show_warm_up(report, options.out);
    report.section(real ? "Training on real sentences" : "Training on the grammar");
    real ? on_real_text(options, settings, report) : on_the_grammar(options, settings, report);
  });
}
