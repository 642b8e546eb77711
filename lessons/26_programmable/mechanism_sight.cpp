// Finds the keys and values on which the queries of a mechanism depend, by changing them.
#include <fmt/format.h>

#include "core/core.hpp"
#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace tapestry::kit {

namespace {

using Learned = std::vector<Tensor>;

Tensor context_of(const Mechanism& mechanism, const Learned& all, const Tensor& query, const Tensor& key,
                  const Tensor& value) {
  return run(mechanism, query, key, value, Learned(all.begin() + 3, all.end()));
}

}  // namespace

bool matches_cached_decoding(const Mechanism& mechanism, Report& report, std::uint64_t seed) {
  constexpr Size kWords = 40;
  const Learned all = random_inputs(mechanism, kWords, seed, DType::f64);
  const Tensor context = context_of(mechanism, all, all[0], all[1], all[2]);
  // Returns the fault of the last queries alone, or an empty string.
  const auto fault_of = [&](Size last) -> std::string {
    const auto of_last = [=](const Tensor& x) { return slice(x, -2, kWords - last, kWords); };
    try {
      const double by =
          largest(context_of(mechanism, all, of_last(all[0]), all[1], all[2]) - of_last(context));
      if (by < 1e-11) return {};
      return fmt::format("the last {} of {} queries alone have another result, by {:.1e}", last, kWords, by);
    } catch (const Error& error) {
      return error.what();
    }
  };
  std::string fault = fault_of(1);
  if (fault.empty()) fault = fault_of(7);
  if (mechanism.ops && !fault.empty()) {
    report.note(fault + ": not for a cache of keys");
    return true;
  }
  if (!fault.empty()) report.note(fault + "; is query i at place i + keys − queries?");
  return report.check(fmt::format("{}: the same with a cache of keys", mechanism.name), fault.empty());
}

bool ignores_masked_keys(const Mechanism& mechanism, Report& report, std::uint64_t seed) {
  constexpr Size kWords = 40;
  const BlockMask tiles = mechanism.mask(kWords, kWords);
  bool ok = true;
  if (tiles.defined()) {
    const Mask mask = tiles.mask();
    if (const auto masked_query = tiles.fully_masked_query())
      report.note(fmt::format("query {} has no visible key, so its context is 0; is this intended?",
                              masked_query->i));
    const Learned all = random_inputs(mechanism, kWords, seed, DType::f64);
    // A weight of 0, which the normaliser is held to, does not prove that the score was left out of the sum by which
    // the others are divided.
    const Tensor context = context_of(mechanism, all, all[0], all[1], all[2]);
    const Tensor other_keys = random_normal(all[1].shape(), seed + 7, DType::f64),
                 other_values = random_normal(all[2].shape(), seed + 8, DType::f64);
    const Tensor ones = full({1, 1, kWords, kWords}, 1, DType::f64);
    const Tensor allowed = where(mask, ones, zeros({}, DType::f64));  // 1 or 0 for each pair
    for (Size i = 0; i < kWords; ++i) {
      const Tensor seen = transpose(slice(allowed, -2, i, i + 1));  // (…, Tk, 1)
      const auto swapped = [&](const Tensor& own, const Tensor& other) {
        return seen * own + (1.0 - seen) * other;
      };
      const Tensor changed =
          context_of(mechanism, all, all[0], swapped(all[1], other_keys), swapped(all[2], other_values));
      const double by = largest(slice(changed - context, -2, i, i + 1));
      if (by == 0) continue;
      report.note(
          fmt::format("query {} changes by {:.1e} with keys and values outside its mask: is a masked "
                      "score in a sum? call zero_masked() before adding up",
                      i, by));
      ok = false;
      break;
    }
  }
  return report.check(fmt::format("{}: nothing outside the mask", mechanism.name), ok);
}

std::optional<Ahead> looks_ahead(const Mechanism& mechanism, Size words, std::uint64_t seed) {
  const Learned all = random_inputs(mechanism, words, seed, DType::f64),
                other = random_inputs(mechanism, words, seed + 7, DType::f64);
  const Tensor context = context_of(mechanism, all, all[0], all[1], all[2]);
  // Returns the change of query i when the positions begin … end − 1 change.
  const auto change = [&](Size i, Size begin, Size end) {
    const auto swapped = [&](std::size_t which) {
      return concat({slice(all[which], 2, 0, begin), slice(other[which], 2, begin, end),
                     slice(all[which], 2, end, words)},
                    2);
    };
    const Tensor changed = context_of(mechanism, all, swapped(0), swapped(1), swapped(2));
    return largest(slice(changed - context, 2, i, i + 1));
  };
  constexpr double kNothing = 1e-9;  // rounding: the same sums in another order
  for (Size i = 0; i + 1 < words; ++i) {
    if (change(i, i + 1, words) < kNothing) continue;
    for (Size j = i + 1; j < words; ++j)
      if (change(i, j, j + 1) >= kNothing) return Ahead{i, j};
    return Ahead{i, i + 1};  // only several keys together have an effect
  }
  return {};
}

}  // namespace tapestry::kit
