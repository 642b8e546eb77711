#include "lessons/kit/translation/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "lessons/kit/program/files.hpp"
#include "lessons/kit/program/peak_memory.hpp"
#include "lessons/kit/program/progress.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/log.hpp"
#include "lessons/kit/translation/bleu.hpp"
#include "nn/loss.hpp"
#include "optim/adam.hpp"
#include "optim/average.hpp"
#include "optim/clip.hpp"
#include "optim/parallel/data_parallel.hpp"
#include "optim/schedule.hpp"

namespace tapestry::kit {

namespace {

constexpr Size kAverageEvery = 8;

Size share(Size steps, double part) {
  return std::max<Size>(1, static_cast<Size>(static_cast<double>(steps) * part));
}

Schedule schedule(const TranslatorTraining& how) {
  const Size rise = share(how.steps, how.rise), hold = share(how.steps, how.hold);
  const Schedule fall = cosine_decay(std::max<Size>(1, how.steps - rise - hold), 0.02);
  return then(warm_up(rise), rise, then(constant_rate(), hold, fall));
}

/// Returns the mean loss of a part of a batch, and its number of words.
PartLoss loss_of(SequenceModel& model, const Batch& batch, const Part& part, double smoothing) {
  const Batch rows = rows_of(batch, part.begin(batch.source.rows), part.end(batch.source.rows));
  if (rows.pairs.empty()) return {};
  const Forcing forcing = teacher_forcing(rows.target);
  const Tensor logits = model(indices(rows.source), valid_lengths(rows.source), indices(forcing.input));
  return {cross_entropy(logits, indices(forcing.output), {.smoothing = smoothing, .ignore = kPad}),
          static_cast<double>(forcing.words)};
}

double greedy_bleu(SequenceModel& model, const Corpus& corpus, const ParallelText& text) {
  const auto translations = translate(model, corpus.source, corpus.target, text.source);
  return corpus_bleu(words_of(translations), text.target).score;
}

/// Returns a hash of the training data: both lexicons with their ids, and the pairs.
std::uint64_t hash_of(const Corpus& corpus) {
  std::map<std::string, std::string> lexicons;
  corpus.source.put(lexicons, "source");
  corpus.target.put(lexicons, "target");
  std::string all;
  const auto add = [&all](const auto& part, std::size_t bytes) {
    const std::uint64_t size = bytes;  // first, so that the boundaries between parts count
    all.append(reinterpret_cast<const char*>(&size), sizeof size);
    all.append(reinterpret_cast<const char*>(part.data()), bytes);
  };
  for (const auto& [name, text] : lexicons) add(text, text.size());
  for (const Pair& pair : corpus.train)
    for (const Ids* ids : {&pair.source, &pair.target}) add(*ids, ids->size() * sizeof(ids->front()));
  return tapestry::hash_of(all);
}

}  // namespace

const State& trained_weights(const TrainingState& saved) {
  const auto average = saved.sections.find("average");
  const bool begun = static_cast<Size>(saved.integer("step")) >= kAverageEvery;
  return begun && average != saved.sections.end() ? average->second : saved.sections.at("model");
}

RunPlace train_translator(SequenceModel& model, const Corpus& corpus, const TranslatorTraining& how) {
  using Clock = std::chrono::steady_clock;
  Adam adam(model.parameters(), {.learning_rate = how.rate, .beta2 = how.beta2});
  DataParallel ranks(how.ranks.communicator(), model.parameters(),
                     {.parts = static_cast<int>(how.ranks.parts)});
  Batches batches(corpus.train, {.size = how.batch, .seed = how.seed});
  const Schedule rate = schedule(how);
  std::optional<WeightAverage> average;
  if (how.average > 0) average.emplace(model.state(), how.average);

  make_writable_folder(how.out);
  Checkpoints checkpoints(how.out / "checkpoint.safetensors",
                          fmt::format("{}, {}", name_of_text(hash_of(corpus)), how.name), model, adam);
  checkpoints.ranks = how.ranks;
  if (how.fresh) checkpoints.forget();
  checkpoints.texts = how.texts;
  corpus.source.put(checkpoints.texts, "source");
  corpus.target.put(checkpoints.texts, "target");
  if (average) checkpoints.more["average"] = average->state();
  RunPlace place;
  const bool resumed = checkpoints.resume(place);
  if (resumed)
    fmt::print("  resuming at step {} of {} ({})\n", place.step, how.steps, checkpoints.file().string());
  batches.go_to(place.data);
  if (average) average->resume(place.step / kAverageEvery);
  RunLog log(how.out / "log.csv", {"loss", "words", "seconds", "val_bleu", "test_bleu"},
             resumed ? std::optional(place.step) : std::nullopt);

  Progress progress(how.steps, {.done = place.step, .unit = "words"});
  model.train();
  auto started = Clock::now();
  while (place.step < how.steps) {
    const Batch batch = batches.next();
    const double loss =
        ranks.gradients(how.seed, static_cast<std::uint64_t>(++place.step),
                        [&](const Part& part) { return loss_of(model, batch, part, how.smoothing); });
    clip_gradients(model.parameters(), 1.0);
    adam.step(rate(place.step));
    if (average && place.step % kAverageEvery == 0) average->update();
    double words = 0;  // targets: all words except <start>
    for (const Size length : batch.target.lengths) words += static_cast<double>(length - 1);
    place.words += words;
    place.data = batches.place();
    progress.step(loss, words);

    const bool last = place.step == how.steps, look = last || place.step % how.steps_per_look == 0;
    const auto now = Clock::now();
    place.seconds += std::chrono::duration<double>(now - started).count();
    started = now;
    if (look) {
      std::optional<WeightAverage::InUse> averaged;
      if (average) averaged.emplace(*average);
      const double valid = greedy_bleu(model, corpus, corpus.valid),
                   test = greedy_bleu(model, corpus, corpus.test);
      progress.note(fmt::format(
          "  step {:>6}  {:>5.1f} min  loss {:.3f}  {:.0f} words/s  BLEU, greedy: validation "
          "{:.2f}, test {:.2f}",
          place.step, place.seconds / 60, progress.loss(), place.words / place.seconds, valid, test));
      log.row(place.step, {loss, place.words, place.seconds, valid, test});
      averaged.reset();
      started = Clock::now();
    } else if (place.step % 50 == 0) {
      const double none = std::numeric_limits<double>::quiet_NaN();
      log.row(place.step, {loss, place.words, place.seconds, none, none});
    }
    checkpoints.save(place, last);
  }
  progress.finish();
  if (place.seconds > 0)
    fmt::print("  trained {} steps, {:.0f} words in {:.1f} s: {:.0f} words/s; peak memory {:.0f} MiB\n",
               place.step, place.words, place.seconds, place.words / place.seconds, peak_memory());
  if (average && place.step >= kAverageEvery) model.load_state(average->state());
  return place;
}

}  // namespace tapestry::kit
