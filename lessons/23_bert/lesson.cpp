// 23 bert: both directions, pretrained, then fine-tuned
//
// A language model (20) reads from the left, since it must not see the word that it predicts. An encoder
// reads in both directions, and then "the next word" is no task: it stands in the input. BERT (Devlin et al.
// 2019) hides some words and asks for them back. No labels are needed, text is enough. And a model that can
// fill in any word has learned things that other tasks can use: a few labels then do what would have taken
// many.
//
// The text here is English beside its French, [start] English [end] French [end] (Conneau & Lample 2019). A
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

#include "core/core.hpp"
#include "core/gradcheck.hpp"
#include "core/safetensors.hpp"
#include "lessons/kit/agreement.hpp"
#include "lessons/kit/grammar_corpus.hpp"
#include "lessons/kit/heatmap_grid.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/tensors.hpp"
#include "nn/loss.hpp"
#include "nn/transformer/encoder.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

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

/// One language's ids or both; sorted into segments, 0 English and 1 French.
struct Reading {
  Ids ids;
  Ids segments;
};

struct Hidden {
  Reading reading;
  Ids answers;  // the word that was there, or kNone
};

/// Words of both languages in one vocabulary, with [mask] as the last.
struct Both {
  Vocabulary words;
  std::int64_t mask = 0;

  Both() {
    Words all = kit::grammar_source_words();
    for (const std::string& word : kit::grammar_target_words())
      if (std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
    all.emplace_back("[mask]");
    words = Vocabulary::of(all);
    mask = words.id("[mask]");
  }
  Size size() const { return words.size(); }

  Reading read(const Words& english, const Words& french) const {
    Reading reading;
    const auto add = [&](const Ids& ids, std::int64_t segment) {
      reading.ids.insert(reading.ids.end(), ids.begin(), ids.end());
      reading.segments.resize(reading.ids.size(), segment);
    };
    add({kStart}, 0);
    if (!english.empty()) add(words.encode_source(english), 0);
    if (!french.empty()) add(words.encode_source(french), 1);
    return reading;
  }
};

Hidden hide(const Both& both, const Reading& reading, Random& random, double share = 0.25) {
  Hidden hidden{reading, Ids(reading.ids.size(), kNone)};
  for (std::size_t i = 0; i < reading.ids.size(); ++i) {
    if (reading.ids[i] == kStart || reading.ids[i] == kEnd || random.uniform() >= share) continue;
    hidden.answers[i] = reading.ids[i];
    const double coin = random.uniform();
    if (coin < 0.8)
      hidden.reading.ids[i] = both.mask;
    else if (coin < 0.9)
      hidden.reading.ids[i] = 4 + random.below(both.size() - 5);
  }
  return hidden;
}

void show_hiding(const Both& both, std::uint64_t seed, bool smoke, kit::Report& report) {
  Random random(seed);
  const GrammarSentence zone = kit::grammar_showcase();
  const Hidden example = hide(both, both.read(zone.source, zone.target), random, 0.3);
  std::string before, after;
  for (std::size_t i = 0; i < example.answers.size(); ++i) {
    const bool chosen = example.answers[i] != kNone;
    const std::string& shown = both.words.word(example.reading.ids[i]);
    before += " " + (chosen ? both.words.word(example.answers[i]) : shown);
    after += " " + shown;
  }
  fmt::print("  {}\n  {}\n", before, after);

  double words = 0, chosen = 0, masked = 0, same = 0;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, 9, GrammarSplit::train, smoke ? 50 : 2000)) {
    const Reading reading = both.read(one.source, one.target);
    const Hidden hidden = hide(both, reading, random);
    for (std::size_t i = 0; i < reading.ids.size(); ++i) {
      if (reading.ids[i] > kEnd) ++words;
      if (hidden.answers[i] == kNone) continue;
      ++chosen;
      masked += hidden.reading.ids[i] == both.mask ? 1 : 0;
      same += hidden.reading.ids[i] == reading.ids[i] ? 1 : 0;
    }
  }
  report.quoted("chosen", 100 * chosen / words, 25, 0.05, "%");
  report.quoted("of these became [mask]", 100 * masked / chosen, 80, 0.05, "%");
  report.quoted("stayed (or met themselves)", 100 * same / chosen, 10, 0.15, "%");
}

