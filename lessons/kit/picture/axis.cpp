// Chart axis with a range and ticks at round numbers.
#include "lessons/kit/picture/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tapestry::kit {
namespace {

std::string superscript(int number) {
  static constexpr std::array<const char*, 10> kDigits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char c : std::to_string(number))
    out += c == '-' ? "⁻" : kDigits[static_cast<std::size_t>(c - '0')];
  return out;
}

std::string power_of_ten(double mantissa, int exponent) {
  const std::string power = "10" + superscript(exponent);
  return mantissa == 1 ? power : fmt::format("{:g}×{}", mantissa, power);
}

/// Returns the smallest of 1, 2, 5 × 10ᵏ that is at least `step`.
double round_step(double step) {
  const double decade = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step <= factor * decade * (1 + 1e-9)) return factor * decade;
  }
  return 10 * decade;
}

}  // namespace

std::string axis_number(double value, int decimals) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1e6 || size < 1e-4) {
    const auto exponent = static_cast<int>(std::floor(std::log10(size) + 1e-12));
    const double mantissa = std::round(size / std::pow(10.0, exponent) * 100) / 100;
    return (value < 0 ? "−" : "") + power_of_ten(mantissa, exponent);
  }
  std::string digits = fmt::format("{:.{}f}", size, std::clamp(decimals, 0, 6));
  const std::size_t point = std::min(digits.find('.'), digits.size());
  if (point > 3) digits.insert(point - 3, ",");
  return (value < 0 ? "−" : "") + digits;
}

Axis::Axis(Scale scale, const std::vector<double>& values, int wanted)
    : scale_(scale),
      least_(std::numeric_limits<double>::infinity()),
      most_(-std::numeric_limits<double>::infinity()) {
  for (const double value : values) {
    if (!drawable(value)) continue;
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  if (least_ > most_) {
    least_ = scale == Scale::log ? 1 : 0;
    most_ = scale == Scale::log ? 10 : 1;
  }
  if (scale == Scale::log) {
    make_log(std::max(wanted, 2));
  } else {
    make_linear(std::max(wanted, 2));
  }
}

bool Axis::drawable(double value) const {
  return std::isfinite(value) && std::abs(value) < 1e300 && (scale_ == Scale::linear || value > 1e-300);
}

double Axis::place(double value) const {
  if (scale_ == Scale::linear) return (value - least_) / (most_ - least_);
  return (std::log10(value) - std::log10(least_)) / (std::log10(most_) - std::log10(least_));
}

void Axis::make_linear(int wanted) {
  // Widen a nearly empty range, so that the ticks differ and the loop below ends.
  const double size = std::max(std::abs(least_), std::abs(most_));
  if (most_ - least_ <= 1e-9 * size || most_ - least_ < 1e-290) {
    const double room = size < 1e-290 ? 1 : size / 2;
    least_ -= room;
    most_ += room;
  }
  const double step = round_step((most_ - least_) / wanted);
  const double first = std::floor(least_ / step + 1e-6), last = std::ceil(most_ / step - 1e-6);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  for (double index = first; index <= last; ++index) {
    ticks_.push_back({index * step, axis_number(index * step, decimals)});
  }
  least_ = first * step;
  most_ = last * step;
}

void Axis::make_log(int wanted) {
  const double first = std::floor(std::log10(least_) + 1e-9);
  double last = std::ceil(std::log10(most_) - 1e-9);
  if (last <= first) last = first + 1;
  double from = std::pow(10.0, first), to = std::pow(10.0, last);
  if (last - first <= 3) {  // few decades: start and end at the nearest 1, 2 or 5 × 10ᵏ
    for (const double factor : {5.0, 2.0})
      if (factor * from <= least_ * (1 + 1e-9)) {
        from *= factor;
        break;
      }
    for (const double factor : {0.2, 0.5})
      if (factor * to >= most_ * (1 - 1e-9) && factor * to > from * (1 + 1e-9)) {
        to *= factor;
        break;
      }
  }
  const double decades = std::log10(to / from);
  const double stride = std::max(1.0, std::ceil(decades / wanted));
  const bool plain = first >= -3 && last <= 4;
  const auto add = [this, plain, from, to](double mantissa, double exponent) {
    const double value = mantissa * std::pow(10.0, exponent);
    if (value < from * (1 - 1e-9) || value > to * (1 + 1e-9)) return;
    ticks_.push_back({value, plain ? axis_number(value, exponent < 0 ? static_cast<int>(-exponent) : 0)
                                   : power_of_ten(mantissa, static_cast<int>(exponent))});
  };
  for (double exponent = first; exponent <= last; ++exponent) {
    if (std::fmod(exponent - first, stride) != 0) continue;
    add(1, exponent);
    if (decades <= 2.5 && stride == 1 && exponent < last) {
      add(2, exponent);
      add(5, exponent);
    }
  }
  least_ = from;
  most_ = to;
}

}  // namespace tapestry::kit
