// 22 transformer: two stacks joined by cross-attention
//
// Everything is there: attention that asks with many heads (18), positions (17), blocks (19), a causal mask
// (20). The transformer of the paper (Vaswani et al. 2017) only joins two stacks. The encoder's blocks attend
// to the source, in both directions. The decoder's attend to what was written so far, and then, with a second
// attention in each block, to what the encoder read:
//
//     encoder block      x ← x + attend(x, x)              each place of the source asks all others
//                        x ← x + feed_forward(x)
//     decoder block      y ← y + attend(y, y), causal      each word asks those written before it
//                        y ← y + attend(y, x)              and the source
//                        y ← y + feed_forward(y)
//
// where attend(who asks, who answers) and each feed_forward read a normed input. No state runs along the
// sentence: under teacher forcing all words are computed at once, and only writing goes word by word.
//
// You will: 1 build both blocks from ops, and find nn/'s numbers; 2 see what label smoothing asks for; 3 see
// why the learning rate warms up; 4 train a translator, and a recurrent decoder on the same encoder; 5 test
// them on new sentences; 6 look at every head of every layer. With --data it learns Multi30k, and --translate
// takes a sentence of yours, --translate-file a file.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <tuple>

#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "lessons/22_transformer/options.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/text/utf8.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "lessons/kit/translation/saved.hpp"
#include "nn/transformer/transformer.hpp"
#include "optim/adam.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using kit::Corpus;
using kit::TransformerPlan;
using kit::Translation;
using kit::Words;
namespace fs = std::filesystem;

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

/// One block of nn/'s, with its weights; a decoder's block has a memory, which is what its second attention
/// asks, with a mask for each.
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
//
// Two translators learn the grammar of lesson 15, in which some pairs of adjective and noun are never shown.
// Both have the same encoder. One has the decoder above. The other has Bahdanau's (lesson 11), with a state
// that runs from word to word and asks what this encoder read: to an attention, states are states, whoever
// made them. The loop is lesson 15's, kit/translation/training.cpp; the recipes stand at the end of this file.
// On real text (--data) there is one translator, and --decoder says which.
//
// Real text has more words than one can learn: of every five new sentences one holds a word that the training
// text had once or never. <unk> tells the encoder nothing, and the decoder writes it where a word should be.
// So words are cut into pieces (--merges; nn/text/byte_pairs.hpp): "snowfalls" becomes "snow" and "falls". A
// frequent word stays whole, a rare one is spelled, and hardly any is unknown. The model reads and writes
// pieces; what it wrote is joined to words before it is judged. --preset long takes its time, with more
// dropout: the more often a text comes by, the more of it is learned by heart.

struct Settings : kit::TransformerSettings {
  std::string decoder = "transformer", preset = "usual";

  /// Of real text: the name of its folder, but for the decoder.
  std::string task() const { return "multi30k-" + direction + (preset == "long" ? "-long" : ""); }
};

struct Trained {
  TransformerPlan plan;
  fs::path folder;
  std::unique_ptr<SequenceModel> model;
};

Trained train(const kit::TranslatorTraining& how, const TransformerPlan& plan, const Corpus& corpus) {
  Trained trained{plan, how.out, kit::make_translator(plan, corpus.source.size(), corpus.target.size())};
  trained.model->initialise(how.seed);
  fmt::print("\n  {}: {} weights\n", plan.label(), kit::weights_of(*trained.model));
  kit::train_translator(*trained.model, corpus, how);
  return trained;
}

/// On the grammar with each decoder, on real text with the one that was asked for.
std::vector<Trained> train_all(const kit::Options& options, const Settings& settings, const Corpus& corpus) {
  std::vector<Trained> all;
  if (!options.data.empty()) {
    const auto how = kit::training_of(options, settings, settings.task(), settings.plan, corpus.train.size());
    all.push_back(train(how, settings.plan, corpus));
    return all;
  }
  for (const bool recurrent : {false, true}) {
    TransformerPlan plan = settings.plan;
    plan.recurrent_decoder = recurrent;
    all.push_back(train(kit::training_of(options, settings, "grammar", plan), plan, corpus));
  }
  return all;
}