// ---- 2. The head that fills them in ----------------------------------------------------------------------
//
//     logits = norm(gelu(W x + b)) Eᵀ + c        E: the words' own vectors, tied
//
// where x is the encoder's state at the hidden place: the encoder sees what stands left and right of it.

struct MaskedModel : Module {
  MaskedModel(const Both& both, const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options},
        dense{{*this, "dense"}, options.block.width, options.block.width},
        norm{{*this, "norm"}, options.block.width},
        output{{*this, "output"}, options.block.width, both.size()} {
    output.weight.tie(encoder.input.words.weight);
  }

  Tensor operator()(const Indices& ids, const ValidLengths& lengths, const Indices& segments) const {
    return output(norm(gelu(dense(encoder(ids, lengths, segments)))));
  }

  TransformerEncoder encoder;
  Linear dense;
  LayerNorm norm;
  Linear output;
};

TransformerOptions sizes(const Both& both, Size width, Size layers) {
  TransformerOptions options;
  options.vocabulary = both.size();
  options.layers = layers;
  options.block = {.width = width, .heads = 4, .hidden = 2 * width};
  options.positions = learned_positions(40, 0.5);
  options.segments = 2;
  return options;
}

/// Readings as a batch.
struct Batch {
  Indices ids, segments, answers;
  ValidLengths lengths;
};

Batch batch_of(const std::vector<Hidden>& all) {
  std::vector<Ids> ids, segments, answers;
  for (const Hidden& one : all) {
    ids.push_back(one.reading.ids);
    segments.push_back(one.reading.segments);
    answers.push_back(one.answers);
  }
  const kit::Padded padded = kit::pad(ids);
  Batch batch{kit::indices(padded), kit::indices(kit::pad(segments)), {}, kit::valid_lengths(padded)};
  Ids flat(static_cast<std::size_t>(padded.rows * padded.columns), kNone);
  for (std::size_t row = 0; row < answers.size(); ++row)
    std::copy(answers[row].begin(), answers[row].end(),
              flat.begin() + static_cast<std::ptrdiff_t>(row) * padded.columns);
  batch.answers = Indices(flat, {padded.rows, padded.columns});
  return batch;
}

/// −mean log p of the words that were hidden, from ops: what cross_entropy does when it ignores the rest.
Tensor loss_by_hand(const Tensor& states, const MaskedModel& m, const Indices& answers) {
  const Tensor units = gelu(matmul(states, transpose(m.dense.weight)) + m.dense.bias);
  const Tensor centred = units - mean(units, {-1}, Keep::yes);
  const Tensor normed =
      centred / sqrt(mean(centred * centred, {-1}, Keep::yes) + 1e-5) * m.norm.weight + m.norm.bias;
  const Tensor logits = matmul(normed, transpose(m.output.weight)) + m.output.bias;
  std::vector<std::int64_t> places, words;
  const std::vector<std::int64_t> all = answers.to_vector();
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

void build_the_head(const Both& both, std::uint64_t seed, kit::Report& report) {
  MaskedModel model(both, sizes(both, 8, 1));
  model.initialise(seed, DType::f64);
  Random random(seed);
  std::vector<Hidden> some;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, 8, GrammarSplit::train, 3))
    some.push_back(hide(both, both.read(one.source, one.target), random, 0.3));
  const Batch batch = batch_of(some);
  const Tensor states = model.encoder(batch.ids, batch.lengths, batch.segments).detach();
  const GradcheckResult found =
      gradcheck([&](const Tensor& x) { return loss_by_hand(x, model, batch.answers); }, states,
                {model.dense.weight, model.norm.weight, model.output.weight});
  if (!found.ok()) fmt::print("{}\n", found.report());
  report.check("gradcheck of the head by hand, f64", found.ok());
  const auto leaves = model.parameters();
  const auto by_hand = [&] {
    return loss_by_hand(model.encoder(batch.ids, batch.lengths, batch.segments), model, batch.answers);
  };
  const auto by_nn = [&] {
    return cross_entropy(model(batch.ids, batch.lengths, batch.segments), batch.answers, {.ignore = kNone});
  };
  report.check("the same loss as nn/, to 1e-12", kit::farthest({by_hand()}, {by_nn()}) < 1e-12);
  report.check("the same gradients, to 1e-12",
               kit::farthest(kit::gradients(by_hand, leaves, 4), kit::gradients(by_nn, leaves, 4)) < 1e-12);
}

