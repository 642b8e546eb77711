// Implements lesson 11's models on top of nn/, and their training, tests and pictures.
//
// The task is the same as in lesson 10: write a string backwards. The alphabet has ten letters, the strings have 4 to
// 24 letters, and every training step draws a new batch.
#include "lessons/11_bahdanau/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/core.hpp"
#include "lessons/11_bahdanau/alignments.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"
#include "lessons/kit/translation/corpus.hpp"

namespace tapestry::lesson11 {
namespace {

TranslatorOptions sizes() {
  const Size vocabulary = kit::alphabet().size();
  return {{.vocabulary = vocabulary, .embedding = 32, .hidden = 32},
          {.vocabulary = vocabulary, .embedding = 32, .hidden = 64, .attention = 64, .readout = 64}};
}

void train(Reverser& model, const std::string& name, AlignmentRecorder* recorder,
           const kit::Options& options) {
  constexpr Size kBatch = 64;
  model.initialise(options.seed);
  const auto record = [&](Size step) {
    if (recorder) recorder->after(step, model);
  };
  record(0);
  kit::train(
      model,
      {.name = name, .steps = options.steps, .batch = kBatch, .seed = options.seed, .after_step = record},
      [&](kit::Random random) {
        const kit::Strings strings = kit::draw_strings(random, kBatch);
        const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
        const Tensor logits = model.decoder(kit::indices(forcing.input), model.read(strings.sources));
        return cross_entropy(logits, kit::indices(forcing.output), {.ignore = kit::kPad});
      });
}

/// Tests `count` strings of one length. Returns the percentage that free decoding writes exactly, with <end> at the
/// right position.
double exact_match(const Reverser& model, std::uint64_t seed, Size length, Size count) {
  const kit::Strings strings = kit::test_strings(seed, count, length);
  return kit::percent_rows_equal(kit::write_freely(model.decoder, model.read(strings.sources), length + 1),
                                 kit::indices(kit::teacher_forcing(strings.targets).output));
}

}  // namespace

Step::Step(Size embedding, Size state, Size memory, Size units)
    : attention{{*this, "attention"}, additive(state, memory, units)},
      cell{{*this, "cell"}, embedding + memory, state} {}

Tensor Step::operator()(const Tensor& e, const Tensor& s, const Tensor& h,
                        const ValidLengths& lengths) const {
  const Tensor context = squeeze(attention(unsqueeze(s, 1), h, h, lengths).context, 1);
  return cell(concat({e, context}, -1), s).hidden;
}

const AdditiveScore& Step::score() const { return dynamic_cast<const AdditiveScore&>(attention.score()); }

kit::GruWeights Step::gru() const { return {cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh}; }

double Run::worst() const { return *std::min_element(exact.y.begin(), exact.y.end()); }

Reverser::Reverser(Memory memory_in) : Translator(sizes()), memory(memory_in) {}

Encoded Reverser::read(const kit::Padded& source) const {
  const Encoded states = encoder(kit::indices(source), kit::valid_lengths(source));
  if (memory == Memory::all_states) return states;
  return {unsqueeze(states.code(), 1),
          states.final,
          {}};  // one key and value per string, (B, 1, 64); there is no padding
}

Run train_and_test(Memory memory, const std::string& name, const kit::Options& options) {
  Run run{std::make_unique<Reverser>(memory), {name, {}, {}}, {}};
  if (memory == Memory::all_states) {
    AlignmentRecorder recorder(options);
    train(*run.model, name, &recorder, options);
    run.alignments = recorder.series();
  } else {
    train(*run.model, name, nullptr, options);
  }
  for (Size length = kit::kShortestString; length <= kit::kLongestString; ++length) {
    run.exact.x.push_back(static_cast<double>(length));
    run.exact.y.push_back(exact_match(*run.model, options.seed, length, options.smoke ? 20 : 1000));
  }
  return run;
}

void draw_lengths(const Run& all_states, const Run& one_vector, const kit::Options& options) {
  kit::Chart chart{"Reversing strings with all encoder states or with one vector",
                   "letters in the string",
                   "exact match in %",
                   {all_states.exact, one_vector.exact},
                   {{99, "target"}}};
  kit::show(chart, options.out / "lengths.svg");
}

AlignmentShares measure_alignments(const Run& run, const kit::Options& options) {
  constexpr Size kShown = 14;
  const kit::Vocabulary letters = kit::alphabet();
  const kit::Strings strings = shown_strings(options.smoke ? 20 : 500, kShown, options);
  std::vector<kit::Words> sources;
  for (auto row = strings.sources.ids.begin(); row != strings.sources.ids.end(); row += kShown + 1)
    sources.push_back(letters.decode(kit::Ids(row, row + kShown)));
  const std::vector<kit::Translation> written =
      kit::translate(*run.model, letters, letters, sources, {.max_length = kShown + 3});
  AlignmentShares shares;
  double count = 0;
  for (const kit::Translation& one : written)
    for (Size t = 0; t < std::min<Size>(kShown, static_cast<Size>(one.words.size())); ++t) {
      const Size letter = kShown - 1 - t, off = std::abs(kit::looked_at(one, t) - letter);
      count += 1;
      shares.near += off <= 1;
      const std::vector<double>& row = one.alignment[static_cast<std::size_t>(t)];
      shares.weight_at += row[static_cast<std::size_t>(letter)];
      for (Size j = std::max<Size>(0, letter - 1); j <= letter + 1; ++j)
        shares.weight_near += row[static_cast<std::size_t>(j)];
    }
  for (double* share : {&shares.near, &shares.weight_at, &shares.weight_near}) *share *= 100 / count;

  fmt::print("  {}\n  → {}\n", kit::join_words(written.front().source),
             kit::join_words(written.front().words));
  kit::Heatmap map = kit::alignment_picture(written.front(), "Attention weights for each output letter");
  map.column_axis = "source letters", map.row_axis = "output letters";
  kit::show(map, options.out / "alignment.svg");
  kit::save(run.alignments, options.out / "alignment_over_training.json");
  return shares;
}

}  // namespace tapestry::lesson11
