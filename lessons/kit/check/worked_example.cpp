// The check that a lesson's worked example, which the reader computes on paper, matches the program.
#include "lessons/kit/check/worked_example.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace tapestry::kit {
namespace {

/// Returns the number of decimals of a figure: 3 for 0.804, 0 for 12, 6 for 1.5e-05.
int decimals(double written) {
  const std::string text = fmt::format("{}", written);
  const std::size_t point = text.find('.'), power = std::min(text.find('e'), text.size());
  const int behind_point = point == std::string::npos ? 0 : static_cast<int>(power - point - 1);
  return power == text.size() ? behind_point : behind_point - std::stoi(text.substr(power + 1));
}

}  // namespace

bool check_worked_example(Report& report, const std::string& name, const std::vector<Written>& figures) {
  std::string apart;
  for (const auto& [computed, written] : figures)
    if (!(std::abs(computed - written) <= 0.6 * std::pow(10, -decimals(written))))  // true for NaN
      apart += fmt::format("{} {} should be {:.6g}", apart.empty() ? ":" : ",", written, computed);
  return report.check(fmt::format("{}: {} {} the worked example{}", name, figures.size(),
                                  figures.size() == 1 ? "figure matches" : "figures match", apart),
                      apart.empty());
}

}  // namespace tapestry::kit
