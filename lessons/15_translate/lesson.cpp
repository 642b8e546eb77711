// 15 translate: it works on real language
//
// The translator of lesson 11 is not a toy. This lesson trains it on sentences: by itself on a small grammar
// that writes English with its French, and with --data on 29,000 real pairs that describe pictures
// (Multi30k). Three things are new, and all of them are about *using* a model: beam search, BLEU, and words
// that nobody taught it.
//
// What to look for. English says "international control", French "contrôle international": the adjective
// moves behind its noun. The weights show it: two neighbouring rows of the picture look at two neighbouring
// source words in the other order, and the diagonal crosses over itself. Nobody told the model about
// adjectives.

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "core/core.hpp"
#include "lessons/kit/bleu.hpp"
#include "lessons/kit/grammar.hpp"
#include "lessons/kit/kit.hpp"
#include "lessons/kit/resume.hpp"
#include "lessons/kit/runlog.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/translation.hpp"
#include "nn/loss.hpp"
#include "nn/seq2seq.hpp"
#include "optim/adam.hpp"
#include "optim/clip.hpp"
#include "optim/schedule.hpp"

using namespace tapestry;
using kit::Corpus;
using kit::GrammarSplit;
using kit::Translation;
using kit::Words;

namespace {

// ---- 1. Beam search
// -------------------------------------------------------------------------------------------------------
//
// A decoder gives probabilities for the *next* word. Taking the likeliest each time (greedy) can walk into a
// corner: here a first word of probability 0.6 leads to sentences of at most 0.6 · 0.4, while the one of 0.4
// leads to 0.4 · 0.9. A beam keeps the best few beginnings alive. The whole of it, for a table of
// probabilities in place of a network:

constexpr std::int64_t kBegin = 0, kEnd = 1;
using Row = std::vector<double>;
// next[w]: probabilities of <begin>, <end>, "a", "b", "c", "d" after the word w.
const std::vector<Row> kNext = {{0, 0, .6, .4, 0, 0}, {0, 1, 0, 0, 0, 0},   {0, .2, 0, 0, .4, .4},
                                {0, .1, 0, 0, .9, 0}, {0, .9, .1, 0, 0, 0}, {0, .5, .5, 0, 0, 0}};

struct Beginning {
  std::vector<std::int64_t> words;
  double log_probability = 0;
  bool ended = false;
};

Beginning search_by_hand(std::size_t beam, std::size_t longest) {
  std::vector<Beginning> alive = {{{kBegin}, 0, false}};
  for (std::size_t length = 0; length < longest; ++length) {
    std::vector<Beginning> longer;
    for (const Beginning& beginning : alive) {
      if (beginning.ended) {
        longer.push_back(beginning);
        continue;
      }
      const Row& next = kNext[static_cast<std::size_t>(beginning.words.back())];
      for (std::size_t word = 0; word < next.size(); ++word) {
        if (next[word] == 0) continue;
        Beginning more = beginning;
        more.words.push_back(static_cast<std::int64_t>(word));
        more.log_probability += std::log(next[word]);
        more.ended = static_cast<std::int64_t>(word) == kEnd;
        longer.push_back(std::move(more));
      }
    }
    std::stable_sort(longer.begin(), longer.end(), [](const Beginning& a, const Beginning& b) {
      return a.log_probability > b.log_probability;
    });
    if (longer.size() > beam) longer.resize(beam);
    alive = std::move(longer);
  }
  return alive.front();
}

/// The same table behind the interface that nn/decode.hpp searches.
class Table final : public StepModel {
 public:
  Size rows() const override { return rows_; }
  Step step(const Indices& words) override {
    std::vector<double> logits;
    for (const std::int64_t word : words.to_vector())
      for (const double p : kNext[static_cast<std::size_t>(word)])
        logits.push_back(p > 0 ? std::log(p) : -1e30);
    return {tensor(logits, {words.count(), static_cast<Size>(kNext.size())}, DType::f64), {}};
  }
  void keep_rows(const std::vector<Size>& rows) override { rows_ = static_cast<Size>(rows.size()); }