Corpus read_corpus(const kit::Options& options, const Settings& settings) {
  if (options.data.empty())
    return kit::grammar_corpus(options.seed, {.sentences = options.smoke ? 500 : 20'000});
  kit::CorpusOptions reading{.at_least = settings.at_least, .merges = settings.recipe.merges};
  if (options.smoke) reading.most_tests = 20;
  return kit::read_multi30k(options.data, settings.from(), settings.to(), reading);
}

// ---- 5. New sentences ------------------------------------------------------------------------------------
//
// The grammar's have one right translation each. Real ones get their BLEU, once greedily and once with a beam
// (lesson 15).

/// Returns lesson 15's sentence, as the first one wrote it.
Translation test_on_grammar(const std::vector<Trained>& all, const Corpus& corpus,
                            const kit::Options& options, kit::Report& report) {
  for (const Trained& each : all)
    for (const auto& [what, split, stream] :
         {std::tuple("new sentences", kit::GrammarSplit::fresh, 0),
          std::tuple("pairs never seen together", kit::GrammarSplit::held_out, 1)}) {
      const kit::ParallelText text = kit::parallel(kit::grammar_sentences(
          options.seed, static_cast<std::uint64_t>(stream), split, options.smoke ? 20 : 500));
      const auto written = kit::translate(*each.model, corpus.source, corpus.target, text.source);
      report.at_least(fmt::format("exact, {}, {}", what, each.plan.label()),
                      kit::exact_match(kit::words_of(written), text.target), 98, "%");
    }
  return kit::translate(*all.front().model, corpus.source, corpus.target, {kit::grammar_showcase().source})
      .front();
}

/// Returns a short sentence of the test set in which something crosses, as the beam wrote it.
Translation test_on_real_text(const Trained& trained, const Corpus& corpus, const Settings& settings,
                              kit::Report& report) {
  const auto translate = [&](Size beam) {
    return kit::translate(*trained.model, corpus.source, corpus.target, corpus.test.source,
                          {.beam = beam, .length_power = settings.length_power});
  };
  const auto written = translate(settings.beam);
  const kit::Bleu greedy = kit::corpus_bleu(kit::words_of(translate(1)), corpus.test.target),
                  searched = kit::corpus_bleu(kit::words_of(written), corpus.test.target);
  fmt::print("  greedy:    {}\n  beam of {}: {}\n", greedy.text(), settings.beam, searched.text());
  if (settings.direction == "en-fr" && !settings.plan.recurrent_decoder) {  // what the targets are for
    report.at_least("BLEU, greedy", greedy.score, 57);
    report.at_least("BLEU with a beam", searched.score, settings.preset == "long" ? 61 : 59);
  } else {
    report.part_of_lesson();
  }
  for (const Translation& one : written)
    if (one.words.size() <= 11 && !kit::crossings(one).empty()) return one;
  return written.front();
}

// ---- 6. Every head of every layer ------------------------------------------------------------------------
//
// A recurrent decoder looks at the source once a word. A transformer looks with every head of every layer,
// and they need not look at the same place: some find the word that is being translated, some its neighbours,
// some the end of the sentence, where a head parks that has nothing to add.

void show_heads(const TransformerTranslator& model, const kit::Lexicon& source, const kit::Lexicon& target,
                const Translation& written, const fs::path& file) {
  const auto pair = kit::encode_pairs({{written.source}, {written.words}}, source, target).front();
  const kit::Padded read = kit::pad({pair.source}), write = kit::pad({pair.target});
  kit::HeatmapGrid grid{.title = "Where each head looked, layer.head"};
  Words columns = source.labels(written.source), rows = target.labels(written.words);
  columns.emplace_back("<end>");
  rows.emplace_back("<end>");
  std::deque<WeightRecorder> recorders;
  for (const TransformerBlock& block : model.stack.blocks) recorders.emplace_back(block.cross->attention);
  const Indices words = kit::indices(write).columns(0, write.columns - 1);  // all but <end> go in
  model(kit::indices(read), kit::valid_lengths(read), words);
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

/// A sentence, its translation, and where the model looked while it wrote that.
void show_translation(SequenceModel& model, const kit::Lexicon& source, const kit::Lexicon& target,
                      const Translation& written, const fs::path& file) {
  fmt::print("\n  {}\n  → {}\n", kit::printable(kit::join_words(written.source)),
             kit::printable(kit::join_words(written.words)));
  const Evaluating evaluating(model);
  if (const auto* transformer = dynamic_cast<TransformerTranslator*>(&model))
    show_heads(*transformer, source, target, written, file);
  else
    kit::show(kit::alignment_picture(written, "Where each word looked"), file);
}

/// --translate and --translate-file: the model of a checkpoint, on a sentence of yours, or on a file.
void translate_yours(const fs::path& folder, const Settings& settings) {
  const kit::TranslateOptions how = {.beam = settings.beam, .length_power = settings.length_power};
  const fs::path checkpoint = kit::checkpoint_in(folder);
  if (!settings.file.file.empty()) return kit::translate_file(checkpoint, settings.file, how);
  const auto [translator, written] = kit::translate_sentence(checkpoint, settings.sentence, how);
  show_translation(*translator.model, translator.source, translator.target, written,
                   folder / "translated.svg");
}

}  // namespace

int main(int argc, char** argv) {
  // What is usual on the grammar, and what was best on Multi30k's validation sentences. Each field is an
  // option too: --help says what it does.
  const kit::TransformerRecipe grammar = {
      .layers = 2, .width = 64, .heads = 4, .hidden = 128, .dropout = 0.1, .rate = 3e-3};
  // Four narrow layers: in the same time they see the text more often than three wide ones.
  const kit::TransformerRecipe multi30k = {.layers = 4,
                                           .width = 128,
                                           .heads = 4,
                                           .hidden = 256,
                                           .epochs = 24,
                                           .merges = 4000,
                                           .word_dropout = 0.2,
                                           .dropout = 0.15,
                                           .rate = 2.5e-3,
                                           .average = 0.98,
                                           .length_power = 2.6};
  kit::TransformerRecipe lasting = multi30k;
  lasting.epochs = 90;
  lasting.word_dropout = 0.3;
  lasting.dropout = 0.25;
  lasting.length_power = 2;
  kit::Lesson program("22_transformer", "two stacks joined by cross-attention");
  program.steps(1400, 6);
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  Settings settings;
  program.add("--preset", settings.preset,
              "with --data: the recipe; usual takes 17 minutes on two cores, long 75 minutes, and then "
              "searches with a length power of 2",
              {"usual", "long"});
  program.add("--decoder", settings.decoder, "with --data, --translate or --translate-file: which decoder",
              {"transformer", "recurrent"});
  kit::offer(program, settings, grammar, multi30k);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const bool real = !options.data.empty();
    const bool only_translates = kit::only_translates(program);
    // It searches as on real text then, whatever it was trained on.
    const kit::TransformerRecipe& on_real_text = settings.preset == "long" ? lasting : multi30k;
    kit::follow(program, real || only_translates ? on_real_text : grammar, settings);
    settings.plan.recurrent_decoder = settings.decoder == "recurrent";
    if (only_translates) {
      const auto of = [&](const std::string& task) {
        return kit::folder_of(options.out, task, settings.plan);
      };
      const bool asked = real || program.given("--direction") || program.given("--preset");
      return translate_yours(kit::folder_to_translate_with(of(settings.task()), of("grammar"), asked),
                             settings);
    }
    kit::expect_real_text(program, options, settings, {"--epochs", "--merges", "--preset", "--decoder"});

    report.section("Both blocks from ops");
    build_by_hand(report);
    report.section("Label smoothing");
    show_smoothing(report, options.out);
    report.section("Warm-up");
    show_warm_up(report, options.out);
    report.section("Training");
    const Corpus corpus = read_corpus(options, settings);
    fmt::print("  {}{}\n", corpus.text(), real ? "" : "; some adjective–noun pairs are never shown");
    const std::vector<Trained> all = train_all(options, settings, corpus);
    const Trained& first = all.front();
    report.section("New sentences");
    const Translation shown = real ? test_on_real_text(first, corpus, settings, report)
                                   : test_on_grammar(all, corpus, options, report);
    report.section("Every head of every layer");
    show_translation(*first.model, corpus.source, corpus.target, shown, first.folder / "heads.svg");
  });
}