// ---- The text --------------------------------------------------------------------------------------------
//
// Real text has moods: who writes "pretty" is likelier to write "friend" than "falls" in the same sentence.
// So from the grammar's sentences we keep those whose words of mood agree. Nobody tells the model of moods.

const std::set<std::string> kFriendly = {"pretty", "green",  "quiet",   "open", "loves", "love",  "sings",
                                         "sing",   "friend", "friends", "tree", "trees", "music", "near"};
const std::set<std::string> kUnfriendly = {"old",    "modern", "round", "red",    "follows",
                                           "follow", "falls",  "fall",  "waits",  "wait",
                                           "door",   "doors",  "city",  "cities", "behind"};

/// Words of mood: above 0 friendly ones only, below 0 unfriendly ones only; 0: none, or both kinds.
int mood(const GrammarSentence& sentence) {
  int friendly = 0, unfriendly = 0;
  for (const std::string& word : sentence.source) {
    friendly += static_cast<int>(kFriendly.count(word));
    unfriendly += static_cast<int>(kUnfriendly.count(word));
  }
  return friendly * unfriendly > 0 ? 0 : friendly - unfriendly;
}

/// So many sentences with at least two words of mood that agree.
std::vector<GrammarSentence> moody(std::uint64_t seed, std::uint64_t stream, GrammarSplit split, Size count) {
  std::vector<GrammarSentence> kept;
  for (const GrammarSentence& one : kit::grammar_sentences(seed, stream, split, 12 * count + 500))
    if (std::abs(mood(one)) >= 2 && static_cast<Size>(kept.size()) < count) kept.push_back(one);
  return kept;
}

// ---- 3. Pretraining --------------------------------------------------------------------------------------
//
// Every other reading has both halves; the others have one, so that each language is learned by itself too.

void pretrain(MaskedModel& model, const Both& both, const kit::Options& options) {
  const auto text = moody(options.seed, 7, GrammarSplit::train, options.smoke ? 200 : 20'000);
  Adam adam(model.parameters(), {.learning_rate = 3e-3, .beta2 = 0.98});
  const Schedule rate = then(warm_up(options.steps / 10 + 1), options.steps / 10 + 1,
                             cosine_decay(options.steps - options.steps / 10, 0.02));
  kit::Progress progress(options.steps, {.unit = "words"});
  Random random(options.seed + 1);
  model.train();
  for (Size step = 1; step <= options.steps; ++step) {
    std::vector<Hidden> some;
    for (int i = 0; i < 64; ++i) {
      const GrammarSentence& one =
          text[static_cast<std::size_t>(random.below(static_cast<Size>(text.size())))];
      const std::int64_t kind = random.below(4);
      some.push_back(
          hide(both, both.read(kind == 1 ? Words{} : one.source, kind == 0 ? Words{} : one.target), random));
    }
    const Batch batch = batch_of(some);
    Tape tape;
    const Tensor loss =
        cross_entropy(model(batch.ids, batch.lengths, batch.segments), batch.answers, {.ignore = kNone});
    tape.backward(loss);
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(step));
    progress.step(loss.item(), static_cast<double>(batch.ids.count()));
  }
  progress.finish();
}

// ---- 4. Asking for hidden words --------------------------------------------------------------------------
//
// In the picture the first layer's heads look at neighbours. In the second some look across: English rows at
// French columns and back, and where the adjective stands behind its noun the line crosses over itself.

