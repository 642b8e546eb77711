// Suggests the cause of a wrong gradient, and formats the result of a check as text.
#include "core/check/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check/gradcheck.hpp"

namespace tapestry {

namespace detail {

namespace {

using Values = std::vector<double>;

/// Returns true if ‖a − factor·b‖ ≤ 10⁻³ ‖a‖ and a is not all zero.
bool nearly(const Values& a, const Values& b, double factor = 1) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - factor * b[i]) * (a[i] - factor * b[i]);
    length += a[i] * a[i];
  }
  return a.size() == b.size() && length > 0 && difference <= 1e-6 * length;
}

bool all_zero(const Values& a) {
  return std::all_of(a.begin(), a.end(), [](double x) { return std::abs(x) < 1e-300; });
}

/// Returns the factor c that minimises ‖a − c·b‖, or 0 if b is all zero.
double ratio(const Values& a, const Values& b) {
  double ab = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    bb += b[i] * b[i];
  }
  return bb > 0 ? ab / bb : 0;
}

/// Returns a with its last two axes exchanged, or an empty list if there are none of equal size.
Values transposed(const Values& a, const Dims& shape) {
  const int rank = shape.rank();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2]) return {};
  const auto n = static_cast<std::size_t>(shape[rank - 1]);
  Values result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t block = i / (n * n) * (n * n), row = i % (n * n) / n, column = i % n;
    result[block + column * n + row] = a[i];
  }
  return result;
}

/// Returns the analytic values of the elements for which differences were computed.
Values analytic_at(const CheckTarget& target) {
  if (target.sampled.empty()) return target.analytic;
  Values values;
  for (Size i : target.sampled) values.push_back(target.analytic[static_cast<std::size_t>(i)]);
  return values;
}

std::string about_factor(double c) {
  if (std::abs(c + 1) < 1e-3) return "the sign: the rule gives the negative everywhere";
  const double larger = std::abs(c) > 1 ? c : 1 / c;
  std::string text = fmt::format("a factor: the rule gives {:.6g} times the slope everywhere", c);
  if (std::abs(larger - std::round(larger)) < 1e-3 && std::abs(larger) > 1.5)
    text += "; a sum where a mean was meant, or something counted twice?";
  return text;
}

}  // namespace

std::string what_to_look_at(const std::string& label, std::span<const CheckTarget> targets) {
  const auto self =
      std::find_if(targets.begin(), targets.end(), [&](const CheckTarget& t) { return t.label == label; });
  if (self == targets.end()) return {};
  const Values analytic = analytic_at(*self);
  const Values& numeric = self->numeric;
  const auto finite = [](const Values& values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  };
  if (!finite(analytic))
    return "the values: the rule gives NaN or infinity; a division by zero, or a place that should be masked?";
  if (!finite(numeric))
    return "the inputs: f itself gives NaN or infinity near them; choose inputs inside its domain";
  if (all_zero(analytic)) return "the argument: the rule gives zero everywhere; is it left out, or detached?";
  if (const double c = ratio(analytic, numeric);
      c != 0 && nearly(analytic, numeric, c) && std::abs(c - 1) > 1e-4)
    return about_factor(c);
  if (self->sampled.empty()) {
    const Values turned = transposed(analytic, self->value.shape());
    if (!turned.empty() && nearly(turned, numeric))
      return "the axes: the gradient fits if its last two axes are transposed";
    for (const CheckTarget& other : targets)
      if (&other != &*self && other.value.shape() == self->value.shape() && other.sampled.empty() &&
          nearly(analytic, other.numeric))
        return fmt::format("the order of the rules: this is the gradient of {}", other.label);
    if (self->wrong > 0 && self->wrong < self->value.count())
      return fmt::format("the places: {} of {} elements differ, the others agree", self->wrong,
                         self->value.count());
  }
  return "the formula: no simple relation to the slopes was found";
}

}  // namespace detail

std::string GradcheckResult::report() const {
  const auto entry_text = [](const GradcheckEntry& entry) {
    const std::string where = entry.index.empty() && entry.shape.rank() > 0
                                  ? ""
                                  : fmt::format(" at [{}]", fmt::join(entry.index, ", "));
    return fmt::format("  {} {}{}: the rule gives {:.10g}, differences give {:.10g} (ε = {:.2g})\n",
                       entry.argument, to_string(entry.shape), where, entry.analytic, entry.numeric,
                       entry.epsilon);
  };
  std::string text =
      fmt::format("gradcheck of {}: {} ({} comparisons)\n", name, ok() ? "ok" : "FAILED", compared);
  for (const GradcheckEntry& entry : failures)
    text += entry_text(entry) + fmt::format("    look at {}\n", entry.look_at);
  if (!kinks.empty())
    text += fmt::format("  {} kinks, where f has no derivative (not counted as failures):\n", kinks.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(kinks.size(), 5); ++i)
    text += entry_text(kinks[i]) + fmt::format("    {}\n", kinks[i].look_at);
  return text;
}

}  // namespace tapestry
