// Tables and pictures of the loss beyond the trained length.
#include "lessons/36_long/plot.hpp"

#include <fmt/format.h>

#include <iterator>

namespace tapestry::lesson36 {

void print_curves(const std::string& heading, const std::vector<Curve>& curves) {
  fmt::print("\n  {:<36}", heading);
  for (const Positions& range : kRanges) fmt::print("{:>10}", fmt::format("{}-{}", range.from, range.to));
  fmt::print("\n");
  for (const Curve& curve : curves) {
    fmt::print("  {:<36}", curve.name);
    for (std::size_t range = 0; range < std::size(kRanges); ++range) fmt::print("{:>10.3f}", curve.in(range));
    fmt::print("\n");
  }
}

void draw_curves(const std::string& title, const std::vector<Curve>& curves,
                 const std::filesystem::path& file) {
  constexpr Size kTogether = 16;
  kit::Chart chart{
      .title = title, .x_label = "position in characters", .y_label = "loss per character, nats"};
  for (const Curve& curve : curves) {
    kit::Series series{.name = curve.name, .dashes = static_cast<int>(chart.series.size()) % 3};
    for (Size from = 0; from < static_cast<Size>(curve.losses.size()); from += kTogether) {
      series.x.push_back(static_cast<double>(from + kTogether / 2));
      series.y.push_back(mean_between(curve.losses, from, from + kTogether));
    }
    chart.series.push_back(series);
  }
  kit::show(chart, file);
}

void draw_first_token(const std::vector<FirstToken>& rows, const std::filesystem::path& file) {
  kit::Bars bars{.title = "Weight of the first token, layer by layer",
                 .x_label = "mean weight over heads and queries"};
  for (const FirstToken& row : rows)
    for (std::size_t layer = 0; layer < row.by_layer.size(); ++layer) {
      bars.bars.push_back({fmt::format("layer {}, {}", layer + 1, row.name), row.by_layer[layer]});
      fmt::print("  {:<52}{:>8.4f}\n", bars.bars.back().label, bars.bars.back().value);
    }
  kit::show(bars, file);
}

}  // namespace tapestry::lesson36
