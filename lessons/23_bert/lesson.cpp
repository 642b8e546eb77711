// 23 bert: both directions, pretrained, then fine-tuned
//
// A language model (20) reads from the left, since it must not see the word that it predicts. An encoder
// reads in both directions, and then "the next word" is no task: it stands in the input. BERT, short for
// bidirectional encoder representations from transformers (Devlin et al. 2019), hides some words and asks for
// them back: *masked* language modelling. No labels are needed, text is enough. And a model that can fill in
// any word has learned things that other tasks can use: a few labels then do what would have taken many.
//
// The text here is English beside its French, <start> English <end> French <end> (Conneau & Lample 2019). A
// hidden word can often be told from the other half alone: so the model has to find out, without being told,
// which words translate which.
//
// You will: 1 hide words as BERT does; 2 build the head that fills them in; 3 pretrain; 4 ask for hidden
// words, and look at who attended to whom; 5 fine-tune on a handful of labels, beside a model that starts
// from nothing.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check/gradcheck.hpp"
#include "core/core.hpp"
#include "lessons/23_bert/moods.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/picture/heatmap_grid.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/grammar_corpus.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/encoder.hpp"
#include "optim/adam.hpp"

using namespace tapestry;
using kit::GrammarSentence;
using kit::GrammarSplit;
using kit::Random;
using kit::Words;

namespace {

// ---- 1. Hiding words -------------------------------------------------------------------------------------
//
// Of the words 25 % are chosen (BERT chose fewer of longer texts). Of these, 80 % become [mask], 10 % some
// other word, 10 % stay as they are: no [mask] stands in the text that the model is for, so it may not rely
// on one. The loss counts the chosen words alone.

constexpr std::int64_t kNone = -1;  // no answer is asked for here

/// A text: for each place a word, its segment (0 English, 1 French), and the word that is asked for, or
/// kNone.
struct Row {
  Ids words, segments, answers;
};

/// The words of both languages, with [mask] as the last.
struct Dictionary {
  Vocabulary words;
  std::int64_t mask = 0;

  Dictionary() {
    Words all = kit::grammar_source_words();
    for (const std::string& word : kit::grammar_target_words())
      if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
    all.emplace_back("[mask]");
    words = Vocabulary::of(all);
    mask = words.id("[mask]");
  }

  /// Both halves or one, the other being empty; nothing hidden.
  Row read(const Words& english, const Words& french) const {
    Row row{{kStart}, {0}, {}};
    const auto add = [&](const Words& half, std::int64_t segment) {
      if (half.empty()) return;
      const Ids ids = words.encode_source(half);  // <end> too
      row.words.insert(row.words.end(), ids.begin(), ids.end());
      row.segments.resize(row.words.size(), segment);
    };
    add(english, 0);
    add(french, 1);
    row.answers.assign(row.words.size(), kNone);
    return row;
  }
};

Row hide(const Dictionary& dictionary, Row row, Random& random, double share = 0.25) {
  constexpr std::int64_t kFirstWord = kEnd + 1;  // the specials come before, [mask] after all words
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    if (row.words[i] < kFirstWord || !random.chance(share)) continue;
    row.answers[i] = row.words[i];
    const double coin = random.uniform();
    if (coin < 0.8)
      row.words[i] = dictionary.mask;
    else if (coin < 0.9)
      row.words[i] = kFirstWord + random.below(dictionary.mask - kFirstWord);
  }
  return row;
}

