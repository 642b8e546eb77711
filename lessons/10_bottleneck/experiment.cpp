// Writing strings backwards through one vector: models of four widths, their training, three measures, pictures.
//
// The task: write a string backwards. There are ten letters and lengths from 4 to 24. Each step has a fresh batch, and
// all strings of a batch have the same length, so no time is spent on padding.
#include "lessons/10_bottleneck/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/core.hpp"
#include "lessons/kit/check/agreement.hpp"
#include "lessons/kit/tensors.hpp"
#include "lessons/kit/train/loop.hpp"

namespace tapestry::lesson10 {
namespace {

constexpr Size kShortest = kit::kShortestString, kLongest = kit::kLongestString;

struct Written {
  Indices wanted, forced, free;  // (rows, length + 1), including <end>
};

Written write(const PlainTranslator& model, const kit::Strings& strings) {
  const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
  const Encoded source = model.encoder(kit::indices(strings.sources), kit::valid_lengths(strings.sources));
  return {kit::indices(forcing.output), argmax(model.decoder(kit::indices(forcing.input), source)),
          kit::write_freely(model.decoder, source, forcing.output.columns)};
}

/// Returns a curve of one member of Counted over all lengths.
kit::Series curve(const std::string& name, const std::vector<Counted>& counted, double Counted::*figure) {
  kit::Series series{name, {}, {}};
  for (Size length = kShortest; length <= kLongest; ++length) {
    series.x.push_back(static_cast<double>(length));
    series.y.push_back(at_length(counted, length).*figure);
  }
  return series;
}

/// Returns the length where a curve crosses 50, interpolated between two lengths. If the curve starts below 50, returns
/// the shortest length; if it never falls that far, the longest.
double half_length(const kit::Series& exact) {
  if (exact.y.front() < 50) return exact.x.front();
  for (std::size_t i = 1; i < exact.y.size(); ++i)
    if (exact.y[i] < 50) return exact.x[i - 1] + (exact.y[i - 1] - 50) / (exact.y[i - 1] - exact.y[i]);
  return exact.x.back();
}

}  // namespace

TranslatorOptions sizes(Size vocabulary, Size embedding, Size hidden, Size readout) {
  return {{.vocabulary = vocabulary,
           .embedding = embedding,
           .hidden = hidden,
           .recurrent = {.both_directions = false}},
          {.vocabulary = vocabulary, .embedding = embedding, .hidden = hidden, .readout = readout}};
}

kit::GruWeights gru_weights(const Module& gru) {
  const std::vector<Tensor> weights = gru.parameters();  // in the order of lesson 09
  return {weights[0], weights[1], weights[2], weights[3]};
}

Reverser::Reverser(Size hidden_in)
    : hidden(hidden_in), model(sizes(kit::alphabet().size(), 32, hidden_in, 64)) {}

void train(Reverser& reverser, const kit::Options& options) {
  constexpr Size kBatch = 32;
  const PlainTranslator& model = reverser.model;
  reverser.model.initialise(options.seed);
  kit::train(reverser.model,
             {.name = fmt::format("hidden {}", reverser.hidden),
              .steps = options.steps,
              .batch = kBatch,
              .seed = options.seed},
             [&](kit::Random random) {
               const Size length = random.between(kShortest, kLongest);
               const kit::Strings strings = kit::draw_strings(random, kBatch, length, length);
               const kit::Forcing forcing = kit::teacher_forcing(strings.targets);
               const Tensor logits = model(kit::indices(strings.sources), kit::valid_lengths(strings.sources),
                                           kit::indices(forcing.input));
               return cross_entropy(logits, kit::indices(forcing.output), {.ignore = kit::kPad});
             });
}

std::vector<Counted> count_all(const Reverser& reverser, const kit::Options& options) {
  std::vector<Counted> counted;
  for (Size length = kShortest; length <= kLongest; ++length) {
    const auto [wanted, forced, free] =
        write(reverser.model, kit::test_strings(options.seed, options.smoke ? 20 : 500, length));
    counted.push_back({kit::percent_rows_equal(free, wanted), kit::percent_equal(free, wanted),
                       kit::percent_rows_equal(forced, wanted), kit::percent_equal(forced, wanted)});
  }
  return counted;
}

const Counted& at_length(const std::vector<Counted>& counted, Size length) {
  return counted.at(static_cast<std::size_t>(length - kShortest));
}

double furthest_apart(const std::vector<Counted>& counted) {
  double apart = 0;
  for (const Counted& one : counted) apart = std::max(apart, std::abs(one.exact_forced - one.exact));
  return apart;
}

void write_one(const Reverser& reverser, const kit::Options& options) {
  const kit::Strings one = kit::test_strings(options.seed, 1, 16);
  const Written written = write(reverser.model, one);
  const kit::Vocabulary letters = kit::alphabet();
  const auto line = [&](const char* name, const kit::Ids& ids) {
    fmt::print("  {:<8}", name);
    for (const std::int64_t id : ids) fmt::print(" {}", id == kit::kEnd ? "·" : letters.word(id));
    fmt::print("\n");
  };
  line("source", one.sources.ids);
  line("target", written.wanted.to_vector());
  line("forced", written.forced.to_vector());
  line("free", written.free.to_vector());
}

void draw_ways_to_count(const std::vector<Counted>& counted, Size hidden, const kit::Options& options) {
  kit::Chart chart{fmt::format("Three measures of success, hidden {}", hidden),
                   "letters in the string",
                   "right in %",
                   {},
                   {}};
  chart.series = {curve("letters, forced", counted, &Counted::letters_forced),
                  curve("letters, free", counted, &Counted::letters),
                  curve("whole strings", counted, &Counted::exact)};
  kit::show(chart, options.out / "ways_to_count.svg");
}

std::vector<Width> widen(const std::vector<Counted>& of_64, const kit::Options& options) {
  kit::Chart chart{
      "Writing strings backwards through one vector", "letters in the string", "exact match in %", {}, {}};
  std::vector<Width> widths;
  fmt::print("   hidden   weights        half length   exact match at 8      16      24\n");
  for (const Size hidden : {32, 64, 128, 256}) {
    Reverser reverser(hidden);
    if (hidden != 64) train(reverser, options);
    const std::vector<Counted> counted = hidden == 64 ? of_64 : count_all(reverser, options);
    chart.series.push_back(curve(fmt::format("hidden {}", hidden), counted, &Counted::exact));
    widths.push_back({hidden, kit::weights_of(reverser.model), half_length(chart.series.back())});
    fmt::print("   {:6}   {:7}   {:16.1f}   {:14.1f} %   {:5.1f}   {:5.1f}\n", hidden, widths.back().weights,
               widths.back().half_length, at_length(counted, 8).exact, at_length(counted, 16).exact,
               at_length(counted, 24).exact);
  }
  chart.levels.push_back({50, "half"});
  kit::show(chart, options.out / "lengths.svg");
  return widths;
}

bool few_letters_more(const std::vector<Width>& widths, kit::Report& report) {
  bool few = true;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const double gained = widths[i].half_length - widths[i - 1].half_length;
    report.at_least(fmt::format("half length gained with {} units, in letters", widths[i].hidden), gained, 1);
    few = few && gained >= 1 && gained < widths[i - 1].half_length / 2;
  }
  return few;
}

}  // namespace tapestry::lesson10
