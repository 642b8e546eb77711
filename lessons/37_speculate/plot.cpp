// Tables and pictures of speculative decoding.
#include "lessons/37_speculate/plot.hpp"

#include <fmt/format.h>

#include <numeric>

namespace tapestry::lesson37 {

void show_accepted(const std::vector<double>& counts, const std::filesystem::path& file) {
  const double rounds = std::accumulate(counts.begin(), counts.end(), 0.0);
  kit::Bars bars{.title = "Accepted guesses of a round", .x_label = "share of the rounds"};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    bars.bars.push_back({fmt::format("{} of {} accepted", i, counts.size() - 1), counts[i] / rounds});
    fmt::print("  {:<52}{:>8.3f}\n", bars.bars.back().label, bars.bars.back().value);
  }
  kit::show(bars, file);
}

void print_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                   const std::vector<Prediction>& predictions) {
  fmt::print("\n  {:<10}{:>12}{:>18}{:>10}{:>12}{:>16}{:>22}\n", "guesses", "acceptance", "tokens per pass",
             "formula", "speed-up", "÷ (g c + 1)", "÷ measured pass");
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Measured& result = results[i + 1];
    fmt::print("  {:<10}{:>12.3f}{:>18.3f}{:>10.3f}{:>12.2f}{:>15.2f}{:>22.2f}\n", lengths[i],
               result.counts.acceptance(), result.counts.tokens_per_pass(), predictions[i].tokens_per_pass,
               results[0].seconds / result.seconds, predictions[i].speed_up,
               predictions[i].speed_up_measured_pass);
  }
}

void draw_lengths(const std::vector<Size>& lengths, const std::vector<Measured>& results,
                  const std::vector<Prediction>& predictions, const std::filesystem::path& file) {
  kit::Series measured{.name = "measured"}, formula{.name = "formula, (g c + 1)", .dashes = 1},
      passes{.name = "formula, measured pass", .dashes = 2};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (kit::Series* series : {&measured, &formula, &passes})
      series->x.push_back(static_cast<double>(lengths[i]));
    measured.y.push_back(results[0].seconds / results[i + 1].seconds);
    formula.y.push_back(predictions[i].speed_up);
    passes.y.push_back(predictions[i].speed_up_measured_pass);
  }
  kit::show(kit::Chart{.title = "Speed against draft length",
                       .x_label = "guesses per pass",
                       .y_label = "speed ÷ speed without a draft",
                       .series = {measured, formula, passes},
                       .levels = {{1, "without a draft"}}},
            file);
}

void print_drafts(const std::string& heading, const std::vector<Measured>& results) {
  fmt::print("\n  {:<24}{:>12}{:>18}{:>12}\n", heading, "acceptance", "tokens per pass", "speed-up");
  for (const Measured& result : results)
    fmt::print("  {:<24}{:>12.3f}{:>18.3f}{:>12.2f}\n", result.name, result.counts.acceptance(),
               result.counts.tokens_per_pass(), results[0].seconds / result.seconds);
}

}  // namespace tapestry::lesson37