void show_hiding(const Dictionary& dictionary, const kit::Options& options, kit::Report& report) {
  Random random(options.seed);
  const GrammarSentence zone = kit::grammar_showcase();
  const Row whole = dictionary.read(zone.source, zone.target), example = hide(dictionary, whole, random, 0.3);
  std::string before, after;
  for (std::size_t i = 0; i < whole.words.size(); ++i) {
    before += " " + dictionary.words.word(whole.words[i]);
    after += " " + dictionary.words.word(example.words[i]);
  }
  fmt::print("  the text     {}\n  what goes in {}\n", before, after);

  double words = 0, chosen = 0, masked = 0, same = 0;
  for (const GrammarSentence& one :
       kit::grammar_sentences(options.seed, 9, GrammarSplit::train, options.smoke ? 50 : 2000)) {
    const Row row = dictionary.read(one.source, one.target), hidden = hide(dictionary, row, random);
    for (std::size_t i = 0; i < row.words.size(); ++i) {
      words += row.words[i] > kEnd;
      if (hidden.answers[i] == kNone) continue;
      ++chosen;
      masked += hidden.words[i] == dictionary.mask;
      same += hidden.words[i] == row.words[i];
    }
  }
  report.quoted("chosen", 100 * chosen / words, 25, 0.05, "%");
  report.quoted("of these became [mask]", 100 * masked / chosen, 80, 0.05, "%");
  report.quoted("stayed (or were replaced by themselves)", 100 * same / chosen, 10, 0.15, "%");
}

// ---- 2. The head that fills them in ----------------------------------------------------------------------
//
//     logits = norm(gelu(W x + b)) Eᵀ + c        E: the words' own vectors, tied (20)
//
// where x is the encoder's state at the hidden place: the encoder sees what stands left and right of it.
// (*Head* has two meanings: a head of attention, and this, what a task puts on top of an encoder.)

/// Rows as a batch, padded to the longest.
struct Batch {
  Indices words, segments, answers;
  ValidLengths lengths;
};

Batch batch_of(const std::vector<Row>& rows) {
  std::vector<Ids> words, segments;
  for (const Row& row : rows) {
    words.push_back(row.words);
    segments.push_back(row.segments);
  }
  const kit::Padded padded = kit::pad(words);
  Ids answers;
  for (const Row& row : rows) {
    answers.insert(answers.end(), row.answers.begin(), row.answers.end());
    answers.resize(answers.size() + static_cast<std::size_t>(padded.columns) - row.answers.size(), kNone);
  }
  return {kit::indices(padded), kit::indices(kit::pad(segments)),
          Indices(answers, {padded.rows, padded.columns}), kit::valid_lengths(padded)};
}

TransformerOptions sizes(const Dictionary& dictionary, Size width, Size layers) {
  TransformerOptions options;
  options.vocabulary = dictionary.words.size();
  options.layers = layers;
  options.block = {.width = width, .heads = 4, .hidden = 2 * width};
  options.positions = learned_positions(40, 0.5);  // of at most 40 words; deviation at the start
  options.segments = 2;
  return options;
}

struct MaskedModel : Module {
  explicit MaskedModel(const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options},
        dense{{*this, "dense"}, options.block.width, options.block.width},
        norm{{*this, "norm"}, options.block.width},
        output{{*this, "output"}, options.block.width, options.vocabulary} {
    output.weight.tie(encoder.input.words.weight);
  }

  Tensor states(const Batch& batch) const { return encoder(batch.words, batch.lengths, batch.segments); }
  Tensor operator()(const Batch& batch) const { return output(norm(gelu(dense(states(batch))))); }
  Tensor loss(const Batch& batch) const {
    return cross_entropy((*this)(batch), batch.answers, {.ignore = kNone});
  }

  TransformerEncoder encoder;
  Linear dense;
  LayerNorm norm;
  Linear output;
};