 private:
  Size rows_ = 1;
};

void show_beam(kit::Report& report) {
  const char* names[] = {"<begin>", "<end>", "a", "b", "c", "d"};
  const SearchOptions how{kBegin, kEnd, 4, 2, 0};
  bool same = true;
  for (const Size beam : {1, 2}) {
    const Beginning by_hand = search_by_hand(static_cast<std::size_t>(beam), 4);
    Table table;
    SearchOptions options = how;
    options.beam = beam;
    const Decoded found = beam_search(table, options).front();
    std::string text;
    for (const std::int64_t word : by_hand.words) text += fmt::format(" {}", names[word]);
    fmt::print("  beam of {}: {:<22} probability {:.3f}\n", beam, text, std::exp(by_hand.log_probability));
    same = same && std::abs(found.log_probability - by_hand.log_probability) < 1e-12 &&
           found.ids.size() + 2 == by_hand.words.size();
  }
  report.check("nn/decode finds the same sentences", same);
}

// ---- 2. BLEU
// --------------------------------------------------------------------------------------------------------------
//
// Many translations are right, so exact match is too strict for real text. BLEU (Papineni et al. 2002) counts
// which runs of 1, 2, 3 and 4 words of the output also stand in a reference, takes the geometric mean of the
// four shares, and punishes output that is too short (precision alone would love a single safe word):
//
//     BLEU = 100 · min(1, e^(1 − r/c)) · (p₁ p₂ p₃ p₄)^¼        c, r: words written, words in the reference

void show_bleu(kit::Report& report) {
  const Words reference = kit::split_words("un homme fait du vélo dans la rue"),
              output = kit::split_words("un homme fait du vélo dans une rue");
  // By hand: 7 of 8 words, 5 of 7 pairs, 4 of 6 triples, 3 of 5 runs of four; the length is right.
  const double by_hand = 100 * std::pow(7.0 / 8 * 5 / 7 * 4 / 6 * 3 / 5, 0.25);
  const kit::Bleu bleu = kit::corpus_bleu({output}, {reference});
  fmt::print("  \"{}\" for \"{}\": {}\n", kit::join_words(output), kit::join_words(reference), bleu.text());
  report.check("BLEU as counted by hand", std::abs(bleu.score - by_hand) < 1e-9);
}

// ---- 3. The model and its training
// ----------------------------------------------------------------------------------------

/// The sizes; the defaults are those of the grammar.
struct Sizes {
  std::int64_t embedding = 64, hidden = 96, batch = 64;
  double dropout = 0.1, smoothing = 0.1, rate = 4e-3;
};

TranslatorOptions translator(const Sizes& sizes, Size source_words, Size target_words) {
  TranslatorOptions options;
  options.encoder = {.vocabulary = source_words,
                     .embedding = sizes.embedding,
                     .hidden = sizes.hidden,
                     .dropout = sizes.dropout};
  options.decoder = {.vocabulary = target_words,
                     .embedding = sizes.embedding,
                     .hidden = sizes.hidden,
                     .attention = sizes.hidden,
                     .readout = sizes.embedding,
                     .dropout = sizes.dropout};
  return options;
}

/// What a run is made of.
struct Run {
  std::string name;
  const kit::Options& options;
  const Sizes& sizes;
  const Corpus& corpus;
  std::filesystem::path out;
  Size steps, steps_per_look;  // a look: greedy BLEU on validation and test
};

double bleu_of(Translator& model, const Corpus& corpus, const kit::ParallelText& text, Size beam) {
  const auto translations = kit::translate(model, corpus.source, corpus.target, text.source, {.beam = beam});
  return kit::corpus_bleu(kit::words_of(translations), text.target).score;
}

/// One step: a batch goes in, its loss comes out, and every weight moves a little.
double train_step(Translator& model, Adam& adam, const kit::Batch& batch, const kit::Forcing& forcing,
                  double smoothing, double rate) {
  Tape tape;
  const Tensor logits =
      model(kit::indices(batch.source), kit::valid_lengths(batch.source), kit::indices(forcing.input));
  const Tensor loss =
      cross_entropy(logits, kit::indices(forcing.output), {.smoothing = smoothing, .ignore = kit::kPad});
  tape.backward(loss);
  clip_gradients(model.parameters(), 1.0);
  adam.step(rate);
  return loss.item();
}

/// Trains, or goes on from the checkpoint of this very run. Everything random depends on the seed and the
/// step alone, so a run that was killed ends with the same weights, bit for bit, as one that was not.
void train(Translator& model, const Run& run) {
  using Clock = std::chrono::steady_clock;
  Adam adam(model.parameters(), {.learning_rate = run.sizes.rate});
  kit::Batches batches(run.corpus.train, {.size = run.sizes.batch, .seed = run.options.seed});
  // Rise for a tenth of an epoch or so, then fall along a cosine to a hundredth.
  const Size rise = std::max<Size>(1, run.steps / 40);
  const Schedule rate = then(warm_up(rise), rise, cosine_decay(std::max<Size>(1, run.steps - rise), 0.01));

  kit::Checkpoints checkpoints(run.out / "checkpoint.safetensors", run.name, model, adam);
  checkpoints.texts = {{"source", run.corpus.source.text()},
                       {"target", run.corpus.target.text()},
                       {"embedding", std::to_string(run.sizes.embedding)},
                       {"hidden", std::to_string(run.sizes.hidden)}};
  kit::RunPlace place;
  const bool resumed = checkpoints.resume(place);
  if (resumed)
    fmt::print("  going on from step {} of {} ({})\n", place.step, run.steps, checkpoints.file().string());
  batches.go_to(place.data);
  kit::RunLog log(run.out / "log.csv", {"loss", "words", "seconds", "val_bleu", "test_bleu"},
                  resumed ? std::optional(place.step) : std::nullopt);

  kit::Progress progress(run.steps, {.done = place.step, .unit = "words"});
  model.train();
  auto started = Clock::now();
  while (place.step < run.steps) {
    const kit::Batch batch = batches.next();
    const kit::Forcing forcing = kit::teacher_forcing(batch.target);
    ++place.step;
    set_random(run.options.seed, static_cast<std::uint64_t>(place.step));
    const double loss = train_step(model, adam, batch, forcing, run.sizes.smoothing, rate(place.step));
    place.words += static_cast<double>(forcing.words);
    place.data = batches.place();
    progress.step(loss, static_cast<double>(forcing.words));

    const bool last = place.step == run.steps, look = last || place.step % run.steps_per_look == 0;
    const auto now = Clock::now();
    place.seconds += std::chrono::duration<double>(now - started).count();
    started = now;
    if (look) {
      const double valid = bleu_of(model, run.corpus, run.corpus.valid, 1),
                   test = bleu_of(model, run.corpus, run.corpus.test, 1);
      progress.note(
          fmt::format("  step {:>6}  {:>5.1f} min  loss {:.3f}  {:.0f} words/s  BLEU, greedy: validation "
                      "{:.2f}, test {:.2f}",
                      place.step, place.seconds / 60, loss, place.words / place.seconds, valid, test));
      log.row(place.step, {loss, place.words, place.seconds, valid, test});
      started = Clock::now();
    } else if (place.step % 50 == 0) {
      const double none = std::numeric_limits<double>::quiet_NaN();
      log.row(place.step, {loss, place.words, place.seconds, none, none});
    }
    checkpoints.save(place, last);
  }
  progress.finish();
  if (place.seconds > 0)
    fmt::print("  trained {} steps, {:.0f} words in {:.1f} s: {:.0f} words/s\n", place.step, place.words,
               place.seconds, place.words / place.seconds);
}

// ---- 4. On the grammar
// ----------------------------------------------------------------------------------------------------

struct Tested {
  std::vector<kit::GrammarSentence> sentences;
  double exact = 0, crossed = 0;  // per cent; of sentences, of adjective–noun pairs that French turns round
};

Tested test_grammar(Translator& model, const Corpus& corpus, GrammarSplit split, std::uint64_t seed,
                    Size count) {
  kit::Random random(seed, 77);
  Tested tested;
  std::vector<Words> sources;
  for (Size i = 0; i < count; ++i) {
    tested.sentences.push_back(kit::sample_sentence(random, split));
    sources.push_back(tested.sentences.back().source);
  }
  const std::vector<Translation> translations = kit::translate(model, corpus.source, corpus.target, sources);
  Size exact = 0, pairs = 0, crossed = 0;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const kit::GrammarSentence& sentence = tested.sentences[i];
    const bool right = translations[i].words == sentence.target;
    exact += right;
    for (const kit::AdjectiveNoun& pair : sentence.pairs) {
      if (!pair.crosses()) continue;
      ++pairs;
      crossed += right && kit::looked_at(translations[i], pair.target_adjective) == pair.source_adjective &&
                 kit::looked_at(translations[i], pair.target_noun) == pair.source_noun;
    }
  }
  tested.exact = 100.0 * static_cast<double>(exact) / static_cast<double>(count);
  tested.crossed = 100.0 * static_cast<double>(crossed) / static_cast<double>(std::max<Size>(1, pairs));
  return tested;
}

