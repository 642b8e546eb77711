// A translator's training written out: batches, a loss that padding has no part in, schedule, average, what
// is logged, and what goes on after a stop. The steps are plain arithmetic on plain numbers.
#include "core/core.hpp"
#include "lessons/kit/random.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/resume.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "lessons/kit/translation/recurrent_config.hpp"
#include "lessons/kit/translation/training.hpp"
#include "tests/catch.hpp"
#include "tests/lessons/kit/printed.hpp"
#include "tests/lessons/kit/scratch.hpp"
#include "tests/lessons/kit/train/adam_by_hand.hpp"
#include "tests/lessons/kit/train/log_table.hpp"

namespace tapestry::kit {
namespace {

/// Sentences of 4 to 9 words out of five, and their letters' partners backwards.
ParallelText text(std::uint64_t seed, std::size_t sentences) {
  const char *const source[] = {"a", "b", "c", "d", "e"}, *const target[] = {"A", "B", "C", "D", "E"};
  Random random(seed);
  ParallelText all;
  for (std::size_t i = 0; i < sentences; ++i) {
    Words words, written;
    for (auto n = random.between(4, 9); n > 0; --n) {
      const auto which = static_cast<std::size_t>(random.below(5));
      words.push_back(source[which]);
      written.insert(written.begin(), target[which]);
    }
    all.source.push_back(words);
    all.target.push_back(written);
  }
  return all;
}

Corpus corpus() {
  const ParallelText train = text(1, 40);
  Corpus all;
  all.source = Vocabulary::build(train.source);
  all.target = Vocabulary::build(train.target);
  all.train = encode_pairs(train, all.source, all.target);
  all.valid = text(2, 12);
  all.test = text(3, 15);
  return all;
}

TranslatorConfig config(double dropout) {
  TranslatorConfig tiny;
  tiny.embedding = 6;
  tiny.hidden = 7;
  tiny.dropout = dropout;
  return tiny;
}

std::unique_ptr<SequenceModel> model_for(const Corpus& all, double dropout) {
  auto model = make_translator(config(dropout), all.source.size(), all.target.size());
  model->initialise(4, DType::f64);
  for (auto& [name, weight] : model->state()) {  // so that the first gradients are long, and cut
    Tensor target = weight;
    if (name == "decoder.output.weight") assign(target, weight * 8.0);
  }
  return model;
}

TranslatorTraining training(const std::filesystem::path& out, Size steps) {
  TranslatorTraining how;
  how.name = "by hand";
  how.out = out;
  how.seed = 9;
  how.steps = steps;
  how.steps_per_look = 1000;
  how.batch = 7;
  how.smoothing = 0.15;
  how.rate = 0.02;
  how.beta2 = 0.98;
  how.average = 0.9;
  how.texts = texts_of(config(0));
  return how;
}

double bleu_of(SequenceModel& model, const Corpus& all, const ParallelText& of) {
  return corpus_bleu(words_of(translate(model, all.source, all.target, of.source)), of.target).score;
}

/// Words of a batch and their loss: each is 1 − ε sure, ε is spread over the whole vocabulary, and padding is
/// not there.
struct Loss {
  Tensor mean;
  double words = 0;
};

Loss loss_of(const SequenceModel& model, const Batch& batch, double smoothing) {
  const Size rows = batch.target.rows, steps = batch.target.columns - 1;
  Ids input, output;
  std::vector<double> counted;
  double words = 0;
  for (Size row = 0; row < rows; ++row)
    for (Size t = 0; t < steps; ++t) {
      const bool is_word = t + 1 < batch.target.lengths[static_cast<std::size_t>(row)];
      input.push_back(is_word ? batch.target.at(row, t) : kPad);
      output.push_back(is_word ? batch.target.at(row, t + 1) : kPad);
      counted.push_back(is_word);
      words += is_word;
    }
  const Tensor log_p = log_softmax(
      model(indices(batch.source), valid_lengths(batch.source), Indices(input, {rows, steps})), -1);
  const auto vocabulary = static_cast<double>(log_p.size(-1));
  const Tensor wanted =
      one_hot(Indices(output, {rows, steps}), log_p.size(-1), DType::f64) * (1 - smoothing) +
      smoothing / vocabulary;
  const Tensor each = sum(log_p * wanted, {-1}) * tensor(counted, {rows, steps}, DType::f64);
  return {sum(each) * (-1 / words), words};
}

}  // namespace

TEST_CASE("a translator's training is the loop written out", "[kit]") {
  constexpr Size kSteps = 43;  // rises for 4, stays for 12, falls for 27
  const Scratch scratch;
  const Corpus all = corpus();
  const auto model = model_for(all, 0.2), by_hand = model_for(all, 0.2);
  TranslatorTraining how = training(scratch.path("run"), kSteps);
  how.rise = 0.1;
  how.hold = 0.3;
  how.steps_per_look = 16;
  const RunPlace end = train_translator(*model, all, how);

  const LogTable log = read_log(how.out / "log.csv");
  AdamByHand adam(*by_hand, 0.02, 0.98);
  Batches batches(all.train, {.size = 7, .seed = 9});
  State average;
  double words = 0, taken = 0;
  int raw_differs = 0, parts_differ = 0;
  for (Size step = 1; step <= kSteps; ++step) {
    CAPTURE(step);
    set_random(9, static_cast<std::uint64_t>(step));
    const Batch batch = batches.next();
    double loss = 0;
    {
      Tape tape;
      const Loss of_batch = loss_of(*by_hand, batch, 0.15);
      tape.backward(of_batch.mean);
      loss = of_batch.mean.item();
      words += of_batch.words;
    }
    const auto t = static_cast<double>(step);
    adam.step(step <= 4 ? t / 4 : step <= 16 ? 1 : half_cosine((t - 16) / 27, 0.02));
    if (step % 8 == 0) {
      const double keep = std::min(0.9, taken / (taken + 9));
      for (const auto& [name, weight] : by_hand->state()) {
        const Tensor now = weight.detach() + 0.0;
        average[name] = taken == 0 ? now : average[name] * keep + now * (1 - keep);
      }
      ++taken;
    }
    const bool look = step % 16 == 0 || step == kSteps;
    CHECK((log.count(step) == 1) == look);
    if (!look) continue;
    CHECK(log.at(step).at("loss") == Approx(loss).epsilon(1e-9));
    CHECK(log.at(step).at("words") == words);
    // Looks are with the average, at the texts that they name.
    const auto averaged = model_for(all, 0), raw = model_for(all, 0);
    averaged->load_state(average);
    raw->load_state(by_hand->state());
    CHECK(log.at(step).at("val_bleu") == Approx(bleu_of(*averaged, all, all.valid)));
    CHECK(log.at(step).at("test_bleu") == Approx(bleu_of(*averaged, all, all.test)));
    for (const ParallelText* one : {&all.valid, &all.test})
      raw_differs += bleu_of(*averaged, all, *one) != Approx(bleu_of(*raw, all, *one));
    parts_differ += bleu_of(*averaged, all, all.valid) != Approx(bleu_of(*averaged, all, all.test));
  }
  CHECK((adam.cuts() > 0 && adam.cuts() < kSteps));
  CHECK(raw_differs >= 3);  // of six: or it would not matter which weights, and which text
  CHECK(parts_differ >= 1);
  CHECK(end.step == kSteps);
  CHECK(end.words == words);
  CHECK(end.data == batches.place());
  CHECK(farthest(average, model->state()) < 1e-9);
  const TrainingState saved = load_checkpoint(how.out / "checkpoint.safetensors");
  CHECK(farthest(by_hand->state(), saved.sections.at("model")) < 1e-9);
  CHECK(farthest(average, saved.sections.at("average")) < 1e-9);
}

TEST_CASE("padding has no part in a translator's loss", "[kit]") {
  // One long sentence fills the others up: the loss is still the mean over words.
  const Scratch scratch;
  Corpus all = corpus();
  all.train.resize(6);
  Pair longest{{}, {kStart}};
  for (int i = 0; i < 40; ++i) longest.source.push_back(4), longest.target.push_back(4 + i % 5);
  longest.source.push_back(kEnd), longest.target.push_back(kEnd);
  all.train.push_back(longest);
  const auto model = model_for(all, 0), before = model_for(all, 0);
  TranslatorTraining how = training(scratch.path("run"), 1);
  how.batch = 7;
  const RunPlace end = train_translator(*model, all, how);
  double sum = 0, words = 0;
  for (const Pair& pair : all.train) {  // one sentence at a time: none is filled up
    const Batch alone{pad({pair.source}), pad({pair.target}), {}};
    const Loss own = loss_of(*before, alone, 0.15);
    sum += own.mean.item() * own.words;
    words += own.words;
  }
  CHECK(end.words == words);
  CHECK(read_log(how.out / "log.csv").at(1).at("loss") == Approx(sum / words).epsilon(1e-9));
}

TEST_CASE("a translator's run that was stopped goes on to the same bits: weights, average, place and log",
          "[kit]") {
  constexpr Size kSteps = 40;
  const Scratch scratch;
  const Corpus all = corpus();
  const auto run = [&](const std::string& name, Size steps) {
    const auto model = model_for(all, 0.3);
    TranslatorTraining how = training(scratch.path(name), steps);
    how.rise = 0;  // the same rate at every step, however many there are
    how.hold = 0.99;
    const RunPlace place = train_translator(*model, all, how);
    return std::pair(place, model->state());
  };
  const auto [unbroken, weights] = run("unbroken", kSteps);
  const TrainingState wanted = load_checkpoint(scratch.path("unbroken") / "checkpoint.safetensors");
  LogTable log = read_log(scratch.path("unbroken") / "log.csv");
  for (const Size stop : {3, 8, 21, 32, 39}) {
    CAPTURE(stop);
    const std::string name = "stopped" + std::to_string(stop);
    const double seconds = run(name, stop).first.seconds;
    const auto [place, state] = run(name, kSteps);
    CHECK(farthest(weights, state) == 0);
    CHECK(place.step == kSteps);
    CHECK(place.words == unbroken.words);
    CHECK(place.data == unbroken.data);
    CHECK(place.seconds > seconds);
    const TrainingState found = load_checkpoint(scratch.path(name) / "checkpoint.safetensors");
    for (const char* section : {"model", "optimiser", "average"})
      CHECK(farthest(wanted.sections.at(section), found.sections.at(section)) == 0);
    const LogTable own = read_log(scratch.path(name) / "log.csv");
    CHECK(own.count(stop) == 1);  // of the part before
    for (const char* column : {"loss", "words", "val_bleu", "test_bleu"})
      CHECK(own.at(kSteps).at(column) == log.at(kSteps).at(column));
  }
  CHECK(farthest(weights, wanted.sections.at("model")) > 0);  // the average is another
}

TEST_CASE("each part of a corpus comes from its own files", "[kit]") {
  const Scratch scratch;
  const auto write = [&](const std::string& part, const std::string& word, int sentences) {
    std::string english, french;
    for (int i = 0; i < sentences; ++i) {
      english += "all have " + word + " " + std::to_string(i) + "\n";
      french += "tous ont " + word + "e " + std::to_string(i) + "\n";
    }
    scratch.write(part + ".en", english);
    scratch.write(part + ".fr", french);
  };
  write("train", "trained", 20);
  write("val", "validated", 6);
  write("test_2016_flickr", "tested", 7);
  const Corpus read = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1, .joined = 0.2});
  CHECK(read.train.size() == 24);
  REQUIRE((read.valid.source.size() == 6 && read.valid.target.size() == 6));
  REQUIRE((read.test.source.size() == 7 && read.test.target.size() == 7));
  CHECK(read.valid.source[5] == Words{"all", "have", "validated", "5"});
  CHECK(read.valid.target[5] == Words{"tous", "ont", "validatede", "5"});
  CHECK(read.test.source[6] == Words{"all", "have", "tested", "6"});
  CHECK(read.test.target[6] == Words{"tous", "ont", "testede", "6"});
  // What is not in the training text has no number: the dictionaries know nothing of the rest.
  for (const char* word : {"trained", "19", "all"}) CHECK(read.source.contains(word));
  for (const char* word : {"validated", "tested", "tous"}) CHECK_FALSE(read.source.contains(word));
  for (const char* word : {"trainede", "tous"}) CHECK(read.target.contains(word));
  for (const char* word : {"validatede", "testede", "have"}) CHECK_FALSE(read.target.contains(word));
  const Corpus few = read_multi30k(scratch.folder(), "en", "fr", {.at_least = 1, .most_tests = 4});
  CHECK(few.train.size() == 20);
  CHECK((few.valid.source.size() == 4 && few.valid.target.size() == 4));
  CHECK((few.test.source.size() == 4 && few.test.target.size() == 4));
}

TEST_CASE("a translator's training says how far it is, with its loss and speed", "[kit]") {
  const Scratch scratch;
  const Corpus all = corpus();
  const auto model = model_for(all, 0);
  std::string said;
  {
    const Printed printed(STDERR_FILENO);
    train_translator(*model, all, training(scratch.path("run"), 4));
    said = printed.text();
  }
  for (const char* part :
       {"  1/4  25 %  loss ", "  3/4  75 %  loss ", "  4/4 100 %  loss ", " words/s", "BLEU, greedy"})
    CHECK_THAT(said, Catch::Matchers::ContainsSubstring(part));
  CHECK_THAT(said, !Catch::Matchers::ContainsSubstring("nan"));
}

}  // namespace tapestry::kit
