#include "lessons/02_gradcheck/error_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lessons/kit/program/files.hpp"

namespace tapestry::lesson02 {
namespace {

/// Returns the coefficients a_n of tanh(kPlace + h) = Σ a_n hⁿ. Comparing the powers of h in tanh′ = 1 − tanh² gives
/// (n + 1) a_{n+1} = [n = 0] − Σ_i a_i a_{n−i}.
std::array<double, 41> series_of_tanh() {
  std::array<double, 41> a{std::tanh(kPlace)};
  for (std::size_t n = 0; n + 1 < a.size(); ++n) {
    double sum = n == 0 ? 1 : 0;
    for (std::size_t i = 0; i <= n; ++i) sum -= a[i] * a[n - i];
    a[n + 1] = sum / static_cast<double>(n + 1);
  }
  return a;
}

double four_digits(double value) { return std::stod(fmt::format("{:.3e}", value)); }

}  // namespace

double truncation_of_tanh(double epsilon, bool central) {
  static const auto a = series_of_tanh();
  double total = 0;
  for (std::size_t n = a.size() - 1; n >= 2; --n)
    if (!central || n % 2 == 1) total += a[n] * std::pow(epsilon, static_cast<double>(n - 1));
  return total;
}

void save(const std::vector<ErrorParts>& curves, const kit::Options& options) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const ErrorParts& curve : curves) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < curve.epsilon.size(); ++i) {
      const double truncation = truncation_of_tanh(curve.epsilon[i], curve.central);
      rows.push_back({four_digits(curve.epsilon[i]), four_digits(curve.error[i]), four_digits(truncation),
                      four_digits(curve.error[i] - truncation)});
    }
    all.push_back({{"name", curve.name}, {"rows", rows}});
  }
  kit::write_atomically(options.out / "error_parts.json", Json({{"curves", all}}).dump() + "\n");
}

}  // namespace tapestry::lesson02