Corpus grammar_corpus(std::uint64_t seed, Size count) {
  Corpus corpus;
  corpus.source = kit::Vocabulary::of(kit::grammar_source_words());
  corpus.target = kit::Vocabulary::of(kit::grammar_target_words());
  const auto sample = [](kit::Random& random, GrammarSplit split, Size n) {
    kit::ParallelText text;
    for (Size i = 0; i < n; ++i) {
      const kit::GrammarSentence sentence = kit::sample_sentence(random, split);
      text.source.push_back(sentence.source);
      text.target.push_back(sentence.target);
    }
    return text;
  };
  kit::Random random(seed, 15);
  corpus.train = kit::encode_pairs(sample(random, GrammarSplit::train, count), corpus.source, corpus.target);
  corpus.valid = sample(random, GrammarSplit::fresh, 200);
  corpus.test = sample(random, GrammarSplit::held_out, 200);
  return corpus;
}

void on_the_grammar(const kit::Options& options, const Sizes& sizes, kit::Report& report) {
  const Corpus corpus = grammar_corpus(options.seed, 20000);
  fmt::print("  {} pairs, {} English and {} French words; some adjective–noun pairs are never shown\n",
             corpus.train.size(), corpus.source.size() - 4, corpus.target.size() - 4);
  Translator model(translator(sizes, corpus.source.size(), corpus.target.size()));
  model.initialise(options.seed);
  const std::string name = fmt::format("grammar, seed {}, {} steps, sizes {}/{}/{}", options.seed,
                                       options.steps, sizes.embedding, sizes.hidden, sizes.batch);
  train(model,
        {name, options, sizes, corpus, options.out, options.steps, std::max<Size>(1, options.steps / 4)});

  report.section("Free translation of new sentences");
  const Size count = options.smoke ? 20 : 500;
  const Tested fresh = test_grammar(model, corpus, GrammarSplit::fresh, options.seed, count);
  const Tested held_out = test_grammar(model, corpus, GrammarSplit::held_out, options.seed, count);
  report.at_least("exact, new sentences", fresh.exact, 98, "%");
  report.at_least("exact, with pairs never seen together", held_out.exact, 98, "%");
  report.at_least("noun and adjective cross", fresh.crossed, 95, "%");
  report.at_least("the same for pairs never seen", held_out.crossed, 95, "%");

  const kit::GrammarSentence zone = kit::grammar_showcase();
  const Translation shown = kit::translate(model, corpus.source, corpus.target, {zone.source}).front();
  fmt::print("\n  {}\n  → {}\n", kit::join_words(shown.source), kit::join_words(shown.words));
  kit::show(kit::alignment_picture(shown, "Where each French word looked"), options.out / "alignment.svg");
}

