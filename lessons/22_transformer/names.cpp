#include "lessons/22_transformer/names.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/program/stopwatch.hpp"
#include "lessons/kit/train/loop.hpp"
#include "nn/loss.hpp"

namespace tapestry::lesson22 {
constexpr std::int64_t kFirst = 4;  // after <pad>, <start>, <end> and <unk>

NamedThings draw_things(kit::Random random, Size rows) {
  kit::Ids things, inputs, names, known, words_ago;
  for (Size row = 0; row < rows; ++row) {
    std::vector<std::int64_t> name(kKinds, -1), named(kKinds, 0);
    std::int64_t last = kStart;
    for (Size t = 0; t < kThings; ++t) {
      const std::int64_t kind = random.below(kKinds);
      const auto at = static_cast<std::size_t>(kind);
      const bool first = name[at] < 0;
      if (first) name[at] = kFirst + kind * kNamesOfKind + random.below(kNamesOfKind);
      things.push_back(kFirst + kind);
      inputs.push_back(last);
      names.push_back(last = name[at]);
      known.push_back(first ? -1 : last);
      words_ago.push_back(first ? 0 : t - named[at]);
      named[at] = t;
    }
  }
  const auto table = [rows](const kit::Ids& ids) { return Indices(ids, {rows, kThings}); };
  return {table(things), table(inputs), table(names), table(known), table(words_ago)};
}

namespace {

constexpr Size kRows = 32;

std::unique_ptr<SequenceModel> keeper(const kit::TransformerConfig& config) {
  return kit::make_translator(config, kFirst + kKinds, kFirst + kKinds * kNamesOfKind);
}

/// Returns the milliseconds of one training step without the optimiser.
double time_of(const SequenceModel& model, Size words) {
  constexpr Size kSentences = 16;
  const Indices ids(kit::Ids(static_cast<std::size_t>(kSentences * words), kFirst), {kSentences, words});
  return 1000 * kit::fastest(3, [&] {
           Tape tape;
           tape.backward(cross_entropy(model(ids, {}, ids), ids));
         });
}

struct NameKeeper {
  Size weights = 0;
  double kept = 0;      // percentage of the names that were chosen before
  kit::Series by_time;  // the same percentage by the number of words since the name was written
};

NameKeeper train_keeper(const kit::TransformerConfig& config, const kit::Options& options) {
  const std::unique_ptr<SequenceModel> model = keeper(config);
  model->initialise(options.seed);
  kit::train(*model,
             {.name = config.label(),
              .steps = (2 * options.steps + 2) / 3,
              .batch = kRows,
              .unit = "texts",
              .seed = options.seed},
             [&](kit::Random random) {
               const NamedThings batch = draw_things(random, kRows);
               return cross_entropy((*model)(batch.things, {}, batch.inputs), batch.names);
             });
  const Evaluating evaluating(*model);
  const NamedThings test = draw_things(kit::Random(options.seed, 1'000'000), options.smoke ? 10 : 500);
  const kit::Ids predicted = argmax((*model)(test.things, {}, test.inputs)).to_vector(),
                 known = test.known.to_vector(), words_ago = test.words_ago.to_vector();
  NameKeeper keeper{kit::weights_of(*model), 0, {config.label(), {}, {}}};
  double all = 0, kept = 0;
  for (const auto& [from, to] : kDistances) {
    double of_these = 0, kept_of_these = 0;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (known[i] < 0 || words_ago[i] < from || words_ago[i] > to) continue;
      ++of_these;
      kept_of_these += predicted[i] == known[i];
    }
    all += of_these, kept += kept_of_these;
    keeper.by_time.x.push_back(static_cast<double>(from + to) / 2);
    keeper.by_time.y.push_back(100 * kept_of_these / of_these);
  }
  keeper.kept = 100 * kept / all;
  return keeper;
}

void time_steps(kit::TransformerConfig config, const kit::Options& options) {
  const auto of = [&](bool recurrent) {
    config.recurrent_decoder = recurrent;
    std::unique_ptr<SequenceModel> model = keeper(config);
    model->initialise(options.seed);
    return model;
  };
  const std::unique_ptr<SequenceModel> transformer = of(false), recurrent = of(true);
  fmt::print(
      "  words in a sentence     transformer     recurrent   (16 sentences: forward and backward, ms)\n");
  for (const Size words : {8, 32, 128}) {
    if (options.smoke && words > 8) break;
    fmt::print("  {:>19} {:>15.1f} {:>13.1f}\n", words, time_of(*transformer, words),
               time_of(*recurrent, words));
  }
}

}  // namespace

bool train_on_names(kit::TransformerConfig config, const kit::Options& options, kit::Report& report) {
  config.recurrent_decoder = false;
  config.dropout = config.word_dropout = 0;  // every text is new, so the model cannot memorise any
  const NameKeeper transformer = train_keeper(config, options);
  time_steps(config, options);
  config.recurrent_decoder = true;
  const NameKeeper recurrent = train_keeper(config, options);
  kit::Chart chart{"Names kept, by the number of words since they were written",
                   "words since the name was written",
                   "names kept, %",
                   {transformer.by_time, recurrent.by_time},
                   {{100.0 / kNamesOfKind, "a random name of the kind"}}};
  kit::show(chart, options.out / "names.svg");
  const bool keeps = report.at_least("names kept, transformer", transformer.kept, 95, "%");
  return report.at_most("names kept, recurrent decoder", recurrent.kept, 80, "%") && keeps;
}

}  // namespace tapestry::lesson22
