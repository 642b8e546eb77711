// The checks of a mechanism: derivatives compared with differences, tiles compared with plain ops.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/core.hpp"
#include "lessons/26_programmable/mechanism.hpp"
#include "lessons/kit/check/agreement.hpp"

namespace tapestry::kit {

namespace {

using Learned = std::vector<Tensor>;
using Attention = decltype(run);

constexpr Size kShort = 6, kMiddle = 40, kLong = 150;  // one tile, one tile, several tiles

Tensor run_on(const Mechanism& mechanism, const Learned& all, Attention* attention = run) {
  return attention(mechanism, all[0], all[1], all[2], Learned(all.begin() + 3, all.end()));
}

/// Like gradients(), but returns 0 for inputs that do not affect the result.
Learned gradients_or_zeros(const Mechanism& mechanism, const Learned& all, std::uint64_t seed,
                           Attention* attention = run) {
  Tape tape;
  const Tensor y = run_on(mechanism, all, attention);
  return tape.gradients(y, random_normal(y.shape(), seed, y.dtype()), all, {.zero_if_unused = true});
}

/// Returns whether the result changes if `all[which]` changes.
bool has_influence(const Mechanism& mechanism, Learned all, std::size_t which, std::uint64_t seed) {
  const Tensor before = run_on(mechanism, all);
  all[which] = all[which].detach() + 0.01 * random_normal(all[which].shape(), seed, DType::f64);
  return largest(run_on(mechanism, all) - before) > 1e-12;
}

/// The findings about query, key, value or a learned tensor, in all texts.
struct Argument {
  std::string name;
  Tensor reached = {};  ///< sums of absolute gradients
  std::size_t compared = 0;
  bool ok = true;
};

class Slopes {
 public:
  Slopes(const Mechanism& mechanism, std::uint64_t seed, Report& report)
      : mechanism_(mechanism), seed_(seed), report_(report) {
    for (const Size words : {kShort, kMiddle, kLong}) check_text(words);
    for (std::size_t i = 0; i < arguments_.size(); ++i) look_for_gaps(arguments_[i], i >= 3);
  }

  bool ok() const {
    return std::all_of(arguments_.begin(), arguments_.end(), [](const Argument& one) { return one.ok; });
  }
  /// Returns the number of compared derivatives of each: "query 4, key 4, value 4, rate 12".
  std::string counts() const {
    std::string text;
    for (const Argument& one : arguments_)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, one.compared);
    return text;
  }

 private:
  void check_text(Size words) {
    const Learned all = random_inputs(mechanism_, words, seed_, DType::f64);
    const Learned found = gradients_or_zeros(mechanism_, all, seed_);
    if (arguments_.empty())
      for (const Tensor& one : all)
        arguments_.push_back({std::string(one.name()), zeros(one.shape(), DType::f64)});
    for (std::size_t i = 0; i < all.size(); ++i) {
      Argument& argument = arguments_[i];
      // Query, key and value behave the same in a longer text, so one text with a pair is enough for them. A
      // learned table may have parts that only a long text uses.
      if (i < 3 && argument.compared > 0) continue;
      if (i >= 3) argument.reached = argument.reached + abs(found[i]);
      if (argument.ok) check_argument(argument, all, i, largest(found[i]) < 1e-12, words);
    }
  }

  void check_argument(Argument& argument, const Learned& all, std::size_t which, bool silent, Size words) {
    if (silent) {
      if (!has_influence(mechanism_, all, which, seed_)) return;  // no influence at this length
      report_.note(
          fmt::format("{} changes the result, but gets no gradient: is learned(…) missing?", argument.name));
      argument.ok = false;
      return;
    }
    GradcheckOptions options;
    options.seed = seed_;
    options.name = fmt::format("{} at {} words", mechanism_.name, words);
    if (words == kLong) options.elements = 0;  // along random directions, which include all elements
    const GradcheckResult result =
        gradcheck([&] { return run_on(mechanism_, all); }, {}, {all[which]}, options);
    if (!result.ok()) report_.note(result.report());
    argument.ok = result.ok();
    argument.compared += result.compared;
  }

  void look_for_gaps(Argument& argument, bool learned) {
    const std::vector<double> sums = argument.reached.to_vector();
    const auto missed = std::count(sums.begin(), sums.end(), 0.0);
    if (argument.ok && argument.compared == 0) {
      // A mechanism may ignore queries and keys. But a learned tensor without any effect is a mistake.
      report_.note(fmt::format("{} has no influence on the result", argument.name));
      argument.ok = !learned && argument.name != "value";
    } else if (argument.ok && learned && missed > 0) {
      report_.note(fmt::format("{}: {} of {} numbers were reached by no checked text", argument.name, missed,
                               sums.size()));
    }
  }

  const Mechanism& mechanism_;
  std::uint64_t seed_;
  Report& report_;
  std::vector<Argument> arguments_;
};

bool tiles_are_plain_ops(const Mechanism& mechanism, std::uint64_t seed, Report& report) {
  bool ok = true;
  for (const Size words : {kShort, kLong}) {
    const Learned all = random_inputs(mechanism, words, seed, DType::f64);
    const double value = largest(run_on(mechanism, all) - run_on(mechanism, all, run_by_ops));
    const double gradient = farthest(gradients_or_zeros(mechanism, all, seed),
                                     gradients_or_zeros(mechanism, all, seed, run_by_ops));
    if (std::max(value, gradient) < 1e-11) continue;
    report.note(fmt::format("{} words: tiles and plain ops are {:.1e} apart, gradients {:.1e}", words, value,
                            gradient));
    ok = false;
  }
  return ok;
}

}  // namespace

bool check(const Mechanism& mechanism, Report& report, std::uint64_t seed) try {
  const Slopes slopes(mechanism, seed, report);
  bool ok = slopes.ok();
  std::string line = fmt::format("{}: gradcheck ({})", mechanism.name, slopes.counts());
  if (mechanism.can_tile()) {
    ok = tiles_are_plain_ops(mechanism, seed, report) && ok;
    line += "; plain ops the same to 1e-11";
  }
  report.check(line, ok);
  ok = matches_cached_decoding(mechanism, report, seed) && ok;
  return (!mechanism.mask || mechanism.ops || ignores_masked_keys(mechanism, report, seed)) && ok;
} catch (const Error& error) {  // an error of the library is a mistake in the mechanism
  report.note(error.what());
  return report.check(fmt::format("{}: it can be computed", mechanism.name), false);
}

}  // namespace tapestry::kit