/// One word of each new sentence hidden, in the half `segment`: how many come back, in per cent.
double recovered(MaskedModel& model, const Both& both, const std::vector<GrammarSentence>& sentences,
                 std::int64_t segment, std::uint64_t seed) {
  const Evaluating evaluating(model);
  Random random(seed);
  std::vector<Hidden> some;
  for (const GrammarSentence& one : sentences) {
    const Reading reading = both.read(one.source, one.target);
    Hidden hidden{reading, Ids(reading.ids.size(), kNone)};
    for (;;) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<Size>(reading.ids.size())));
      if (reading.ids[at] <= kEnd || reading.segments[at] != segment) continue;
      hidden.answers[at] = reading.ids[at];
      hidden.reading.ids[at] = both.mask;
      break;
    }
    some.push_back(hidden);
  }
  const Batch batch = batch_of(some);
  const std::vector<std::int64_t> said = argmax(model(batch.ids, batch.lengths, batch.segments)).to_vector(),
                                  wanted = batch.answers.to_vector();
  double right = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) right += wanted[i] != kNone && wanted[i] == said[i] ? 1 : 0;
  return 100 * right / static_cast<double>(sentences.size());
}

void show_attention(MaskedModel& model, const Both& both, const std::filesystem::path& file) {
  const Evaluating evaluating(model);
  const GrammarSentence zone = kit::grammar_showcase();
  const Reading reading = both.read(zone.source, zone.target);
  Words names;
  for (const std::int64_t id : reading.ids) names.push_back(both.words.word(id));
  const Batch batch = batch_of({{reading, Ids(reading.ids.size(), kNone)}});
  kit::HeatmapGrid grid{.title = "Who attends to whom, layer.head: English first, then French", .across = 4};
  for (Size layer = 0; layer < model.encoder.stack.blocks.size(); ++layer) {
    const WeightRecorder looked(model.encoder.stack.blocks[layer].self.attention);
    model(batch.ids, batch.lengths, batch.segments);
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
// A new task: is a French sentence friendly? Labels are few, and French has many forms (vert, verte, verts,
// vertes): most words of the test stand in none of the labelled sentences. But pretraining has seen which
// words keep company.

struct Labelled {
  Reading reading;
  std::int64_t friendly = 0;
};

/// So many sentences of the task, half of them friendly.
std::vector<Labelled> labelled(const Both& both, std::uint64_t seed, std::uint64_t stream, GrammarSplit split,
                               Size count) {
  std::vector<Labelled> found;
  Size open[2] = {count / 2, count - count / 2};
  for (const GrammarSentence& one : moody(seed, stream, split, 3 * count + 30)) {
    const bool friendly = mood(one) > 0;
    if (open[friendly] == 0) continue;
    --open[friendly];
    found.push_back({both.read({}, one.target), friendly});
  }
  return found;
}

/// The encoder with a layer for two classes on the mean of its states.
struct Classifier : Module {
  explicit Classifier(const TransformerOptions& options)
      : encoder{{*this, "encoder"}, options}, output{{*this, "output"}, options.block.width, 2} {}

  Tensor operator()(const Batch& batch) const {
    return output(mean_over_time(encoder(batch.ids, batch.lengths, batch.segments), batch.lengths));
  }

  TransformerEncoder encoder;
  Linear output;
};

Batch batch_of(const std::vector<Labelled>& all, Ids& labels) {
  std::vector<Hidden> readings;
  for (const Labelled& one : all) {
    readings.push_back({one.reading, Ids(one.reading.ids.size(), kNone)});
    labels.push_back(one.friendly);
  }
  return batch_of(readings);
}

/// Trains on the labels, with the encoder of `start` or from nothing, and returns the accuracy on the test.
double fine_tune(const TransformerOptions& options, const MaskedModel* start,
                 const std::vector<Labelled>& labels, const std::vector<Labelled>& test, std::uint64_t seed,
                 Size steps) {
  Classifier model(options);
  model.initialise(seed);
  if (start) model.encoder.load_state(start->encoder.state());
  Adam adam(model.parameters(), {.learning_rate = 1e-3});
  Ids answers, wanted;
  const Batch batch = batch_of(labels, answers), asked = batch_of(test, wanted);
  const Indices targets(answers, {static_cast<Size>(answers.size())});
  model.train();
  for (Size step = 1; step <= steps; ++step) {
    set_random(seed, static_cast<std::uint64_t>(step));
    Tape tape;
    tape.backward(cross_entropy(model(batch), targets));
    adam.step(std::min(1.0, static_cast<double>(step) / 10));
  }
  model.eval();
  return kit::percent_equal(argmax(model(asked)), Indices(wanted, {static_cast<Size>(wanted.size())}));
}

void few_labels(const TransformerOptions& options, const MaskedModel& pretrained, const Both& both,
                const kit::Options& how, kit::Report& report) {
  const Size draws = how.smoke ? 1 : 5, steps = how.smoke ? 2 : 40;
  const auto test = labelled(both, how.seed, 5, GrammarSplit::fresh, how.smoke ? 40 : 400);
  kit::Chart chart{.title = "Accuracy against labels", .x_label = "labels", .y_label = "%"};
  chart.x_scale = kit::Scale::log;
  chart.series = {{"fine-tuned"}, {"from nothing"}};
  double at_32[2] = {0, 0};
  fmt::print("  {:>6}  {:>10}  {:>12}\n", "labels", "fine-tuned", "from nothing");
  for (const Size count : {8, 16, 32, 64, 128}) {
    if (how.smoke && count > 16) break;
    double mean_of[2] = {0, 0};
    for (Size draw = 0; draw < draws; ++draw) {
      const auto labels =
          labelled(both, how.seed, 100 + static_cast<std::uint64_t>(draw), GrammarSplit::train, count);
      for (const bool from_nothing : {false, true})
        mean_of[from_nothing] += fine_tune(options, from_nothing ? nullptr : &pretrained, labels, test,
                                           how.seed + static_cast<std::uint64_t>(draw), steps) /
                                 static_cast<double>(draws);
    }
    fmt::print("  {:>6}  {:>8.1f} %  {:>10.1f} %\n", count, mean_of[0], mean_of[1]);
    for (const int i : {0, 1}) {
      chart.series[static_cast<std::size_t>(i)].x.push_back(static_cast<double>(count));
      chart.series[static_cast<std::size_t>(i)].y.push_back(mean_of[i]);
      if (count == 32) at_32[i] = mean_of[i];
    }
  }
  kit::show(chart, how.out / "labels.svg");
  report.at_least("fine-tuned above from nothing, 32 labels", at_32[0] - at_32[1], 10, "points");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("23_bert", "both directions, pretrained, then fine-tuned");
  program.steps(2400, 4);
  return program.run(argc, argv, [&](const kit::Options& options, kit::Report& report) {
    const Both both;
    report.section("Hiding words");
    show_hiding(both, options.seed, options.smoke, report);
    report.section("The head that fills them in");
    build_the_head(both, options.seed, report);

    report.section("Pretraining");
    const TransformerOptions usual = sizes(both, 64, 2);
    MaskedModel model(both, usual);
    model.initialise(options.seed);
    fmt::print("  {} words of both languages, {} weights\n", both.size(), kit::weights_of(model));
    pretrain(model, both, options);

    report.section("Asking for hidden words");
    const auto fresh = moody(options.seed, 6, GrammarSplit::fresh, options.smoke ? 20 : 1000);
    report.at_least("hidden English words recovered", recovered(model, both, fresh, 0, options.seed), 95,
                    "%");
    report.at_least("hidden French words recovered", recovered(model, both, fresh, 1, options.seed), 95, "%");
    show_attention(model, both, options.out / "attention.svg");

    report.section("Fine-tuning");
    few_labels(usual, model, both, options, report);

    const auto file = options.out / "encoder.safetensors";
    write_safetensors(file, model.encoder.state(), {{"vocabulary", both.words.text()}});
    fmt::print("  saved for lesson 24: {}\n", file.string());
  });
}
