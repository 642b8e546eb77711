#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lessons/23_bert/experiment.hpp"
#include "lessons/23_bert/moods.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "optim/adam.hpp"

namespace tapestry::lesson23 {

using kit::GrammarSplit;

namespace {

struct Labelled {
  Batch batch;
  Indices friendly;  // (rows): 0 or 1
};

/// Draws `count` French sentences with their labels; half of them are friendly.
Labelled labelled(const Dictionary& dictionary, std::uint64_t seed, std::uint64_t stream, GrammarSplit split,
                  Size count) {
  std::vector<Row> rows;
  Ids labels;
  Size expected[2] = {count / 2, count - count / 2};
  for (const GrammarSentence& one : sentences_with_mood(seed, stream, split, 3 * count + 30)) {
    const bool friendly = mood(one) > 0;
    if (expected[friendly] == 0) continue;
    --expected[friendly];
    rows.push_back(dictionary.read({}, one.target));
    labels.push_back(friendly);
  }
  return {batch_of(rows), Indices(labels, {static_cast<Size>(labels.size())})};
}

/// Trains on the labels, from the encoder of `start` or from random weights. Returns the accuracy on the test
/// set in per cent.
double fine_tune(const TransformerOptions& options, const MaskedModel* start, const Labelled& labels,
                 const Labelled& test, std::uint64_t seed, Size steps) {
  Classifier model(options);
  model.initialise(seed);
  if (start) model.encoder.load_state(start->encoder.state());
  Adam adam(model.parameters(), {.learning_rate = 1e-3});
  for (Size step = 1; step <= steps; ++step) {  // each step uses all labels
    Tape tape;
    tape.backward(cross_entropy(model(labels.batch), labels.friendly));
    adam.step(std::min(1.0, static_cast<double>(step) / 10));
  }
  return kit::percent_equal(argmax(model(test.batch)), test.friendly);
}

/// Returns the percentage of the test set's distinct words that occur in no labelled sentence.
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

}  // namespace

void show_labels(const kit::Options& options) {
  int shown[2] = {0, 0};
  for (const GrammarSentence& one : sentences_with_mood(options.seed, 100, GrammarSplit::train, 100)) {
    const bool friendly = mood(one) > 0;
    if (shown[friendly]++ < 2)
      fmt::print("  {:<10}  {}\n", friendly ? "friendly" : "unfriendly", kit::join_words(one.target));
  }
}

FewLabels few_labels(const MaskedModel& pretrained, const Dictionary& dictionary, const kit::Options& how) {
  const TransformerOptions options = sizes(dictionary, 64, 2);
  const Size draws = how.smoke ? 1 : 5, steps = how.smoke ? 2 : 40;  // accuracies are means over the draws
  const Labelled test = labelled(dictionary, how.seed, 5, GrammarSplit::fresh, how.smoke ? 40 : 400);
  kit::Chart chart{
      .title = "Accuracy by number of labels", .x_label = "labels", .y_label = "right sentences in %"};
  chart.x_scale = kit::Scale::log;
  chart.series = {{"fine-tuned"}, {"from random weights"}};
  chart.levels = {{50, "guessing"}};
  fmt::print("  {:>6}  {:>10}  {:>19}  {:>24}\n", "labels", "fine-tuned", "from random weights",
             "words without a label");
  FewLabels at_32;
  for (const Size count : {8, 16, 32, 64, 128}) {
    if (how.smoke && count > 8) break;
    double fine_tuned = 0, from_random = 0, unknown = 0;
    for (Size draw = 0; draw < draws; ++draw) {
      const auto number = static_cast<std::uint64_t>(draw);
      const Labelled labels = labelled(dictionary, how.seed, 100 + number, GrammarSplit::train, count);
      const auto share = 1 / static_cast<double>(draws);
      fine_tuned += share * fine_tune(options, &pretrained, labels, test, how.seed + number, steps);
      from_random += share * fine_tune(options, nullptr, labels, test, how.seed + number, steps);
      unknown += share * never_labelled(test, labels);
    }
    fmt::print("  {:>6}  {:>8.1f} %  {:>17.1f} %  {:>22.1f} %\n", count, fine_tuned, from_random, unknown);
    for (std::size_t i = 0; i < 2; ++i) {
      chart.series[i].x.push_back(static_cast<double>(count));
      chart.series[i].y.push_back(i == 0 ? fine_tuned : from_random);
    }
    if (count == 32) at_32 = {fine_tuned, from_random, unknown};
  }
  kit::show(chart, how.out / "labels.svg");
  return at_32;
}

}  // namespace tapestry::lesson23
