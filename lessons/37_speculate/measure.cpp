// Measurements of speculative decoding: words per pass and time of several ways to continue the same prompts.
#include "lessons/37_speculate/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/kit/program/stopwatch.hpp"
#include "nn/positions/rotary.hpp"
#include "nn/transformer/verifiable.hpp"

namespace tapestry::lesson37 {

namespace {

/// The fastest of some runs: other programs on the machine only make a run slower.
double fastest_of(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

void add(SpeculationStatistics& sum, const SpeculationStatistics& one) {
  sum.drafted += one.drafted;
  sum.judged += one.judged;
  sum.accepted += one.accepted;
  sum.passes += one.passes;
  sum.generated += one.generated;
}

}  // namespace

TransformerOptions model_options(Size layers, Size width, Size vocabulary) {
  constexpr Size kHeadWidth = 16;
  TransformerOptions options;
  options.vocabulary = vocabulary;
  options.layers = layers;
  options.block.width = width;
  options.block.heads = width / kHeadWidth;
  options.block.bias = Bias::no;
  options.positions = rotary(RotaryOptions{});
  options.scale_words = false;
  return options;
}

std::vector<Ids> prompts_of(const Ids& text, Size count) {
  const Size apart = (static_cast<Size>(text.size()) - kPrompt) / count;
  std::vector<Ids> prompts;
  for (Size i = 0; i < count; ++i)
    prompts.emplace_back(text.begin() + i * apart, text.begin() + i * apart + kPrompt);
  return prompts;
}

double deviations_of_counts(const std::vector<double>& counts, const std::vector<double>& p) {
  const double draws = std::accumulate(counts.begin(), counts.end(), 0.0);
  // Tokens with an expected count below 20 are one class, because χ² is a normal approximation.
  double chi2 = 0, classes = 0, rare_counts = 0, rare = 0;
  const auto add = [&](double count, double expected) {
    chi2 += (count - expected) * (count - expected) / expected;
    classes += 1;
  };
  for (std::size_t x = 0; x < p.size(); ++x) {
    const double expected = draws * p[x];
    if (expected >= 20) {
      add(counts[x], expected);
    } else {
      rare_counts += counts[x];
      rare += expected;
    }
  }
  if (rare >= 20) add(rare_counts, rare);
  return (chi2 - (classes - 1)) / std::sqrt(2 * (classes - 1));
}

Writer one_by_one(const LanguageModel& target) {
  return {"one by one", [&target](const Ids& prompt, const SamplingOptions& options) {
            SamplingOptions from_last = options;
            from_last.first = {prompt.back()};
            const auto model = target.begin(Indices(prompt, {1, static_cast<Size>(prompt.size())}), kContext);
            Speculated written{sample(*model, from_last).front(), {}};
            const auto words = static_cast<Size>(written.text.ids.size());
            written.statistics.passes = written.statistics.generated = words;
            return written;
          }};
}

Writer with_model(std::string name, const LanguageModel& target, const LanguageModel& small,
                  std::vector<Size> branches) {
  return {std::move(name), [&target, &small, branches = std::move(branches)](const Ids& prompt,
                                                                             const SamplingOptions& options) {
            VerifiableLanguageModel verifier(target, kContext), guesser(small, kContext);
            ModelDraft draft(guesser, branches);
            return speculate(verifier, draft, prompt, options);
          }};
}

Writer with_lookup(std::string name, const LanguageModel& target, Size longest, Size count) {
  return {std::move(name), [&target, longest, count](const Ids& prompt, const SamplingOptions& options) {
            VerifiableLanguageModel verifier(target, kContext);
            PromptLookup draft(longest, count);
            return speculate(verifier, draft, prompt, options);
          }};
}

std::vector<Measured> measure(const std::vector<Writer>& writers, const std::vector<Ids>& prompts,
                              const SamplingOptions& options, Size rounds) {
  std::vector<Measured> results;
  for (const Writer& writer : writers) results.push_back({writer.name, {}, {}, 0});
  std::vector<std::vector<double>> times(writers.size());
  for (Size round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < writers.size(); ++i)
      times[i].push_back(kit::seconds([&] {
        SamplingOptions of_prompt = options;
        for (const Ids& prompt : prompts) {
          const Speculated written = writers[i].write(prompt, of_prompt);
          ++of_prompt.seed;
          if (round > 0) continue;  // the same words and counts in each round
          add(results[i].counts, written.statistics);
          results[i].texts.push_back(written.text.ids);
        }
      }));
  for (std::size_t i = 0; i < writers.size(); ++i) results[i].seconds = fastest_of(times[i]);
  return results;
}

double seconds_of_pass(const LanguageModel& model, Size words, Size rounds) {
  constexpr Size kCached = kContext / 2;
  const auto chain = [](Size before, Size count) {
    std::vector<Size> parents(static_cast<std::size_t>(count));
    std::iota(parents.begin(), parents.end(), before);
    return parents;
  };
  VerifiableLanguageModel text(model, kContext);
  text.extend(Ids(static_cast<std::size_t>(kCached), 0), chain(-1, kCached));
  std::vector<double> times;
  for (Size round = 0; round < rounds; ++round) {
    times.push_back(kit::seconds(
        [&] { text.extend(Ids(static_cast<std::size_t>(words), 0), chain(kCached - 1, words)); }));
    text.keep(kCached, {});
  }
  return fastest_of(times);
}

}  // namespace tapestry::lesson37