/// −mean log p of the words that were hidden, from ops: what cross_entropy does when it ignores the rest.
Tensor loss_by_hand(const Tensor& states, const MaskedModel& m, const Indices& answers) {
  const Tensor units = gelu(matmul(states, transpose(m.dense.weight)) + m.dense.bias);
  const Tensor centred = units - mean(units, {-1}, Keep::yes);
  const Tensor normed =
      centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) * m.norm.weight + m.norm.bias;
  const Tensor logits = matmul(normed, transpose(m.output.weight)) + m.output.bias;
  Ids places, words;  // of the answers, in the text row after row
  const Ids all = answers.to_vector();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != kNone) {
      places.push_back(static_cast<std::int64_t>(i));
      words.push_back(all[i]);
    }
  const auto count = static_cast<Size>(places.size());
  const Tensor rows =
      embedding(reshape(logits, {answers.count(), logits.size(-1)}), Indices(places, {count}));
  return -mean(gather(log_softmax(rows, -1), 1, Indices(words, {count, 1})));
}

void build_the_head(const Dictionary& dictionary, std::uint64_t seed, kit::Report& report) {
  MaskedModel model(sizes(dictionary, 8, 1));
  model.initialise(seed, DType::f64);
  Random random(seed);
  std::vector<Row> some;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, 8, GrammarSplit::train, 3))
    some.push_back(hide(dictionary, dictionary.read(one.source, one.target), random, 0.3));
  const Batch batch = batch_of(some);
  const auto by_hand = [&] { return loss_by_hand(model.states(batch), model, batch.answers); };
  const auto by_nn = [&] { return model.loss(batch); };
  const GradcheckResult found =
      gradcheck([&](const Tensor& x) { return loss_by_hand(x, model, batch.answers); },
                model.states(batch).detach(), {model.dense.weight, model.norm.weight, model.output.weight});
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the head by hand, f64", found.ok());
  const auto leaves = model.parameters();
  report.check("the same loss as nn/, to 1e-12", kit::farthest({by_hand()}, {by_nn()}) < 1e-12);
  report.check("the same gradients, to 1e-12",
               kit::farthest(kit::gradients(by_hand, leaves, 4), kit::gradients(by_nn, leaves, 4)) < 1e-12);
}

// ---- 3. Pretraining --------------------------------------------------------------------------------------
//
// The text is lesson 15's grammar, but with moods (moods.hpp): words keep company with words of their kind,
// as they do in real text. Nobody tells the model; section 5 asks what it has noticed. Half of the rows have
// both halves; the others have one, so that each language is learned by itself too.