// ---- 5. On real sentences
// -------------------------------------------------------------------------------------------------
//
// Two things differ. Words that occur once in the training text are replaced by <unk>: a network cannot learn
// a word from one sentence. And the loss is smoothed: the target word gets 0.9 instead of 1, so that the
// model does not become surer than real language allows.

void on_real_text(const kit::Options& options, const Sizes& sizes, const std::string& from,
                  const std::string& to, Size beam, Size epochs, kit::Report& report) {
  const Corpus corpus = kit::read_multi30k(options.data, from, to);
  fmt::print("  {} pairs, {} {} and {} {} words seen at least twice\n", corpus.train.size(),
             corpus.source.size(), from, corpus.target.size(), to);
  Translator model(translator(sizes, corpus.source.size(), corpus.target.size()));
  model.initialise(options.seed);
  const Size per_epoch = (static_cast<Size>(corpus.train.size()) + sizes.batch - 1) / sizes.batch;
  const Size steps = options.smoke ? options.steps : epochs > 0 ? epochs * per_epoch : options.steps;
  const std::string name =
      fmt::format("Multi30k {}-{}, seed {}, {} steps, sizes {}/{}/{}, dropout {}, rate {}", from, to,
                  options.seed, steps, sizes.embedding, sizes.hidden, sizes.batch, sizes.dropout, sizes.rate);
  train(model, {name, options, sizes, corpus, options.out, steps, options.smoke ? steps : per_epoch});

  report.section("The test set");
  const auto greedy_words = kit::translate(model, corpus.source, corpus.target, corpus.test.source);
  const auto beam_words =
      kit::translate(model, corpus.source, corpus.target, corpus.test.source, {.beam = beam});
  const kit::Bleu by_greedy = kit::corpus_bleu(kit::words_of(greedy_words), corpus.test.target);
  const kit::Bleu by_beam = kit::corpus_bleu(kit::words_of(beam_words), corpus.test.target);
  fmt::print("  greedy     {}\n  beam of {}  {}\n", by_greedy.text(), beam, by_beam.text());
  report.at_least("BLEU, greedy", by_greedy.score, 54);
  for (const kit::LengthBucket& bucket : kit::bleu_by_length(corpus.test.source, kit::words_of(beam_words),
                                                             corpus.test.target, {8, 12, 16, 20}))
    fmt::print("  {:>3} words and more, up to {}: {:>4} sentences  BLEU {:.1f}\n", bucket.least,
               bucket.most > 1000 ? std::string("the longest") : std::to_string(bucket.most),
               bucket.sentences, bucket.bleu.score);

  report.section("Where it looked");
  int shown = 0;
  for (const Translation& translation : greedy_words) {
    if (shown == 3) break;
    if (translation.words.size() > 11 || kit::crossings(translation).empty()) continue;
    ++shown;
    fmt::print("\n  {}\n  → {}\n", kit::join_words(translation.source), kit::join_words(translation.words));
    kit::show(kit::alignment_picture(translation, "Where each word looked"),
              options.out / fmt::format("alignment_{}.svg", shown));
  }
}

