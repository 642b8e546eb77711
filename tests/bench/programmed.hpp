// Attention with masks and scores of one's own, by name: timed by programmed.cpp, weighed by memory.cpp.
// Eight heads; the peers of the same names say what each is.
#pragma once

#include <stdexcept>
#include <string>

#include "core/attention/attend.hpp"
#include "core/attention/score_lambda.hpp"
#include "tests/bench/data.hpp"

namespace tapestry::bench {

inline constexpr Size kProgrammedHeads = 8;

/// For so many queries and as many keys. What the score learns is in its learned(). Throws if there is none
/// of this name.
inline AttendOptions programmed(const std::string& name, Size time) {
  const auto pairs = [time](const auto& may_attend) {
    return AttendOptions{.mask = BlockMask::where(time, time, may_attend)};
  };
  const auto alibi = [](auto s, auto at, auto slope) { return s - slope(at.h) * abs(at.i - at.j); };
  const auto bias = [last = static_cast<double>(time - 1)](auto s, auto at, auto table) {
    return s + table(at.h, at.j - at.i + last);
  };
  const auto slopes = [] {
    return tensor({1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32, 1.0 / 64, 1.0 / 128, 1.0 / 256});
  };
  const Dims by_distance{kProgrammedHeads, 2 * time - 1};

  if (name == "causal") return pairs([](QueryKey p) { return p.j <= p.i; });
  if (name == "window") return pairs([](QueryKey p) { return p.j <= p.i && p.i - p.j < 256; });
  if (name == "documents") return pairs([](QueryKey p) { return p.j <= p.i && p.i / 256 == p.j / 256; });
  if (name == "identity") return {.score_mod = score_mod([](auto s, auto) { return s; })};
  if (name == "soft_cap") return {.score_mod = score_mod([](auto s, auto) { return 20 * tanh(s / 20); })};
  if (name == "alibi") return {.score_mod = score_mod(alibi, slopes())};
  if (name == "alibi_causal")
    return {.mask = BlockMask::causal(time, time), .score_mod = score_mod(alibi, slopes())};
  if (name == "alibi_learned")
    return {.mask = BlockMask::causal(time, time),
            .score_mod = score_mod(alibi, learned(variable(slopes())))};
  if (name == "bias") return {.score_mod = score_mod(bias, random(by_distance, 5))};
  if (name == "bias_learned") return {.score_mod = score_mod(bias, learned(leaf(by_distance, 5)))};
  throw std::invalid_argument("there is no programmed attention \"" + name + "\"");
}

}  // namespace tapestry::bench