void pretrain(MaskedModel& model, const Dictionary& dictionary, const kit::Options& options) {
  constexpr int kRows = 64;
  const auto text = moody(options.seed, 7, GrammarSplit::train, options.smoke ? 200 : 20'000);
  kit::train(
      model,
      {.name = "pretraining", .steps = options.steps, .batch = kRows, .unit = "rows", .seed = options.seed},
      [&](Random random) {
        std::vector<Row> rows;
        for (int i = 0; i < kRows; ++i) {
          const GrammarSentence& one =
              text[static_cast<std::size_t>(random.below(static_cast<Size>(text.size())))];
          const std::int64_t kind = random.below(4);
          rows.push_back(hide(
              dictionary, dictionary.read(kind == 1 ? Words{} : one.source, kind == 0 ? Words{} : one.target),
              random));
        }
        return model.loss(batch_of(rows));
      });
}

// ---- 4. Asking for hidden words --------------------------------------------------------------------------
//
// One word of a new sentence is hidden, in one half. The picture shows every head on a whole sentence pair,
// where English and French stand below each other and beside each other. Dark squares beside the diagonal are
// neighbours, and the first layer has most of them. Lines in the other two corners join a word with its
// translation: nobody told the model of translations. Where the adjective stands behind its noun, the line
// crosses over itself.

/// How many hidden words of the half `segment` come back, in per cent.
double recovered(MaskedModel& model, const Dictionary& dictionary,
                 const std::vector<GrammarSentence>& sentences, std::int64_t segment, std::uint64_t seed) {
  const Evaluating evaluating(model);
  Random random(seed);
  std::vector<Row> rows;
  for (const GrammarSentence& one : sentences) {
    Row row = dictionary.read(one.source, one.target);
    std::size_t at = 0;
    while (row.words[at] <= kEnd || row.segments[at] != segment)
      at = static_cast<std::size_t>(random.below(static_cast<Size>(row.words.size())));
    row.answers[at] = row.words[at];
    row.words[at] = dictionary.mask;
    rows.push_back(row);
  }
  const Batch batch = batch_of(rows);
  const Ids said = argmax(model(batch)).to_vector(), wanted = batch.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += wanted[i] != kNone && wanted[i] == said[i];
  return 100 * right / static_cast<double>(sentences.size());
}

void show_attention(MaskedModel& model, const Dictionary& dictionary, const std::filesystem::path& file) {
  const Evaluating evaluating(model);
  const GrammarSentence zone = kit::grammar_showcase();
  const Row row = dictionary.read(zone.source, zone.target);
  Words names;
  for (const std::int64_t id : row.words) names.push_back(dictionary.words.word(id));
  kit::HeatmapGrid grid{.title = "Who attends to whom, layer.head: English first, then French", .across = 4};
  for (Size layer = 0; layer < model.encoder.stack.blocks.size(); ++layer) {
    const WeightRecorder looked(model.encoder.stack.blocks[layer].self.attention);
    model(batch_of({row}));
    const Tensor weights = select(looked.weights().front(), 0, 0);  // (heads, words, words)
    for (Size head = 0; head < weights.size(0); ++head)
      grid.maps.push_back({.title = fmt::format("{}.{}", layer + 1, head + 1),
                           .columns = names,
                           .rows = names,
                           .values = select(weights, 0, head).to_vector()});
  }
  kit::show(grid, file);
}

// ---- 5. Fine-tuning --------------------------------------------------------------------------------------
//
// A new task: is a French sentence friendly? Half of them are, so guessing gives 50 %. Labels are few, and
// French has many forms (vert, verte, verts, vertes): many words of the test stand in none of the labelled
// sentences, the table says how many. But pretraining has seen which words keep company.

struct Labelled {
  Batch batch;
  Indices friendly;  // (rows): 0 or 1
};

/// So many French sentences of the task, half of them friendly.
Labelled labelled(const Dictionary& dictionary, std::uint64_t seed, std::uint64_t stream, GrammarSplit split,
                  Size count) {
  std::vector<Row> rows;
  Ids labels;
  Size wanted[2] = {count / 2, count - count / 2};
  for (const GrammarSentence& one : moody(seed, stream, split, 3 * count + 30)) {
    const bool friendly = mood(one) > 0;
    if (wanted[friendly] == 0) continue;
    --wanted[friendly];
    rows.push_back(dictionary.read({}, one.target));
    labels.push_back(friendly);
  }
  return {batch_of(rows), Indices(labels, {static_cast<Size>(labels.size())})};
}

/// The encoder with a layer for two classes on the mean of its states.
struct Classifier : Module {
  explicit Classifier(const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options}, output{{*this, "output"}, options.block.width, 2} {}

  Tensor operator()(const Batch& batch) const {
    return output(mean_over_time(encoder(batch.words, batch.lengths, batch.segments), batch.lengths));
  }

  TransformerEncoder encoder;
  Linear output;
};

/// Trains on the labels, with the encoder of `start` or from nothing, and returns the accuracy on the test.
double fine_tune(const TransformerOptions& options, const MaskedModel* start, const Labelled& labels,
                 const Labelled& test, std::uint64_t seed, Size steps) {
  Classifier model(options);
  model.initialise(seed);
  if (start) model.encoder.load_state(start->encoder.state());
  Adam adam(model.parameters(), {.learning_rate = 1e-3});
  for (Size step = 1; step <= steps; ++step) {  // all labels at every step
    Tape tape;
    tape.backward(cross_entropy(model(labels.batch), labels.friendly));
    adam.step(std::min(1.0, static_cast<double>(step) / 10));
  }
  return kit::percent_equal(argmax(model(test.batch)), test.friendly);
}

/// Of the different words of the test: the share that stands in no labelled sentence, in per cent.
double never_labelled(const Labelled& test, const Labelled& labels) {
  const auto words_of = [](const Labelled& some) {
    const Ids ids = some.batch.words.to_vector();
    return std::set<std::int64_t>(ids.begin(), ids.end());
  };
  const auto known = words_of(labels), asked = words_of(test);
  const auto unknown =
      std::count_if(asked.begin(), asked.end(), [&](std::int64_t word) { return known.count(word) == 0; });
  return 100 * static_cast<double>(unknown) / static_cast<double>(asked.size());
}

void few_labels(const MaskedModel& pretrained, const TransformerOptions& options,
                const Dictionary& dictionary, const kit::Options& how, kit::Report& report) {
  const Size draws = how.smoke ? 1 : 5, steps = how.smoke ? 2 : 40;  // each accuracy is a mean of so many
  const Labelled test = labelled(dictionary, how.seed, 5, GrammarSplit::fresh, how.smoke ? 40 : 400);
  kit::Chart chart{.title = "Accuracy against labels", .x_label = "labels", .y_label = "%"};
  chart.x_scale = kit::Scale::log;
  chart.series = {{"fine-tuned"}, {"from nothing"}};
  chart.levels = {{50, "guessing"}};
  fmt::print("  {:>6}  {:>10}  {:>12}  {:>20}\n", "labels", "fine-tuned", "from nothing",
             "words never labelled");
  double gain = 0;  // at 32 labels
  for (const Size count : {8, 16, 32, 64, 128}) {
    if (how.smoke && count > 8) break;
    double tuned = 0, untaught = 0, unknown = 0;
    for (Size draw = 0; draw < draws; ++draw) {
      const auto number = static_cast<std::uint64_t>(draw);
      const Labelled labels = labelled(dictionary, how.seed, 100 + number, GrammarSplit::train, count);
      const auto share = 1 / static_cast<double>(draws);
      tuned += share * fine_tune(options, &pretrained, labels, test, how.seed + number, steps);
      untaught += share * fine_tune(options, nullptr, labels, test, how.seed + number, steps);
      unknown += share * never_labelled(test, labels);
    }
    fmt::print("  {:>6}  {:>8.1f} %  {:>10.1f} %  {:>18.1f} %\n", count, tuned, untaught, unknown);
    for (std::size_t i = 0; i < 2; ++i) {
      chart.series[i].x.push_back(static_cast<double>(count));
      chart.series[i].y.push_back(i == 0 ? tuned : untaught);
    }
    if (count == 32) gain = tuned - untaught;
  }
  kit::show(chart, how.out / "labels.svg");
  report.at_least("fine-tuned above from nothing, 32 labels", gain, 10, "points");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("23_bert", "both directions, pretrained, then fine-tuned");
  program.steps(2400, 4);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const Dictionary dictionary;
    report.section("Hiding words");
    show_hiding(dictionary, options, report);
    report.section("The head that fills them in");
    build_the_head(dictionary, options.seed, report);

    report.section("Pretraining");
    const TransformerOptions usual = sizes(dictionary, 64, 2);
    MaskedModel model(usual);
    model.initialise(options.seed);
    fmt::print("  {} words of both languages, {} weights\n", usual.vocabulary, kit::weights_of(model));
    pretrain(model, dictionary, options);

    report.section("Asking for hidden words");
    const auto fresh = moody(options.seed, 6, GrammarSplit::fresh, options.smoke ? 20 : 1000);
    report.at_least("hidden English words recovered", recovered(model, dictionary, fresh, 0, options.seed),
                    95, "%");
    report.at_least("hidden French words recovered", recovered(model, dictionary, fresh, 1, options.seed), 95,
                    "%");
    show_attention(model, dictionary, options.out / "attention.svg");

    report.section("Fine-tuning");
    few_labels(model, usual, dictionary, options, report);
  });
}