/// --translate: the model of a checkpoint, on a sentence of yours.
void translate_one(const std::filesystem::path& folder, const std::string& sentence, Size beam) {
  const std::filesystem::path file = folder / "checkpoint.safetensors";
  if (!std::filesystem::exists(file))
    throw kit::UsageError(
        fmt::format("{} does not exist: train first, with the same options but --translate", file.string()));
  const TrainingState saved = kit::load_checkpoint(file);
  const auto source = kit::Vocabulary::from_text(saved.text("source"), file.string());
  const auto target = kit::Vocabulary::from_text(saved.text("target"), file.string());
  Sizes sizes;
  sizes.embedding = std::stoll(saved.text("embedding"));
  sizes.hidden = std::stoll(saved.text("hidden"));
  Translator model(translator(sizes, source.size(), target.size()));
  model.load_state(saved.sections.at("model"));
  const Words words = kit::split_words(sentence);
  if (words.empty())
    throw kit::UsageError("--translate wants a sentence: --translate \"a man rides a bike\"");
  for (const std::string& word : words)
    if (!source.contains(word)) fmt::print("  \"{}\" is not in the vocabulary: it is read as <unk>\n", word);
  const Translation result = kit::translate(model, source, target, {words}, {.beam = beam}).front();
  fmt::print("  {}\n  → {}\n", kit::join_words(result.source), kit::join_words(result.words));
  kit::show(kit::alignment_picture(result, "Where each word looked"), folder / "translated.svg");
}

}  // namespace

int main(int argc, char** argv) {
  kit::Lesson program("15_translate", "it works on real language");
  program.steps(1500, 8);
  program.takes_data("folder with Multi30k: train, val, test_2016_flickr, each with .en and .fr");
  Sizes sizes;
  std::int64_t beam = 5, epochs = 10;
  std::string sentence, direction = "en-fr";
  bool fresh = false;
  program.add("--translate", sentence, "translate this sentence with the trained model instead of training");
  program.add("--direction", direction, "with --data: which language into which", {"en-fr", "fr-en"});
  program.add("--beam", beam, "hypotheses that a search keeps", 1, 100);
  program.add("--epochs", epochs, "with --data, unless --steps is given: passes over the text", 1, 1000);
  program.add("--embedding", sizes.embedding, "numbers for a word (grammar 64, Multi30k 256)", 1, 4096);
  program.add("--hidden", sizes.hidden, "hidden units of each recurrent layer (grammar 96, Multi30k 256)", 1,
              4096);
  program.add("--batch", sizes.batch, "sentences in a batch", 1, 4096);
  program.add("--rate", sizes.rate, "the learning rate at its highest (grammar 0.004, Multi30k 0.001)", 1e-6,
              1);
  program.add("--dropout", sizes.dropout, "of embeddings and readout (grammar 0.1, Multi30k 0.3)", 0, 0.9);
  program.add_flag("--fresh", fresh, "forget the checkpoint and start anew");
  return program.run(argc, argv, [&](const kit::Options& given, kit::Report& report) {
    kit::Options options = given;
    const bool real = !options.data.empty();
    if (real) {
      if (!program.given("--embedding")) sizes.embedding = 256;
      if (!program.given("--hidden")) sizes.hidden = 256;
      if (!program.given("--rate")) sizes.rate = 1e-3;
      if (!program.given("--dropout")) sizes.dropout = 0.3;
    }
    const std::filesystem::path real_out = given.out / ("multi30k-" + direction);
    if (!sentence.empty()) {
      const bool use_real = real || std::filesystem::exists(real_out / "checkpoint.safetensors");
      return translate_one(use_real ? real_out : given.out / "grammar", sentence, beam);
    }
    options.out = real ? real_out : given.out / "grammar";
    std::filesystem::create_directories(options.out);
    if (fresh) std::filesystem::remove(options.out / "checkpoint.safetensors");

    report.section("Beam search, by hand");
    show_beam(report);
    report.section("BLEU, by hand");
    show_bleu(report);
    if (real) {
      report.section("Training on real sentences");
      on_real_text(options, sizes, direction.substr(0, 2), direction.substr(3), beam,
                   program.given("--steps") ? 0 : epochs, report);
    } else {
      report.section("Training on the grammar");
      on_the_grammar(options, sizes, report);
    }
  });
}
